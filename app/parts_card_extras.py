"""The card's newer sections: the low-rank head, the exit lens, and the operating point in real runs."""

from __future__ import annotations

from collections.abc import Mapping

from app.card_words import Card, Section, Table, count, filled, inner, is_number, listed, percent, text, three


def head(card: Card) -> Section:
    """The low-rank head, beside the full one and a trimmed vocabulary at equal cost."""
    about = inner(card, "head")
    if not about:
        return Section("Low-rank head")
    trimmed = inner(about, "trimmed")
    named = ((f"rank {count(about.get('rank'))}", about), (f"{count(trimmed.get('tokens'))} most used tokens", trimmed))
    rows = [
        (name, three(one.get("rho_tau")), percent(one.get("top1")), percent(one.get("top4"))) for name, one in named
    ]
    full = ("full", "1.000", percent(about.get("top1_full")), percent(about.get("top4_full")))
    facts = (
        ("Recipe", text(about.get("recipe"))),
        ("ν, κ", f"{three(about.get('nu'))}, {three(about.get('kappa'))}" if is_number(about.get("nu")) else ""),
        ("Pays", _pays(about)),
        ("Missed by the shortlist", percent(about.get("shortlist_miss"))),
    )
    kept = tuple(row for row in (*rows, full) if row[1])
    note = "ρτ is the acceptance length of chains of drafted tokens over that through the full head, on test prompts."
    return Section("Low-rank head", filled(facts), Table(("head", "ρτ", "top-1", "top-4"), kept), note)


def _pays(about: Card) -> str:
    least = about.get("least_rho")
    if not is_number(least):
        return ""
    return f"{'yes' if about.get('pays') else 'no'}, from ρτ {three(least)} on"


def lens(card: Card) -> Section:
    """What each layer says without and with the lens."""
    about = inner(card, "lens")
    layers = [one if isinstance(one, Mapping) else {} for one in listed(about.get("layers"))]
    rows = tuple(
        (f"layer {at + 1}", *(_change(one, name) for name in ("agreement", "could_exit")))
        for at, one in enumerate(layers)
        if is_number(one.get("agreement"))
    )
    facts = (
        ("Recipe", text(about.get("recipe"))),
        ("Form", text(about.get("form"))),
        ("Costs", f"{percent(about.get('share_of_a_layer'))} of a layer" if about.get("share_of_a_layer") else ""),
    )
    heads = ("layer", "names the final token", "could leave at 99 %")
    note = "On prompts kept for tuning, without → with the lens; leaving by top probability, 99 % of exits right."
    return Section("Exit lens", filled(facts), Table(heads, rows) if rows else None, note)


def _change(one: Card, name: str) -> str:
    return f"{percent(one.get(f'plain_{name}'))} → {percent(one.get(name))}"


def operating_point(card: Card) -> Section:
    """The settings that were tried in real runs, the recommended one marked."""
    about = inner(card, "tune")
    chosen = about.get("chosen")
    measured = [one for one in listed(about.get("measured")) if isinstance(one, Mapping)]
    rows = tuple(
        (
            text(one.get("name")) + (" ← recommended" if one.get("name") == chosen else ""),
            percent(one.get("agreement")),
            _two(one.get("mean_exit_layer")),
            _two(one.get("verifications")),
            f"{_two(one.get('ratio_to_dense'))}×",
        )
        for one in measured
        if is_number(one.get("agreement"))
    )
    heads = ("setting", "agreement", "mean exit layer", "checks a token", "× dense")
    note = f"Real runs over prompts kept for tuning, in turns, in {text(about.get('dtype'))}; × dense is the speed."
    return Section("Operating point", (), Table(heads, rows) if rows else None, note)


def _two(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, int | float) else ""
