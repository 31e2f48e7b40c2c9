"""A card's values in words, and the sections they make up.

The card is a file's content: whatever is missing or of another kind than expected is left out, never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Card = Mapping[str, Any]


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


def inner(values: Card, *path: str) -> dict[str, Any]:
    """The dictionary at this path; empty where there is none."""
    found: Any = values
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return dict(found) if isinstance(found, Mapping) else {}


def listed(value: object) -> list[Any]:
    """The value where it is a list; empty otherwise."""
    return value if isinstance(value, list) else []


def is_number(value: object) -> bool:
    """Whether the value is a number; a yes or no is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def filled(facts: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The facts that have words."""
    return tuple((name, words) for name, words in facts if words)


def text(value: object) -> str:
    """The value where it is text; empty otherwise."""
    return value if isinstance(value, str) else ""


def count(value: object) -> str:
    """A whole number with its thousands told apart."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else ""


def splits(values: Card) -> str:
    """Counts with what they count."""
    return ", ".join(f"{count(number)} {name}" for name, number in values.items() if count(number))


def percent(value: object) -> str:
    """A share of 1 in per cent."""
    return f"{value:.1%}" if isinstance(value, int | float) else ""


def three(value: object) -> str:
    """A number with three decimals."""
    return f"{value:.3f}" if isinstance(value, int | float) else ""


def mean(values: object) -> str:
    """The mean of shares, in per cent."""
    numbers = [value for value in listed(values) if is_number(value)]
    return percent(sum(numbers) / len(numbers)) if numbers else ""
