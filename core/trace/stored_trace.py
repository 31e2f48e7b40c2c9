"""A run as it is read from a session file: its columns at once, its tokens' events only when somebody looks at them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import UserError
from core.trace.checking import RunCheck
from core.trace.database import RUN_PLACES, sound
from core.trace.events import Event, IntArray, PrefillAdvanced, RunEnded, RunStarted, StageTimes, TokenEmitted
from core.trace.lazy import Lazy
from core.trace.overview import NUMBERS, REASONS, Overview
from core.trace.packing import unpack
from core.trace.ranges import Unfit
from core.trace.records import RecordBook, TokenRecord, size_of
from core.trace.sweep import Sweep, Wanted

if TYPE_CHECKING:
    from core.trace.session_file import RunInfo, SessionFile

KEPT, KEPT_BYTES = 1024, 2**28
"""Tokens whose records stay in memory once they were read, about 20 KB each, and how much they may take whatever a file
holds."""

TOGETHER, LONGEST = 64, 2**20
"""Stretches that a sweep reads at once, and bytes that each may have: a long one of a sound file has a tenth."""


class StoredTrace:
    """One run of a session file; a `core.trace.reading.ReadableTrace` that never changes."""

    def __init__(self, file: SessionFile, info: RunInfo, on_damage: Callable[[UserError], None] | None = None) -> None:
        """As `SessionFile.trace` says."""
        self.info = info
        self.started: RunStarted | None = info.started
        self.prefill: PrefillAdvanced | None = info.prefill
        self.ended: RunEnded | None = info.ended
        self.overview = read_overview(file, info)
        self._file = file
        self._records = StoredRecords(file, info, self.overview, on_damage)

    @property
    def records(self) -> Sequence[TokenRecord]:
        """One a token; the last one may have been in flight when the run ended."""
        return self._records

    @property
    def depth(self) -> int:
        """L, the number of decoder layers."""
        return self.info.started.model.depth

    @property
    def emitted_count(self) -> int:
        """How many tokens were emitted."""
        return len(self.overview)

    @property
    def emitted(self) -> Sequence[TokenRecord]:
        """The records of the emitted tokens."""
        return self.records[: self.emitted_count]

    @property
    def exit_layers(self) -> IntArray:
        """Shape [emitted tokens], layers run, 1…L."""
        return self.overview.exit_layers

    @property
    def text_bytes(self) -> bytes:
        """The generated text, without control tokens."""
        return self.overview.text_bytes

    def sweep(self, wanted: Wanted) -> Sweep | None:
        """As `core.trace.reading.ReadableTrace` says."""
        started = self.info.started
        made = Sweep(self._stretches, self.info.layout, started.model, self.overview.passes, wanted)
        return made if made.is_possible else None

    def _stretches(self, first: int, last: int) -> Iterator[tuple[int, bytes]]:
        """Those that are no longer than usual, some at a time: nobody can tell how long they are in a file."""
        start = self.info.number * RUN_PLACES
        query = (
            "SELECT place, events FROM stretches"
            " WHERE place BETWEEN ? AND ? AND reach < ? AND length(events) <= ? ORDER BY place"
        )
        for token in range(first, last + 1, TOGETHER):
            ending = min(token + TOGETHER - 1, last)
            for place, packed in self._file.rows(query, (start + token, start + ending, last, LONGEST)):
                yield int(place) - start, packed

    def move_to(self, file: SessionFile) -> None:
        """Read on from another file that holds the very same run."""
        self._file = file
        self._records.move_to(file)

    @property
    def events(self) -> Iterator[Event]:
        """The run's events once more, in the order they came.

        Raises:
            UserError: some cannot be read.
        """
        yield self.info.started
        check = RunCheck(self.info.started)
        for token in range(self.emitted_count + 1):
            for event in read_stretch(self._file, self.info, token):
                if not isinstance(event, RunEnded):
                    with sound(self._file.path):
                        check.check(event)
                    yield event
        yield self.info.ended


def read_overview(file: SessionFile, info: RunInfo) -> Overview:
    """The columns of a run.

    Raises:
        UserError: they are damaged.
    """
    names = ", ".join(["token", "text", *NUMBERS, "states"])
    rows = file.rows(f"SELECT {names} FROM tokens WHERE run = ? ORDER BY token", (info.number,))
    overview = Overview(info.started.model.depth)
    with sound(file.path):
        tokens, texts, *numbers, states = list(zip(*rows, strict=True)) or [()] * (3 + len(NUMBERS))
        if tokens != tuple(range(len(rows))) or not all(type(text) is bytes for text in texts):
            raise Unfit("its tokens are not in order")
        columns = {name: _column(name, values) for name, values in zip(NUMBERS, numbers, strict=True)}
        overview.fill(list(texts), columns, _states(states, overview.depth))
        _check_columns(overview, info)
    return overview


def _column(name: str, values: Sequence[Any]) -> Any:
    if name == "reason":
        if not set(values) <= _REASON_NUMBERS.keys():
            raise Unfit("a token left for no known reason")
        return np.array([_REASON_NUMBERS[value] for value in values], np.uint8)
    kind = float if name == "seconds" else int
    if not all(type(value) is kind for value in values):
        raise Unfit(f"a token's {name} is no number")
    return np.array(values, NUMBERS[name])


def _states(values: Sequence[Any], depth: int) -> Any:
    if not all(type(value) is bytes and len(value) == depth for value in values):
        raise Unfit("a token's states are not one a layer")
    return np.frombuffer(b"".join(values), np.uint8).reshape(len(values), depth)


def _check_columns(overview: Overview, info: RunInfo) -> None:
    tokens, passes, layers = np.arange(len(overview)), overview.passes, overview.exit_layers
    steady = (passes <= tokens) & (passes >= 0) & (np.diff(passes, prepend=0) >= 0)
    if not steady.all() or not (passes[passes] == passes).all():
        raise Unfit("its tokens come of passes that cannot be")
    if not ((layers >= 1) & (layers <= overview.depth)).all():
        raise Unfit("a token left at a layer that the model does not have")
    if not np.isfinite(overview.seconds).all() or (overview.refusals < 0).any():
        raise Unfit("a token's time or its refusals cannot be")
    if ((overview.token_ids < 0) | (overview.token_ids >= info.started.model.vocabulary)).any():
        raise Unfit("a token is none of the model's vocabulary")


def read_stretch(file: SessionFile, info: RunInfo, token: int) -> list[Event]:
    """The events from the token before to this one, as they were packed together; [] where there are none.

    Raises:
        UserError: they are damaged.
    """
    place = info.number * RUN_PLACES + token
    rows = file.rows("SELECT events FROM stretches WHERE place = ?", (place,))
    with sound(file.path):
        return [event for (packed,) in rows for event in unpack(packed, info.layout, info.number)]


class StoredRecords(Lazy[TokenRecord]):
    """The records of a stored run; those that were looked at last are kept. Any thread may use it."""

    def __init__(
        self, file: SessionFile, info: RunInfo, overview: Overview, on_damage: Callable[[UserError], None] | None
    ) -> None:
        self._file, self._info, self._overview, self._on_damage = file, info, overview, on_damage
        self._has_told = False
        self._count = len(overview) + info.in_flight
        self._passes: OrderedDict[int, tuple[list[TokenRecord], int]] = OrderedDict()
        """By its first token, the records of a pass and the bytes that they take; the least recently used first."""
        self._kept = self._bytes = 0
        self._lock = threading.RLock()

    def move_to(self, file: SessionFile) -> None:
        """Read on from another file that holds the very same run."""
        with self._lock:
            self._file = file

    def __len__(self) -> int:
        return self._count

    def item(self, token: int) -> TokenRecord:
        with self._lock:
            first = int(self._overview.passes[token]) if token < len(self._overview) else token
            return self._pass(first)[token - first]

    def _pass(self, first: int) -> list[TokenRecord]:
        if first in self._passes:
            self._passes.move_to_end(first)
            return self._passes[first][0]
        records, size = self._passes[first] = self._read(first)
        self._kept, self._bytes = self._kept + len(records), self._bytes + size
        while (self._kept > KEPT or self._bytes > KEPT_BYTES) and len(self._passes) > 1:
            _, (dropped, size) = self._passes.popitem(last=False)
            self._kept, self._bytes = self._kept - len(dropped), self._bytes - size
        return records

    def _read(self, first: int) -> tuple[list[TokenRecord], int]:
        """The records of a pass, and about how many bytes they take."""
        passes = self._overview.passes
        end = int(np.searchsorted(passes, first, "right")) if first < len(passes) else self._count
        try:
            return self._gathered(first, end)
        except UserError as error:
            if self._on_damage is None:
                raise
            if not self._has_told and not self._file.is_closed:  # a sweep may still go on over a run that was left
                self._has_told = True
                self._on_damage(error)
            return [self._bare(token) for token in range(first, end)], 0

    def _gathered(self, first: int, end: int) -> tuple[list[TokenRecord], int]:
        """The records of the tokens first…end - 1. What is told of them later stands in the stretch after theirs."""
        size, info, book = 0, self._info, RecordBook(self._info.started.model.depth, first)
        place = info.number * RUN_PLACES
        query = "SELECT events FROM stretches WHERE place BETWEEN ? AND ? AND reach < ? ORDER BY place"
        rows = self._file.rows(query, (place + first, place + end, end))
        with sound(self._file.path):
            check = RunCheck(info.started, first)
            for event in (event for (packed,) in rows for event in unpack(packed, info.layout, info.number)):
                if not isinstance(event, RunStarted | PrefillAdvanced | RunEnded) and first <= event.token < end:
                    check.check(event)
                    book.take(event)
                    size += size_of(event)
            wanted = [token < len(self._overview) for token in range(first, end)]
            if [record.emitted is not None for record in book.records] != wanted:
                raise Unfit("some of its events are missing")
        return book.records, size

    def _bare(self, token: int) -> TokenRecord:
        """What the columns alone tell of a token."""
        record, seen = TokenRecord(token, self._overview.depth), self._overview
        if token < len(seen):
            record.layers_run = int(seen.exit_layers[token])
            record.emitted = TokenEmitted(
                run=self._info.number,
                token=token,
                token_id=int(seen.token_ids[token]),
                token_bytes=seen.texts[token],
                special=bool(seen.special[token]),
                exit_layer=record.layers_run,
                reason=REASONS[seen.reasons[token]],
                times=StageTimes(total=float(seen.seconds[token])),
            )
        return record


_REASON_NUMBERS = {reason.value: number for number, reason in enumerate(REASONS)}
