"""One run's events, gathered into a record a token, in memory.

Everything a view shows is computed from this (see `core.analysis`), whether the run is still going on or long over.
"""

from __future__ import annotations

from collections.abc import Iterable

from core.trace.events import Event, IntArray, PrefillAdvanced, RunEnded, RunStarted, TokenEmitted, TokenEvent
from core.trace.overview import Overview, TokenRow
from core.trace.records import RecordBook
from core.trace.records import TokenRecord as TokenRecord
from core.trace.records import TreePass as TreePass
from core.trace.sweep import Wanted


class Trace:
    """The events of one run in the order they came, and a `TokenRecord` for each token.

    Appending is O(1); records are updated in place, so a view keeps what it drew of finished tokens and asks again
    only for those from its last seen token on.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.started: RunStarted | None = None
        self.prefill: PrefillAdvanced | None = None
        self.ended: RunEnded | None = None
        self._book = RecordBook(0)
        self._overview = Overview(0)

    @classmethod
    def of(cls, events: Iterable[Event]) -> Trace:
        """The trace that these events make."""
        trace = cls()
        for event in events:
            trace.append(event)
        return trace

    @property
    def records(self) -> list[TokenRecord]:
        """One a token; the last one may be in flight (its `emitted` is None)."""
        return self._book.records

    @property
    def overview(self) -> Overview:
        """A few numbers of each emitted token, as columns."""
        return self._overview

    @property
    def depth(self) -> int:
        """L, the number of decoder layers; 0 before the run started."""
        return self.started.model.depth if self.started else 0

    @property
    def emitted_count(self) -> int:
        """How many tokens have been emitted."""
        return len(self._overview)

    @property
    def emitted(self) -> list[TokenRecord]:
        """The records of the emitted tokens."""
        return self.records[: self.emitted_count]

    @property
    def exit_layers(self) -> IntArray:
        """Shape [emitted tokens], layers run, 1…L."""
        return self._overview.exit_layers

    @property
    def text_bytes(self) -> bytes:
        """The generated text so far, as bytes, without control tokens."""
        return self._overview.text_bytes

    def sweep(self, _: Wanted) -> None:
        """No more than None: the records are at hand."""

    def append(self, event: Event) -> None:
        """Take in the next event of the run."""
        self.events.append(event)
        match event:
            case RunStarted():
                self.started = event
                self._book, self._overview = RecordBook(event.model.depth), Overview(event.model.depth)
            case PrefillAdvanced():
                self.prefill = event
            case RunEnded():
                self.ended = event
            case _:
                self._book.take(event)
                self._sum_up(event)

    def _sum_up(self, event: TokenEvent) -> None:
        """Bring the overview up to date; an event may come after its token was emitted."""
        count = self.emitted_count + isinstance(event, TokenEmitted)
        if event.token < count:
            self._overview.put(event.token, [TokenRow.of(record) for record in self.records[event.token : count]])
