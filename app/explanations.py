"""What each panel shows, in words: the texts of `resources/guide/panels.md`, found by the panels' titles. No Qt."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.places import Place
from resources.paths import GUIDE

WINDOW = "The window"
"""What is explained where no panel is meant."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One section of a guide's file."""

    title: str
    text: str
    """Markdown; links to terms end in `#slug`."""

    @property
    def slug(self) -> str:
        """The title as links spell it: `exit-layer`."""
        return slug_of(self.title)


def slug_of(title: str) -> str:
    """A title as the anchor that Markdown pages give it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def read_entries(path: Path) -> tuple[Entry, ...]:
    """The sections of a Markdown file, each below a `##` heading."""
    _, *sections = path.read_text(encoding="utf-8").split("\n## ")
    pairs = (section.split("\n", 1) for section in sections)
    return tuple(Entry(title.strip(), text.strip()) for title, text in pairs)


@cache
def explanations() -> tuple[Entry, ...]:
    """Of the window, and of every panel."""
    return read_entries(GUIDE / "panels.md")


def explanation_of(place: Place | None) -> Entry:
    """What a panel shows, how it is read, and where the papers speak of it; None means the window as a whole.

    Raises:
        KeyError: nobody has explained the panel; `tests/app/test_explanations.py` holds that all are.
    """
    title = place.title if place is not None else WINDOW
    return {entry.title: entry for entry in explanations()}[title]
