"""Reads session files: what runs there are at once, their tokens when asked."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from core.errors import UserError
from core.trace import database
from core.trace.checking import check_start
from core.trace.database import MOST_RUNS, explained, sound
from core.trace.events import EndReason, FloatArray, PrefillAdvanced, RunEnded, RunStarted
from core.trace.jsonl import loads
from core.trace.marks import Mark
from core.trace.packing import Layout
from core.trace.stored_trace import StoredTrace
from core.trace.weights import unpack_weights

CUT_OFF = "The program ended during this run; what it had recorded until then is here."

T = TypeVar("T", RunStarted, PrefillAdvanced, RunEnded)


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One run of a session file, as a list of runs shows it."""

    number: int
    uid: str
    """The same in every copy of the run."""
    began: str
    """UTC, as ISO 8601 has it."""
    started: RunStarted
    prefill: PrefillAdvanced | None
    ended: RunEnded
    complete: bool
    """Whether the run's end was recorded; where it was not, `ended` says so."""
    tokens: int
    """How many were emitted."""
    in_flight: bool
    """Whether something was recorded of one more."""
    layout: Layout
    weights: int | None
    """By which `SessionFile.weights` finds the predictors that judged it."""


class SessionFile:
    """A session file that is open for reading; close it when done. Any thread may use it."""

    def __init__(self, path: Path) -> None:
        """Open it and list its runs.

        Raises:
            UserError: it cannot be read; the sentence says why.
        """
        self.path = path
        self.is_closed = False
        self._lock = threading.Lock()
        self._database = database.open_to_read(path)
        self._uids: dict[int, str] = {}
        """By number, by what each run is known for the one that it is."""
        self._traits = _traits(path)
        try:
            self.runs: tuple[RunInfo, ...] = self._read_runs()
            """In the order of their numbers."""
        except BaseException:
            self._database.close()
            raise

    def refresh(self) -> None:
        """See runs and tokens that were written since; raises `UserError`."""
        self.runs = self._read_runs()

    def trace(self, number: int, on_damage: Callable[[UserError], None] | None = None) -> StoredTrace:
        """The run of this number, whose tokens are read when they are asked for.

        Args:
            number: one of those in `runs`.
            on_damage: told, once, that tokens cannot be read, which then show as no more than was emitted; without it,
                reading such a token raises `UserError`. Nobody is told of a file that was closed meanwhile.

        Raises:
            UserError: the run's overview is damaged.
        """
        info = next(run for run in self.runs if run.number == number)
        return StoredTrace(self, info, on_damage)

    def weights(self, number: int) -> dict[str, FloatArray] | None:
        """The arrays of the predictors that judged a run; None where the file has none.

        Raises:
            UserError: they are damaged.
        """
        key = next(run.weights for run in self.runs if run.number == number)
        rows = [] if key is None else self.rows("SELECT arrays FROM predictors WHERE number = ?", (key,))
        with sound(self.path):
            return unpack_weights(rows[0][0]) if rows else None

    def marks(self) -> list[Mark]:
        """All bookmarks and notes; raises `UserError` where they are damaged."""
        rows = self.rows("SELECT run, token, layer, note FROM marks ORDER BY run, token, layer")
        with sound(self.path):
            return [Mark.of_row(row) for row in rows]

    def fact(self, name: str) -> str | None:
        """What the writer noted under a name; None where it did not."""
        rows = self.rows("SELECT value FROM facts WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else None

    def rows(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """All rows that a query gives; raises `UserError`."""
        with explained(self.path), self._lock:
            if self.is_closed:
                raise UserError(f"{self.path} was closed meanwhile; open it again.")
            self._check_same()
            before = self._database
            try:
                return before.execute(query, values).fetchall()
            except sqlite3.DatabaseError:
                self._check_same()  # it may have been written over right now
                if self._database is before:
                    raise
            return self._database.execute(query, values).fetchall()

    def close(self) -> None:
        """Let go of the file. Its traces cannot read on."""
        with self._lock:
            self.is_closed = True
            self._database.close()

    def _check_same(self) -> None:
        """Refuse a file that somebody has written over in place: it would give another run's events for those of ours.

        One that was renamed over, or deleted, is still read as it was. SQLite itself looks at a counter of changes,
        which two files may share; what it has in memory is then of the old one.
        """
        now = _traits(self.path)
        if now == self._traits or now[:1] != self._traits[:1]:
            return
        try:
            fresh = self._opened_anew()
        except UserError as error:
            raise UserError(f"{self.path} was replaced by another program while it was open; open it again.") from error
        self._database.close()
        self._database, self._traits = fresh, _traits(self.path)  # opening may have brought a recording to rest

    def _opened_anew(self) -> sqlite3.Connection:
        """The file as it is now; raises `UserError` unless it has every run that was there."""
        fresh = database.open_to_read(self.path)
        try:
            with explained(self.path), sound(self.path):
                found = {run: str(uid) for run, uid in fresh.execute("SELECT run, uid FROM runs").fetchall()}
            if not self._uids.items() <= found.items():
                raise database.damaged(self.path)
        except BaseException:
            fresh.close()
            raise
        return fresh

    def _read_runs(self) -> tuple[RunInfo, ...]:
        layouts = dict(self.rows("SELECT layout, kinds FROM layouts"))
        rows = self.rows(
            "SELECT run, uid, began, layout, predictors, started, prefill, ended, in_flight,"
            " (SELECT max(token) + 1 FROM tokens WHERE tokens.run = runs.run) FROM runs ORDER BY run"
        )
        with sound(self.path):
            known = {number: Layout.from_json(kinds) for number, kinds in layouts.items()}
            runs = tuple(_run_info(row, known) for row in rows)
        self._uids = {run.number: run.uid for run in runs}
        return runs


def _traits(path: Path) -> tuple[int, ...]:
    """By what a file is told from another one, which comes first, and from itself once it is changed; () if gone."""
    with suppress(OSError):
        found = path.stat()
        return found.st_ino, found.st_mtime_ns, found.st_size
    return ()


def _run_info(row: tuple[Any, ...], layouts: dict[int, Layout]) -> RunInfo:
    """Raises whatever `sound` takes for damage."""
    number, uid, began, layout, weights, started, prefill, ended, in_flight, tokens = row
    start = _event(started, RunStarted, number)
    if not 0 <= number < MOST_RUNS:
        raise ValueError(f"a run has the number {number}")
    check_start(start)
    return RunInfo(
        number=number,
        uid=str(uid),
        began=str(began),
        started=start,
        prefill=None if prefill is None else _event(prefill, PrefillAdvanced, number),
        ended=_event(ended, RunEnded, number) if ended else RunEnded(number, EndReason.CUT_OFF, CUT_OFF),
        complete=ended is not None,
        tokens=int(tokens or 0),
        in_flight=bool(in_flight),
        layout=layouts[layout],
        weights=weights,
    )


def _event(text: str, kind: type[T], number: int) -> T:
    """An event of the run, which may have had another number where it was recorded."""
    event = loads(text)
    if not isinstance(event, kind):
        raise TypeError(f"no {kind.__name__} stands where one belongs")
    return replace(event, run=number)
