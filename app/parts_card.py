"""What trained parts say of themselves, as words and tables to show.

The card is a file's content: whatever is missing or of another kind than expected is left out, never guessed.
"""

from __future__ import annotations

from app.card_words import (
    Card,
    Section,
    Table,
    count,
    filled,
    inner,
    is_number,
    listed,
    mean,
    percent,
    splits,
    text,
    three,
)
from app.parts_card_extras import head, lens, operating_point
from app.profiles import Measured, frontier_of, recommended
from core.choices import Lens

SHOWN_DIGITS = 16
"""Of a hash; enough to tell two apart."""


def sections(card: Card) -> tuple[Section, ...]:
    """What the card holds, in the order of the training."""
    found = (
        *(_training(card), _drafter(card), head(card), lens(card), _predictors(card), _frontier(card)),
        *(_profile(card), operating_point(card), _adainfer(card)),
    )
    return tuple(section for section in found if not section.is_empty)


def _training(card: Card) -> Section:
    data, prompts, tokens = inner(card, "data"), inner(card, "data", "prompts"), inner(card, "data", "answer_tokens")
    versions = inner(card, "versions")
    facts = (
        ("Prompts", splits(prompts)),
        ("Answer tokens", splits(tokens)),
        ("SHA-256 of data", text(data.get("sha256"))[:SHOWN_DIGITS]),
        ("Budget", f"{card['budget_minutes']:g} minutes" if is_number(card.get("budget_minutes")) else ""),
        ("Seed", count(card.get("seed"))),
        ("Made with", ", ".join(f"{name} {version}" for name, version in versions.items())),
    )
    return Section("Training", filled(facts))


def _drafter(card: Card) -> Section:
    quality = inner(card, "drafter", "quality")
    by_category = inner(quality, "by_category")
    named = [("all", inner(quality, "overall")), *((name, inner(by_category, name)) for name in by_category)]
    rows = tuple(
        (name, count(one.get("tokens")), percent(one.get("top1")), percent(one.get("top4")))
        for name, one in named
        if one
    )
    table = Table(("prompts", "tokens", "top-1", "top-4"), rows) if rows else None
    facts = filled((("Recipe", text(inner(card, "drafter").get("recipe"))),))
    return Section("Drafter", facts, table, "How often the full-depth token is the drafter’s first, or one of its 4.")


def _predictors(card: Card) -> Section:
    about = inner(card, "predictors")
    label = text(about.get("label"))
    facts = filled(
        (
            ("Recipe", text(about.get("recipe"))),
            ("Label", label),
            ("Tokens", splits(inner(about, "tokens"))),
        )
    )
    found = {name: inner(about, "quality", label, name, label) for name in ("t1", "t1t2")}
    rows = [
        *(_layer_row(f"mean, {words}", inner(found[name], "mean")) for name, words in SCHEDULES),
        *(_layer_row(f"layer {at + 1}", one) for at, one in enumerate(listed(found["t1"].get("layers")))),
    ]
    kept = tuple(row for row in rows if any(row[1:]))
    table = Table(("layer", "accuracy", "ROC-AUC", "ECE", "positive"), kept) if kept else None
    note = "On held-out prompts, at threshold 0.5. ECE is how far scores are from true shares, on average."
    return Section("Predictors", facts, table, note)


SCHEDULES = (("t1", "every layer watched"), ("t1t2", "scheduled layers"))


def _layer_row(name: str, one: object) -> tuple[str, ...]:
    values = one if isinstance(one, dict) else {}
    figures = (percent(values.get("accuracy")), three(values.get("auc")), three(values.get("ece")))
    return name, *figures, percent(values.get("positives"))


def _frontier(card: Card) -> Section:
    rows = tuple(
        (
            _point_name(point, card),
            f"{point.agreement:.1%}",
            f"{point.mean_exit_layer:.2f}",
            f"{point.early:.1%}",
            f"{point.verifications:.2f}",
        )
        for point in frontier_of(card)
    )
    heads = ("threshold", "agreement", "mean exit layer", "leave early", "checks a token")
    note = "On prompts kept for tuning, with a predictor on every layer (T1): what each threshold would have done."
    return Section("Thresholds", (), Table(heads, rows) if rows else None, note)


def _point_name(point: Measured, card: Card) -> str:
    chosen = recommended(card)
    words = f"{point.threshold:.2f}" + (", with the lens" if point.lens is Lens.TUNED else "")
    return words + (" ← recommended" if chosen is not None and point.is_at(chosen) else "")


def _profile(card: Card) -> Section:
    about = inner(card, "profile")
    exits = [count for count in listed(about.get("exits")) if is_number(count)]
    best = sorted(range(len(exits)), key=lambda layer: -exits[layer])[:8]
    likeliest = ", ".join(f"{layer + 1} ({exits[layer]:g}×)" for layer in best if exits[layer])
    facts = (
        ("Exit layers met most", likeliest),
        ("Counted over", f"{count(about.get('tokens'))} tokens" if about.get("tokens") else ""),
    )
    return Section("Offline profile", filled(facts))


def _adainfer(card: Card) -> Section:
    about = inner(card, "adainfer")
    rows = tuple(
        (words, percent(one.get("agreement")), percent(one.get("share_pruned")), mean(one.get("accuracy")))
        for name, words in (("svm", "SVM"), ("crf", "CRF"))
        if (one := inner(about, name))
    )
    table = Table(("classifier", "agreement", "layers pruned", "mean accuracy"), rows) if rows else None
    return Section("AdaInfer", (), table, "On held-out prompts, leaving at the first layer judged final.")
