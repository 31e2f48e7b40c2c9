"""A finished run of which only the first tokens are told, as though the others had not come yet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.trace.events import IntArray, PrefillAdvanced, RunStarted
from core.trace.lazy import Lazy
from core.trace.overview import NUMBERS, Overview
from core.trace.reading import ReadableTrace
from core.trace.records import TokenRecord
from core.trace.sweep import Sweep, Wanted


class VeiledTrace:
    """A `core.trace.reading.ReadableTrace` of the first emitted tokens of another; `lift` tells more of them."""

    ended = None
    """Its end is not told."""

    def __init__(self, trace: ReadableTrace, count: int) -> None:
        """`trace` has ended; its first `count` tokens are told."""
        self.of = trace
        self.overview = Overview(trace.depth)
        self.records: Sequence[TokenRecord] = _First(self)
        self.lift(count)

    def lift(self, count: int) -> None:
        """Tell the first `count` tokens, or as many as there are. Costs a copy of their columns."""
        seen, count = self.of.overview, max(0, min(count, self.of.emitted_count))
        numbers = {name: seen.numbers(name)[:count] for name in NUMBERS}
        self.overview.fill(seen.texts[:count], numbers, seen.states[:count])

    @property
    def started(self) -> RunStarted | None:
        return self.of.started

    @property
    def prefill(self) -> PrefillAdvanced | None:
        return self.of.prefill

    @property
    def depth(self) -> int:
        """L, the number of decoder layers."""
        return self.of.depth

    @property
    def emitted_count(self) -> int:
        """How many tokens are told."""
        return len(self.overview)

    @property
    def exit_layers(self) -> IntArray:
        """Shape [told tokens], layers run, 1…L."""
        return self.overview.exit_layers

    @property
    def text_bytes(self) -> bytes:
        """The text as far as it is told, without control tokens."""
        return self.overview.text_bytes

    def sweep(self, wanted: Wanted) -> Sweep | None:
        """As `core.trace.reading.ReadableTrace` says; None for trees, as a pass may be told in part."""
        alone = np.array_equal(self.of.overview.passes, np.arange(self.of.emitted_count))
        return self.of.sweep(wanted) if alone else None


class _First(Lazy[TokenRecord]):
    """The records of the told tokens, read when they are asked for."""

    def __init__(self, trace: VeiledTrace) -> None:
        self._trace = trace

    def __len__(self) -> int:
        return self._trace.emitted_count

    def item(self, token: int) -> TokenRecord:
        return self._trace.of.records[token]


def whole_of(trace: ReadableTrace | None) -> ReadableTrace | None:
    """The run itself, where this is a veil over it."""
    return trace.of if isinstance(trace, VeiledTrace) else trace


def shared_tokens(one: ReadableTrace | None, other: ReadableTrace | None) -> int:
    """How many first tokens both tell alike: they may be one run, with a veil and without; 0 for two runs."""
    if one is None or other is None or whole_of(one) is not whole_of(other):
        return 0
    return min(one.emitted_count, other.emitted_count)
