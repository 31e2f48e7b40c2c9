"""Writes runs into a session file while they happen: one transaction a token, so that a killed process loses no more
than the token in flight."""

from __future__ import annotations

import hashlib
import sqlite3
import uuid
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.errors import UserError
from core.trace import database, packing
from core.trace.database import MOST_RUNS, RUN_PLACES, explained
from core.trace.events import Event, FloatArray, PrefillAdvanced, RunEnded, RunStarted, TokenEmitted
from core.trace.jsonl import dumps
from core.trace.marks import Mark
from core.trace.overview import TokenRow
from core.trace.raw_runs import RawRun
from core.trace.records import RecordBook
from core.trace.weights import pack_weights
from core.version import version

_TOKEN = "INSERT OR REPLACE INTO tokens VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)"


def _unheard(_: int) -> None:
    """For copies that nobody watches."""


class SessionWriter:
    """A new session file that takes runs. Every method may raise `UserError`, after which nothing more is written.

    One thread at a time may use it.
    """

    def __init__(self, path: Path, *, recording: bool = True) -> None:
        """Make the file.

        Args:
            path: where to; nothing may be there.
            recording: False for a file that nobody looks at until it is whole.

        Raises:
            UserError: there is something already, or it cannot be made.
        """
        self.path = path
        self._database = database.create(path, recording=recording)
        self._run: _RunWriter | None = None
        self.note_fact("written by", f"specee-viewer {version()}")
        with explained(path):
            self._layout = self._keep("layouts", {"kinds": packing.current().to_json()})

    def take(self, event: Event, weights: Mapping[str, FloatArray] | None = None) -> None:
        """Write the next event of the run; it is on its way to the disk once its token is emitted or the run ends.

        Args:
            event: runs come one after the other, each from its `RunStarted` on; their numbers differ.
            weights: with `RunStarted`, the arrays of the predictors that judge the run, for what-if.
        """
        with explained(self.path):
            if isinstance(event, RunStarted):
                self._begin(event, weights)
            elif self._run is not None:
                self._run.take(event)

    def copy(self, run: RawRun, told: Callable[[int], None] = _unheard) -> None:
        """Take over a run of another session file as it stands there, damage and all.

        Args:
            run: where it lies now.
            told: is given the number of tokens that were copied, some at a time; may raise to break off.
        """
        with explained(self.path):
            self._database.execute("BEGIN")
            weights = self._keep("predictors", run.weights) if run.weights else None
            self._insert("runs", {**run.row, "layout": self._keep("layouts", run.layout), "predictors": weights})
            for table, rows in run.parts():
                self._database.executemany(f"INSERT INTO {table} VALUES({_places(rows[0])})", rows)
                told(len(rows) if table == "tokens" else 0)
            self._database.execute("COMMIT")

    def put_mark(self, mark: Mark) -> None:
        """Set a mark, or change the note of the one that is there."""
        with explained(self.path):
            self._database.execute("INSERT OR REPLACE INTO marks VALUES(?,?,?,?)", mark.to_row())

    def remove_mark(self, mark: Mark) -> None:
        """Take a mark away."""
        with explained(self.path):
            where = "DELETE FROM marks WHERE run = ? AND token = ? AND layer = ?"
            self._database.execute(where, mark.to_row()[:3])

    def note_fact(self, name: str, value: str) -> None:
        """Note something about the file as a whole."""
        with explained(self.path):
            self._database.execute("INSERT OR REPLACE INTO facts VALUES(?, ?)", (name, value))

    def close(self) -> None:
        """Leave one file at rest, which any reader can open."""
        with explained(self.path):
            database.settle(self._database)
            self._database.close()

    def abandon(self) -> None:
        """Close without bringing the file to rest, after an error; what was written before can still be read."""
        with suppress(sqlite3.Error):
            self._database.close()

    def _begin(self, started: RunStarted, weights: Mapping[str, FloatArray] | None) -> None:
        if not 0 <= started.run < MOST_RUNS:
            raise UserError(f"A session file numbers its runs from 0; {started.run} is too large a number.")
        self._database.execute("BEGIN")
        packed = pack_weights(weights) if weights else b""
        kept = {"digest": hashlib.sha256(packed).hexdigest(), "arrays": packed}
        values = {
            "run": started.run,
            "uid": uuid.uuid4().hex,
            "began": datetime.now(UTC).isoformat(timespec="seconds"),
            "layout": self._layout,
            "predictors": self._keep("predictors", kept) if weights else None,
            "started": dumps(started),
            "in_flight": 0,
        }
        self._insert("runs", values)
        self._database.execute("COMMIT")
        self._run = _RunWriter(self._database, started)

    def _keep(self, table: str, values: Mapping[str, Any]) -> int:
        """The number of a row that is kept once, however often it is asked for; its first column tells rows apart."""
        name = next(iter(values))
        known = self._database.execute(f"SELECT rowid FROM {table} WHERE {name} = ?", (values[name],)).fetchone()
        return int(known[0]) if known else self._insert(table, values)

    def _insert(self, table: str, values: Mapping[str, Any]) -> int:
        statement = f"INSERT INTO {table}({', '.join(values)}) VALUES({_places(values)})"
        return int(self._database.execute(statement, tuple(values.values())).lastrowid or 0)


