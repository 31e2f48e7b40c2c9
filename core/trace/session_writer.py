"""Writes runs into a session file while they happen: one transaction a token, so that a killed process loses no more
than the token in flight."""

from __future__ import annotations

import hashlib
import sqlite3
import uuid
from collections.abc import Mapping
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
from core.trace.records import RecordBook
from core.trace.weights import pack_weights
from core.version import version

_TOKEN = "INSERT OR REPLACE INTO tokens VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)"


class SessionWriter:
    """A new session file that takes events. Every method may raise `UserError`, after which nothing more is written.

    One thread at a time may use it.
    """

    def __init__(self, path: Path) -> None:
        """Make the file.

        Raises:
            UserError: there is something already, or it cannot be made.
        """
        self.path = path
        self._database = database.create(path)
        self._run: _RunWriter | None = None
        with explained(path):
            self._database.execute("INSERT INTO facts VALUES('written by', ?)", (f"specee-viewer {version()}",))
            kinds = packing.current().to_json()
            self._layout = self._database.execute("INSERT INTO layouts(kinds) VALUES(?)", (kinds,)).lastrowid

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

    def put_mark(self, mark: Mark) -> None:
        """Set a mark, or change the note of the one that is there."""
        with explained(self.path):
            self._database.execute("INSERT OR REPLACE INTO marks VALUES(?,?,?,?)", mark.to_row())

    def remove_mark(self, mark: Mark) -> None:
        """Take a mark away."""
        with explained(self.path):
            where = "DELETE FROM marks WHERE run = ? AND token = ? AND layer = ?"
            self._database.execute(where, mark.to_row()[:3])

    def close(self) -> None:
        """Leave one file at rest, which any reader can open; once is enough, more is fine."""
        with explained(self.path):
            database.settle(self._database)
            self._database.close()

    def abandon(self) -> None:
        """Close without bringing the file to rest, after an error; what was written before can still be read."""
        self._database.close()

    def _begin(self, started: RunStarted, weights: Mapping[str, FloatArray] | None) -> None:
        if not 0 <= started.run < MOST_RUNS:
            raise UserError(f"A session file numbers its runs from 0; {started.run} is too large a number.")
        self._database.execute("BEGIN")
        values = {
            "run": started.run,
            "uid": uuid.uuid4().hex,
            "began": datetime.now(UTC).isoformat(timespec="seconds"),
            "layout": self._layout,
            "predictors": self._weights(weights) if weights else None,
            "started": dumps(started),
            "in_flight": 0,
        }
        columns, places = ", ".join(values), ", ".join("?" * len(values))
        self._database.execute(f"INSERT INTO runs({columns}) VALUES({places})", tuple(values.values()))
        self._database.execute("COMMIT")
        self._run = _RunWriter(self._database, started)

    def _weights(self, weights: Mapping[str, FloatArray]) -> int | None:
        """The number of these weights, which are kept once."""
        packed = pack_weights(weights)
        digest = hashlib.sha256(packed).hexdigest()
        known = self._database.execute("SELECT number FROM predictors WHERE digest = ?", (digest,)).fetchone()
        if known:
            return int(known[0])
        cursor = self._database.execute("INSERT INTO predictors(digest, arrays) VALUES(?, ?)", (digest, packed))
        return cursor.lastrowid


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
