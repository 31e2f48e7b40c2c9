"""Progress of training: on a terminal one line that redraws itself, elsewhere a line now and then that stays."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from app.commands import console
from core.progress import Progress, Report

EVERY_SECONDS = 20.0
"""Between two lines about the same piece of work where they stay."""


@contextmanager
def watched(clock: Callable[[], float] = time.monotonic) -> Iterator[Report]:
    """A `Report` that says how far each piece of work is and how long it may still take."""
    remaining = Remaining(clock)
    if sys.stderr.isatty():
        with console.progress() as report:
            yield lambda progress: report(remaining.said(progress))
        return
    lines = _Lines(clock)
    yield lambda progress: lines.report(remaining.said(progress))


class Remaining:
    """Adds to a piece of work's message how long the rest will take, going by what has been done since it began."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._work = ("", 0)
        self._began_at, self._began_with = 0.0, 0

    def said(self, progress: Progress) -> Progress:
        """The same with the rest in words, where it can be told."""
        work = (piece_of(progress), progress.total)
        if work != self._work or progress.done < self._began_with:
            self._work, self._began_at, self._began_with = work, self._clock(), progress.done
        seconds = self._seconds(progress)
        words = "" if seconds is None else f"{progress.message}, {duration(seconds)} left"
        return replace(progress, message=words) if words else progress

    def _seconds(self, progress: Progress) -> float | None:
        rest = progress.total - progress.done
        if progress.unit == "seconds":
            return float(max(0, rest)) if progress.total else None
        done, spent = progress.done - self._began_with, self._clock() - self._began_at
        return spent / done * rest if progress.total and done > 0 and rest >= 0 else None


class _Lines:
    """A line for each new piece of work, and then every so many seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._piece, self._said_at = "", 0.0

    def report(self, progress: Progress) -> None:
        piece, now = piece_of(progress), self._clock()
        if piece == self._piece and now - self._said_at < EVERY_SECONDS:
            return
        self._piece, self._said_at = piece, now
        console.note(f"{progress.message}{console.amount(progress)}")


def piece_of(progress: Progress) -> str:
    """What is being done, without the figures that change as it goes: the message as far as its first colon."""
    return progress.message.split(":")[0]


def duration(seconds: float) -> str:
    """About how long: `8 s`, `12 min`, `1 h 5 min`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
