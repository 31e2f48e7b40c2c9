"""Makes a session of events that lie in JSON Lines, and JSON Lines of a session: the door to other engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from core.errors import UserError
from core.trace.events import Event
from core.trace.jsonl import read_events, write_events
from core.trace.session_file import SessionFile
from core.trace.session_writer import SessionWriter

LONGEST_LINE = 2**23
"""Characters; a pass over the largest tree takes a hundredth of it."""


def import_events(source: Path, target: Path) -> None:
    """Write the runs of `source`, which may be any engine's, into the new session file `target`.

    Raises:
        UserError: a line is damaged or does not fit those before it, or a file cannot be read or written.
    """
    writer = SessionWriter(target, recording=False)
    try:
        for event in read_file(source):
            writer.take(event)
        writer.close()
    except BaseException:
        writer.abandon()
        raise


def read_file(source: Path) -> Iterator[Event]:
    """The events of a file of JSON Lines.

    Raises:
        UserError: as `read_events` does, with the file's name; or the file cannot be read.
    """
    try:
        with source.open(encoding="utf-8") as file:
            yield from read_events(_lines(file))
    except UnicodeDecodeError as error:
        raise UserError(f"{source} is no text in UTF-8; give a file of events as JSON Lines.") from error
    except UserError as error:
        raise UserError(f"{source}: {error}") from error
    except OSError as error:
        raise UserError(f"{source} cannot be read ({error.strerror or error}); check its name.") from error


def export_events(file: SessionFile, numbers: Sequence[int], lines: TextIO) -> int:
    """Write the runs of these numbers as JSON Lines; returns how many events that were.

    Raises:
        UserError: an event is damaged.
    """
    happened = (event for number in numbers for event in file.trace(number).events)
    return sum(1 for _ in write_events(lines, happened))


def _lines(file: TextIO) -> Iterator[str]:
    """The lines, none of them longer than a line may be: a file without any end would fill the memory."""
    number = 1
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE and not line.endswith("\n"):
            raise UserError(f"Line {number} is longer than any event; record the run again.")
        yield line
        number += 1
