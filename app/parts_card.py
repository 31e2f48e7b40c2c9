"""What trained parts say of themselves, as words and tables to show.

The card is a file's content: whatever is missing or of another kind than expected is left out, never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.profiles import frontier_of

Card = Mapping[str, Any]
SHOWN_DIGITS = 16
"""Of a hash; enough to tell two apart."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of figures under their heads; the first column names the row."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the card."""

    title: str
    facts: tuple[tuple[str, str], ...] = ()
    """Name and words."""
    table: Table | None = None
    note: str = ""
    """How to read the table."""

    @property
    def is_empty(self) -> bool:
        return not self.facts and self.table is None


def sections(card: Card) -> tuple[Section, ...]:
    """What the card holds, in the order of the training."""
    found = (_training(card), _drafter(card), _predictors(card), _frontier(card), _profile(card), _adainfer(card))
    return tuple(section for section in found if not section.is_empty)


def _training(card: Card) -> Section:
    data, prompts, tokens = _inner(card, "data"), _inner(card, "data", "prompts"), _inner(card, "data", "answer_tokens")
    versions = _inner(card, "versions")
    facts = (
        ("Prompts", _splits(prompts)),
        ("Answer tokens", _splits(tokens)),
        ("SHA-256 of data", _text(data.get("sha256"))[:SHOWN_DIGITS]),
        ("Budget", f"{card['budget_minutes']:g} minutes" if _is_number(card.get("budget_minutes")) else ""),
        ("Seed", _count(card.get("seed"))),
        ("Made with", ", ".join(f"{name} {version}" for name, version in versions.items())),
    )
    return Section("Training", _filled(facts))


def _drafter(card: Card) -> Section:
    quality = _inner(card, "drafter", "quality")
    by_category = _inner(quality, "by_category")
    named = [("all", _inner(quality, "overall")), *((name, _inner(by_category, name)) for name in by_category)]
    rows = tuple(
        (name, _count(one.get("tokens")), _percent(one.get("top1")), _percent(one.get("top4")))
        for name, one in named
        if one
    )
    table = Table(("prompts", "tokens", "top-1", "top-4"), rows) if rows else None
    facts = _filled((("Recipe", _text(_inner(card, "drafter").get("recipe"))),))
    return Section("Drafter", facts, table, "How often the full-depth token is the drafter’s first, or one of its 4.")


def _predictors(card: Card) -> Section:
    about = _inner(card, "predictors")
    label = _text(about.get("label"))
    facts = _filled(
        (
            ("Recipe", _text(about.get("recipe"))),
            ("Label", label),
            ("Tokens", _splits(_inner(about, "tokens"))),
        )
    )
    found = {name: _inner(about, "quality", label, name, label) for name in ("t1", "t1t2")}
    rows = [
        *(_layer_row(f"mean, {words}", _inner(found[name], "mean")) for name, words in SCHEDULES),
        *(_layer_row(f"layer {at + 1}", one) for at, one in enumerate(_list(found["t1"].get("layers")))),
    ]
    kept = tuple(row for row in rows if any(row[1:]))
    table = Table(("layer", "accuracy", "ROC-AUC", "ECE", "positive"), kept) if kept else None
    note = "On held-out prompts, at threshold 0.5. ECE is how far scores are from true shares, on average."
    return Section("Predictors", facts, table, note)


SCHEDULES = (("t1", "every layer watched"), ("t1t2", "scheduled layers"))


def _layer_row(name: str, one: object) -> tuple[str, ...]:
    values = one if isinstance(one, dict) else {}
    figures = (_percent(values.get("accuracy")), _three(values.get("auc")), _three(values.get("ece")))
    return name, *figures, _percent(values.get("positives"))


def _frontier(card: Card) -> Section:
    recommended = card.get("recommended_threshold")
    rows = tuple(
        (
            f"{point.threshold:.2f}" + (" ← recommended" if point.threshold == recommended else ""),
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


def _profile(card: Card) -> Section:
    about = _inner(card, "profile")
    exits = [count for count in _list(about.get("exits")) if _is_number(count)]
    best = sorted(range(len(exits)), key=lambda layer: -exits[layer])[:8]
    likeliest = ", ".join(f"{layer + 1} ({exits[layer]:g}×)" for layer in best if exits[layer])
    facts = (
        ("Exit layers met most", likeliest),
        ("Counted over", f"{_count(about.get('tokens'))} tokens" if about.get("tokens") else ""),
    )
    return Section("Offline profile", _filled(facts))


def _adainfer(card: Card) -> Section:
    about = _inner(card, "adainfer")
    rows = tuple(
        (words, _percent(one.get("agreement")), _percent(one.get("share_pruned")), _mean(one.get("accuracy")))
        for name, words in (("svm", "SVM"), ("crf", "CRF"))
        if (one := _inner(about, name))
    )
    table = Table(("classifier", "agreement", "layers pruned", "mean accuracy"), rows) if rows else None
    return Section("AdaInfer", (), table, "On held-out prompts, leaving at the first layer judged final.")


def _inner(values: Card, *path: str) -> dict[str, Any]:
    found: Any = values
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return dict(found) if isinstance(found, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _filled(facts: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple((name, words) for name, words in facts if words)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else ""


def _splits(values: Card) -> str:
    return ", ".join(f"{_count(count)} {name}" for name, count in values.items() if _count(count))


def _percent(value: object) -> str:
    return f"{value:.1%}" if isinstance(value, int | float) else ""


def _three(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, int | float) else ""


def _mean(values: object) -> str:
    numbers = [value for value in _list(values) if _is_number(value)]
    return _percent(sum(numbers) / len(numbers)) if numbers else ""
