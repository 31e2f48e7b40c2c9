"""A session of one very long run, made in seconds: the sample's run over and over, down to every token's events."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from core.choices import Policy, Record
from core.trace import codec, packing
from core.trace.events import Audited, Event, RunStarted
from core.trace.fields import KINDS, fields_of
from core.trace.raw_runs import PORTION, RawRun
from core.trace.session_file import SessionFile
from core.trace.session_writer import SessionWriter
from resources.paths import SAMPLE

LEVEL = 1
"""zlib's: time counts here, not room."""
MOVED = frozenset({"token", "position"})
"""Fields that count on from token to token; all others are as in the sample."""
AHEAD = 1
"""The sample's tokens before those that are repeated: the first one comes from the prompt."""


def write_long_session(path: Path, tokens: int) -> None:
    """Write a session of one run of so many tokens to `path`, where nothing may be.

    Raises:
        UserError: it cannot be written.
    """
    with TemporaryDirectory() as folder:
        short = Path(folder) / path.name
        _write_short(short)
        file = SessionFile(short)
        writer = SessionWriter(path, recording=False)
        writer.copy(_LongRun.of_short(file, tokens))
        writer.close()
        file.close()


def _write_short(path: Path) -> None:
    """A scheduled run of the sample, without its audit, which would be most of the long one's bytes."""
    sample = SessionFile(SAMPLE)
    scheduled = [run for run in sample.runs if run.started.settings.policy is Policy.SPECEE_T1T2]
    writer = SessionWriter(path, recording=False)
    for event in sample.trace(max(scheduled, key=lambda run: run.tokens).number).events:
        if isinstance(event, RunStarted):
            event = replace(event, run=0, settings=replace(event.settings, record=Record.LIVE))
        if not isinstance(event, Audited):
            writer.take(replace(event, run=0))
    writer.close()
    sample.close()


@dataclass(frozen=True, slots=True)
class _LongRun(RawRun):
    """The rows of a short run, and from them those of a long one."""

    tokens: int

    @classmethod
    def of_short(cls, file: SessionFile, tokens: int) -> _LongRun:
        short = RawRun.of(file, 0)
        return cls(short.row, short.layout, short.weights, file, 0, tokens)

    def parts(self) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
        rows = self._file.rows("SELECT * FROM tokens ORDER BY token", ())
        layout = packing.Layout.from_json(self.layout["kinds"])
        stretches = [
            packing.unpack(bytes(packed), layout, 0)
            for (packed,) in self._file.rows("SELECT events FROM stretches ORDER BY place", ())
        ]
        moulds = [_Mould(events) for events in stretches]
        repeated = len(rows) - AHEAD
        for first in range(0, self.tokens, PORTION):
            span = range(first, min(first + PORTION, self.tokens))
            at = [token if token < AHEAD else AHEAD + (token - AHEAD) % repeated for token in span]
            yield (
                "stretches",
                [(token, token, moulds[of].packed(token - of)) for token, of in zip(span, at, strict=True)],
            )
            yield "tokens", [_moved(rows[of], token) for token, of in zip(span, at, strict=True)]
        yield "stretches", [(self.tokens, self.tokens, moulds[-1].packed(self.tokens - len(rows)))]


def _moved(row: Sequence[Any], token: int) -> tuple[Any, ...]:
    """A token's columns for another token; it is a pass of its own. The number of the run leads the columns."""
    run, _, *values, _, states = row
    return (run, token, *values, token, states)


class _Mould:
    """A stretch of events in which only the numbers of its token and of its position change."""

    def __init__(self, events: Sequence[Event]) -> None:
        numbers = {kind: number for number, kind in enumerate(KINDS.values())}
        order = bytes(numbers[type(event)] for event in events)
        self._parts: list[bytes | tuple[int, int]] = [codec.number(len(order)) + order]
        """Bytes that stay, and for a column that changes its first value and count."""
        for number in sorted(set(order)):
            alike = [event for event in events if numbers[type(event)] == number]
            for field in fields_of(type(alike[0])):
                values = [field.of(event) for event in alike]
                if field.path in MOVED:
                    self._parts.append((values[0], len(values)))
                else:
                    self._keep(field.pack(values))

    def packed(self, by: int) -> bytes:
        """The stretch `by` tokens further on."""
        made = [part if isinstance(part, bytes) else _column(part[0] + by, part[1]) for part in self._parts]
        return zlib.compress(b"".join(made), LEVEL)

    def _keep(self, column: bytes) -> None:
        framed = codec.number(len(column)) + column
        last = self._parts[-1]
        if isinstance(last, bytes):
            self._parts[-1] = last + framed
        else:
            self._parts.append(framed)


def _column(value: int, count: int) -> bytes:
    column = codec.whole([value] * count)
    return codec.number(len(column)) + column
