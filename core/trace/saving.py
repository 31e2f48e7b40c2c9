"""Saves a session: one new file with all its runs, which takes the old one's place only once it is whole."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import UserError
from core.progress import Progress, Report, check, quiet
from core.trace import database
from core.trace.database import explained
from core.trace.events import FloatArray, TokenEmitted
from core.trace.marks import Mark
from core.trace.raw_runs import PORTION, RawRun
from core.trace.session_file import SessionFile
from core.trace.session_writer import SessionWriter
from core.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run that lies in a session file."""

    file: SessionFile
    number: int


@dataclass(frozen=True, slots=True)
class MemoryRun:
    """A run that lies in no file."""

    trace: Trace
    weights: Mapping[str, FloatArray] | None = None


def save_session(
    path: Path,
    runs: Sequence[StoredRun | MemoryRun],
    marks: Iterable[Mark] = (),
    report: Report = quiet,
    cancel: threading.Event | None = None,
) -> None:
    """Write the runs, whose numbers differ, and the marks to `path`, over whatever file is there.

    Raises:
        Cancelled: `cancel` was set; what was there is as it was.
        UserError: it cannot be written, or somebody records into it; what was there is as it was.
    """
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    database.remove(partial)
    writer = SessionWriter(partial, recording=False)
    try:
        _write(writer, runs, marks, _Watch(sum(map(_tokens, runs)), report, cancel))
        with explained(path):
            _replace(partial, target)
    except BaseException:
        writer.abandon()
        raise
    finally:
        database.remove(partial)


def save_readable(
    path: Path,
    runs: Sequence[StoredRun | MemoryRun],
    marks: Iterable[Mark],
    report: Report,
    cancel: threading.Event | None,
) -> list[int]:
    """As `save_session`; where only some of the runs can be read, saves nothing and gives the numbers of the others."""
    lost = [run.number for run in runs if isinstance(run, StoredRun) and not _is_readable(run)]
    if lost and len(lost) < len(runs):
        return lost
    save_session(path, runs, marks, report, cancel)  # which says why nothing can be read
    return []


def _is_readable(run: StoredRun) -> bool:
    """Whether its file still gives it: it may have been written over, or its disk taken away."""
    try:
        RawRun.of(run.file, run.number)
    except UserError:
        return False
    return True


class _Watch:
    """Counts the tokens that were written, tells of them, and breaks off once that is wanted."""

    def __init__(self, total: int, report: Report, cancel: threading.Event | None) -> None:
        self._total, self._report, self._cancel = total, report, cancel
        self._done = 0

    def __call__(self, tokens: int) -> None:
        check(self._cancel)
        before, self._done = self._done, self._done + tokens
        if self._done // PORTION > before // PORTION:
            self._report(Progress("Saving the session", self._done, max(self._total, self._done), "tokens"))


def _tokens(run: StoredRun | MemoryRun) -> int:
    if isinstance(run, MemoryRun):
        return run.trace.emitted_count
    return next((info.tokens for info in run.file.runs if info.number == run.number), 0)


def _write(writer: SessionWriter, runs: Sequence[StoredRun | MemoryRun], marks: Iterable[Mark], watch: _Watch) -> None:
    for run in runs:
        if isinstance(run, StoredRun):
            writer.copy(RawRun.of(run.file, run.number), watch)
            continue
        for event in tuple(run.trace.events):  # the run may go on meanwhile
            writer.take(event, run.weights)
            watch(int(isinstance(event, TokenEmitted)))
    for mark in marks:
        writer.put_mark(mark)
    writer.close()


def _replace(partial: Path, target: Path) -> None:
    if target.is_dir():
        raise UserError(f"{target} is a folder; give the session a file name.")
    _refuse_recording(target)
    if target.exists():
        shutil.copymode(target, partial)
    _flush(partial, os.O_RDWR)
    partial.replace(target)
    if os.name == "posix":
        _flush(target.parent, os.O_RDONLY)


def _refuse_recording(target: Path) -> None:
    """A recording's second file would be taken for the new file's: bring it to rest, or refuse where it goes on."""
    if database.beside(target)[0].exists():
        database.bring_to_rest(target)
    if database.beside(target)[0].exists():
        raise UserError(f"{target} is being recorded by another program; choose another name.")


def _flush(path: Path, access: int) -> None:
    descriptor = os.open(path, access)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
