"""What is kept of a run's events, in memory and in a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from core.choices import Record
from core.errors import UserError
from core.trace.events import Event, FloatArray, RunEnded, RunStarted, ScheduleChosen, TokenEmitted
from core.trace.jsonl import write_events

if TYPE_CHECKING:
    from app.commands.forking import Origin
    from core.trace.session_writer import SessionWriter


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


SESSION = ".specee"
"""How the name of a session file ends."""
NEEDED = (RunStarted, ScheduleChosen, TokenEmitted, RunEnded)


def check_target(path: Path) -> None:
    """Refuse early what cannot become a new file.

    Raises:
        UserError: there is such a file already, or nothing can be written where it would lie.
    """
    folder = path.parent
    if path.is_dir():
        raise UserError(f"{path} is a folder; add a file's name.")
    if path.exists() or path.is_symlink():
        raise UserError(f"{path} is there already; choose another name, or remove it first.")
    if not folder.is_dir():
        raise UserError(f"There is no folder {folder}; make it, or write elsewhere.")
    if not os.access(folder, os.W_OK):
        raise UserError(f"Nothing can be written in {folder}; write elsewhere.")


@contextmanager
def saved(
    path: Path,
    events: Iterable[Event],
    weights: Mapping[str, FloatArray] | None = None,
    origin: Origin | None = None,
) -> Iterator[Iterator[Event]]:
    """Write events to `path` as they are taken: a session where its name ends in .specee, else JSON Lines.

    A session is there from the first event on, and a killed process leaves it with every token that was emitted. JSON
    Lines appear at the end, whole, or not at all.

    Args:
        path: a new file.
        events: those of one run.
        weights: the arrays of the predictors that judge it, which a session keeps.
        origin: the run that it branched off, which a session keeps too, with its own origins and all bookmarks.

    Raises:
        UserError: it cannot be written.
    """
    if path.suffix == SESSION:
        with _recorded(path, events, weights, origin) as recorded:
            yield recorded
        return
    with made_whole(path) as partial:
        with explained(path):
            lines = open_new(partial)
        try:
            yield _writing(path, lines, events)
            with explained(path):
                lines.close()
        finally:
            with suppress(OSError):
                lines.close()


@contextmanager
def made_whole(path: Path) -> Iterator[Path]:
    """A file beside `path` to write to, which becomes `path` at the end, or vanishes if anything goes wrong.

    Raises:
        UserError: there is a file by now, or nothing can be written there.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        check_target(path)
        with explained(path):
            partial.rename(path)
    finally:
        with suppress(OSError):
            partial.unlink()


def open_new(path: Path) -> TextIO:
    """A file that was not there before, to write text to."""
    return path.open("x", encoding="utf-8", newline="\n")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Say in a sentence why the system refuses to write a file."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror or error}); write elsewhere.") from error


def _writing(path: Path, lines: TextIO, events: Iterable[Event]) -> Iterator[Event]:
    with explained(path):
        yield from write_events(lines, events)


@contextmanager
def _recorded(
    path: Path, events: Iterable[Event], weights: Mapping[str, FloatArray] | None, origin: Origin | None
) -> Iterator[Iterator[Event]]:
    from core.trace.session_writer import SessionWriter

    writer: SessionWriter | None = None

    def record() -> Iterator[Event]:
        nonlocal writer
        for event in events:
            if writer is None:  # a run that is refused has no first event, and leaves no file
                writer = SessionWriter(path)
                if origin is not None:
                    _take_over(writer, origin)
            writer.take(event, weights)
            yield event

    try:
        yield record()
        if writer is not None:
            writer.close()
    finally:
        if writer is not None:
            writer.abandon()


def _take_over(writer: SessionWriter, origin: Origin) -> None:
    for run in origin.kept:
        writer.copy(run)
    for mark in origin.marks:
        writer.put_mark(mark)
