"""Which runs the one on show can be compared with, in the order in which they are likely wanted."""

from __future__ import annotations

from dataclasses import dataclass

from app.library import Library, RunTitle
from app.tools.compare_words import relation, run_words
from core.trace.events import RunStarted


@dataclass(frozen=True, slots=True)
class RunChoice:
    """A run that can be chosen."""

    number: int
    """By which the library knows it."""
    words: str


def choices(library: Library, shown: RunStarted) -> list[RunChoice]:
    """Branches of the run on show and its origin first, then runs of the same prompt, then others; newest first.

    Runs of other files come last, in their files' order.
    """
    own = [title for title in library.titles() if title.started is not None and title.tokens]
    own = sorted((one for one in own if one.number != shown.run), key=lambda one: _rank(shown, one))
    return [*(_own(shown, title) for title in own), *_guests(library, shown)]


def _rank(shown: RunStarted, title: RunTitle) -> tuple[bool, bool, int]:
    assert title.started is not None
    return not _related(shown, title.started), title.prompt != shown.prompt, -title.number


def _related(shown: RunStarted, other: RunStarted) -> str:
    """A guest's branches name runs of its own file."""
    return relation(shown, other) if shown.run >= 0 else ""


def _own(shown: RunStarted, title: RunTitle) -> RunChoice:
    assert title.started is not None
    name, related = f"Run {title.number + 1}", _related(shown, title.started)
    return RunChoice(title.number, run_words(name, title.started, title.tokens, related))


def _guests(library: Library, shown: RunStarted) -> list[RunChoice]:
    found = []
    for number, run in library.guests.runs.items():
        if number != shown.run:
            name = f"{library.guests.path_of(number).name}, run {run.number + 1}"
            found.append(RunChoice(number, run_words(name, run.started, run.tokens)))
    return found


def best_guest(library: Library, numbers: list[int], shown: RunStarted) -> int:
    """Which of a file's runs is likely wanted: the newest of the same prompt, else the newest."""
    runs = library.guests.runs
    return max(numbers, key=lambda number: (runs[number].started.prompt == shown.prompt, -number))
