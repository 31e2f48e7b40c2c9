"""What an analysis needs of a trace, whether it lies in memory or is read from a session file bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from core.trace.events import IntArray, PrefillAdvanced, RunEnded, RunStarted
from core.trace.overview import Overview
from core.trace.records import TokenRecord
from core.trace.sweep import Sweep, Wanted


class ReadableTrace(Protocol):
    """One run, token by token; `core.trace.trace.Trace` is one."""

    @property
    def started(self) -> RunStarted | None: ...

    @property
    def prefill(self) -> PrefillAdvanced | None: ...

    @property
    def ended(self) -> RunEnded | None: ...

    @property
    def records(self) -> Sequence[TokenRecord]:
        """One a token; reading one may cost a query."""

    @property
    def overview(self) -> Overview:
        """A few numbers of each emitted token as columns: what sweeps a run needs no record."""

    @property
    def depth(self) -> int:
        """L, the number of decoder layers; 0 before the run started."""

    @property
    def emitted_count(self) -> int:
        """How many tokens have been emitted."""

    @property
    def exit_layers(self) -> IntArray:
        """Shape [emitted tokens], layers run, 1…L."""

    @property
    def text_bytes(self) -> bytes:
        """The generated text, without control tokens."""

    def sweep(self, wanted: Wanted) -> Sweep | None:
        """What reads these fields of many tokens at once; None where each one's record has to be asked."""
