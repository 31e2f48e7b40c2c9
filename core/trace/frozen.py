"""A run under way as it is at one moment, for a thread that reads on while events go on coming."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.trace.events import IntArray, PrefillAdvanced, RunEnded, RunStarted
from core.trace.overview import NUMBERS, Overview
from core.trace.reading import ReadableTrace
from core.trace.records import TokenRecord
from core.trace.sweep import Wanted


@dataclass(frozen=True, slots=True)
class FrozenTrace:
    """The emitted tokens of a moment; a `core.trace.reading.ReadableTrace` that never changes."""

    started: RunStarted | None
    prefill: PrefillAdvanced | None
    ended: RunEnded | None
    records: Sequence[TokenRecord]
    overview: Overview
    depth: int

    @property
    def emitted_count(self) -> int:
        """How many tokens had been emitted."""
        return len(self.overview)

    @property
    def exit_layers(self) -> IntArray:
        """Shape [emitted tokens], layers run, 1…L."""
        return self.overview.exit_layers

    @property
    def text_bytes(self) -> bytes:
        """The text up to then, without control tokens."""
        return self.overview.text_bytes

    def sweep(self, _: Wanted) -> None:
        """No more than None: the records are at hand."""


def frozen(trace: ReadableTrace) -> ReadableTrace:
    """The run up to its newest emitted token. One that has ended changes no more and is given back as it is."""
    if trace.ended is not None:
        return trace
    seen, copied = trace.overview, Overview(trace.depth)
    copied.fill(list(seen.texts), {name: seen.numbers(name).copy() for name in NUMBERS}, seen.states.copy())
    records = trace.records[: len(seen)]
    return FrozenTrace(trace.started, trace.prefill, None, records, copied, trace.depth)
