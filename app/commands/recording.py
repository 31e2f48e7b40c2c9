"""What is kept of a run's events, in memory and in a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TextIO

from core.config import Record
from core.errors import UserError
from core.trace.events import Event, RunEnded, RunStarted, ScheduleChosen, TokenEmitted
from core.trace.jsonl import write_events


class Keep(StrEnum):
    """How much of a run is kept."""

    OFF = "off"
    """What the text and its figures are made of; everything else is dropped as it comes."""
    LIVE = "live"
    AUDIT = "audit"

    @property
    def record(self) -> Record:
        """What the engine is to tell."""
        return Record.AUDIT if self is Keep.AUDIT else Record.LIVE

    def kept(self, events: Iterable[Event]) -> Iterator[Event]:
        """Those of a run's events that are kept."""
        return (event for event in events if self is not Keep.OFF or isinstance(event, NEEDED))


NEEDED = (RunStarted, ScheduleChosen, TokenEmitted, RunEnded)


def check_target(path: Path) -> None:
    """Refuse early what cannot become a new file.

    Raises:
        UserError: there is such a file already, or nothing can be written where it would lie.
    """
    folder = path.parent
    if path.exists() or path.is_symlink():
        raise UserError(f"{path} is there already; give --out another name, or remove it first.")
    if not folder.is_dir():
        raise UserError(f"There is no folder {folder}; make it, or write --out elsewhere.")
    if not os.access(folder, os.W_OK):
        raise UserError(f"Nothing can be written in {folder}; write --out elsewhere.")


@contextmanager
def saved(path: Path, events: Iterable[Event]) -> Iterator[Iterator[Event]]:
    """Write events to `path` as they are taken; the file appears at the end, whole, or not at all.

    Raises:
        UserError: it cannot be written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with _explained(path):
        lines = open_new(partial)
    try:
        yield _writing(path, lines, events)
        with _explained(path):
            lines.close()
        check_target(path)
        with _explained(path):
            partial.rename(path)
    finally:
        with suppress(OSError):
            lines.close()
        partial.unlink(missing_ok=True)


def open_new(path: Path) -> TextIO:
    """A file that was not there before, to write text to."""
    return path.open("x", encoding="utf-8", newline="\n")


def _writing(path: Path, lines: TextIO, events: Iterable[Event]) -> Iterator[Event]:
    with _explained(path):
        yield from write_events(lines, events)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror or error}); write --out elsewhere.") from error
