"""What an export does in a thread of its own: read runs wherever they lie, and write one file. No Qt."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO, cast

from app.export_files import replaced, replaced_text
from core.errors import UserError
from core.progress import check
from core.report.exit_colours import ExitPalette
from core.report.page import Reported, write_page
from core.report.table import Table
from core.report.views import VIEWS, Subject
from core.trace.events import Event, FloatArray
from core.trace.jsonl import write_events
from core.trace.marks import Mark
from core.trace.reading import ReadableTrace
from core.trace.stored_trace import StoredTrace
from core.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class RunToWrite:
    """One run, and how it is had in any thread."""

    place: int
    """In its session, from 1 on."""
    trace: Callable[[], ReadableTrace]
    weights: Callable[[], Mapping[str, FloatArray] | None]
    marks: list[Mark] = field(default_factory=list)


class Watched:
    """Lines that are written until somebody does not want them any more."""

    def __init__(self, lines: TextIO, cancel: threading.Event) -> None:
        self._lines, self._cancel = lines, cancel

    def write(self, text: str) -> int:
        """As a file's; raises `Cancelled`."""
        check(self._cancel)
        return self._lines.write(text)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; raises `UserError`."""
    with replaced(path) as partial:
        partial.write_bytes(content)


def write_table(path: Path, table: Callable[[], Table], cancel: threading.Event) -> None:
    """Write a table as CSV; raises `UserError`."""
    with replaced_text(path) as lines:
        table().write(cast(TextIO, Watched(lines, cancel)))


def view_table(name: str, run: RunToWrite, token: int | None, layer: int | None) -> Table:
    """The table of a view of `VIEWS`; raises `UserError` where the run has none."""
    return VIEWS[name].table(Subject(run.trace(), run.weights(), token, layer))


def write_report(
    path: Path, name: str, exits: ExitPalette, runs: Sequence[RunToWrite], cancel: threading.Event
) -> None:
    """Write a report of the runs that have a token, in these colours of exit layers; raises `UserError`."""
    told = []
    for run in runs:
        trace = run.trace()
        if trace.emitted_count:
            began = trace.info.began if isinstance(trace, StoredTrace) else ""
            told.append(Reported(run.place, Subject(trace, run.weights()), began, run.marks))
    if not told:
        raise UserError("There is no run with a token to report on yet; run a prompt, or open a session.")
    with replaced_text(path) as lines:
        write_page(cast(TextIO, Watched(lines, cancel)), name, told, exits)


def write_events_of(path: Path, runs: Sequence[RunToWrite], cancel: threading.Event) -> None:
    """Write the events of all runs as JSON Lines; raises `UserError`."""
    happened = (event for run in runs for event in events_of(run.trace()))
    with replaced_text(path) as lines:
        for _ in write_events(cast(TextIO, Watched(lines, cancel)), happened):
            pass


def events_of(trace: ReadableTrace) -> Iterable[Event]:
    """The events of a run that lies in memory or in a file."""
    assert isinstance(trace, Trace | StoredTrace), "a session holds no other kinds"
    return tuple(trace.events) if isinstance(trace, Trace) else trace.events
