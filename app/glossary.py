"""The field's terms, in a sentence or two each: `resources/guide/glossary.md`. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from app.explanations import Entry, read_entries
from resources.paths import GUIDE


@cache
def terms() -> tuple[Entry, ...]:
    """All terms, by the alphabet."""
    return read_entries(GUIDE / "glossary.md")


def found(entries: Sequence[Entry], words: str) -> list[Entry]:
    """The entries that hold all of these words, those that have them in their titles first."""
    parts = words.lower().split()
    titled = [entry for entry in entries if all(part in entry.title.lower() for part in parts)]
    others = [entry for entry in entries if all(part in f"{entry.title} {entry.text}".lower() for part in parts)]
    return [*titled, *(entry for entry in others if entry not in titled)]