def _places(values: Collection[Any]) -> str:
    return ", ".join("?" * len(values))


class _RunWriter:
    """Gathers one run's events until a token's are complete."""

    def __init__(self, connection: sqlite3.Connection, started: RunStarted) -> None:
        self._database, self._number = connection, started.run
        self._waiting: list[Event] = []
        self._book = RecordBook(started.model.depth)
        """Of the newest pass and of tokens that wait."""
        self._emitted = 0
        self._prefill: PrefillAdvanced | None = None

    def take(self, event: Event) -> None:
        self._waiting.append(event)
        if isinstance(event, TokenEmitted | RunEnded):
            self._database.execute("BEGIN")
            try:
                self._write(event)
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def _write(self, last: TokenEmitted | RunEnded) -> None:
        reach = self._gather()
        stretch = (self._number * RUN_PLACES + self._emitted, reach, packing.pack(self._waiting))
        self._database.execute("INSERT INTO stretches VALUES(?, ?, ?)", stretch)
        if isinstance(last, TokenEmitted):
            self._emitted += 1
        for token in range(reach, self._emitted):
            self._write_row(token)
        if isinstance(last, RunEnded):
            in_flight = self._book.first + len(self._book.records) > self._emitted
            ending = (dumps(last), in_flight, self._number)
            self._database.execute("UPDATE runs SET ended = ?, in_flight = ? WHERE run = ?", ending)
        self._waiting = []
        self._trim()

    def _gather(self) -> int:
        """Bring the records up to date; the first token that any waiting event is about."""
        reach = self._emitted
        for event in self._waiting:
            match event:
                case PrefillAdvanced():
                    self._prefill = event
                case RunStarted() | RunEnded():
                    pass
                case _:
                    self._book.take(event)
                    reach = min(reach, event.token)
        if self._prefill is not None:
            told = (dumps(self._prefill), self._number)
            self._database.execute("UPDATE runs SET prefill = ? WHERE run = ?", told)
            self._prefill = None
        return reach

    def _write_row(self, token: int) -> None:
        row = TokenRow.of(self._book.records[token - self._book.first])
        values: tuple[Any, ...] = (
            self._number,
            token,
            row.text,
            row.token_id,
            row.special,
            row.exit_layer,
            row.reason.value,
            row.refusals,
            row.full_depth_id,
            row.final_rank,
            row.active,
            row.seconds,
            row.first,
            row.states.tobytes(),
        )
        self._database.execute(_TOKEN, values)

    def _trim(self) -> None:
        """Keep the newest pass only: nothing more comes of those before it."""
        if self._emitted > self._book.first:
            newest = self._book.records[self._emitted - 1 - self._book.first]
            self._book.drop_before(newest.tree.drafted.token if newest.tree else newest.token)
