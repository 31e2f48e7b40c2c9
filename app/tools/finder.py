"""Looks for tokens of the run on show: all that fit, in order, kept up to date while the run goes on."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QObject, Signal, Slot

from app.failure import Failure
from app.session import Session
from app.tools.newest import Newest
from core.analysis.search import Query, search
from core.trace.events import IntArray
from core.trace.reading import ReadableTrace
from widgets.selection import Selection

NOTHING = np.zeros(0, np.int64)


class Finder(QObject):
    """One question about one session's run, whether its panel was ever shown or not."""

    changed = Signal()
    """There is another answer, or a problem instead."""
    said = Signal(str)
    """One sentence on what came of a move."""

    def __init__(self, session: Session, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self.query = Query()
        self.found: IntArray = NOTHING
        """0-based tokens, ascending."""
        self.problem = ""
        """Why there is no answer, as a sentence."""
        self.newest = Newest(self)
        self.newest.done.connect(self._take)
        self._trace: ReadableTrace | None = None
        """Whose tokens were looked at."""
        self._count = 0
        """How many of them."""
        self._stale = False
        """Whether the run changed since the search under way began."""
        self._move: bool | None = None
        """Where to go once the answer is there: forward, back, or nowhere."""

    @property
    def asks(self) -> bool:
        """Whether the question leaves anything out."""
        return self.query != Query()

    def ask(self, query: Query) -> None:
        """Look for these from now on; a question that demands nothing finds nothing."""
        if query != self.query:
            self.query, self.problem = query, ""
            self.newest.cancel()
            self._search()

    def refresh(self) -> None:
        """The run changed, or it is another one."""
        if self.asks and self.newest.is_busy and self._session.trace is self._trace:
            self._stale = True  # a run that goes on would never be searched to its end
        elif self.asks:
            self._search()

    @Slot()
    def next(self) -> None:
        """Select the next token found after the selected one; after the last comes the first."""
        self._go(True)

    @Slot()
    def previous(self) -> None:
        self._go(False)

    def close(self) -> None:
        self.newest.close()

    def _go(self, forward: bool) -> None:
        trace = self._session.trace
        current = trace is self._trace and (trace is None or trace.emitted_count == self._count)
        if self.newest.is_busy or not current:
            self._move = forward
            self.refresh()
        elif self.asks:
            self._step(forward)

    def _step(self, forward: bool) -> None:
        if not len(self.found):
            self.said.emit(self.problem or "No token of this run is like that.")
            return
        at = self._session.selection.token
        at = at if at is not None else (-1 if forward else self._count)
        beyond = self.found[self.found > at] if forward else self.found[self.found < at][::-1]
        if not len(beyond):
            self.said.emit("Past the last token found: on from the first." if forward else "On from the last one.")
            beyond = self.found if forward else self.found[::-1]
        self._session.select(Selection(int(beyond[0])))

    def _search(self) -> None:
        trace, query = self._session.trace, self.query
        self._trace, self._stale = trace, False
        if trace is None or not self.asks:
            self.newest.cancel()  # of the run before
            self._count = 0
            self._set(NOTHING)
            return
        self._count = trace.emitted_count
        self.newest.ask(query, lambda _cancel, _tell: search(trace, query))

    @Slot(object, object)
    def _take(self, _query: Query, outcome: IntArray | Failure) -> None:
        if isinstance(outcome, Failure):
            self.problem = outcome.sentence
            self._set(NOTHING)
            return
        self.problem = ""
        self._set(outcome)
        if self._stale:
            self._search()

    def _set(self, found: IntArray) -> None:
        self.found = found
        self.changed.emit()
        move, self._move = self._move, None
        if move is not None and self.asks:
            self._step(move)
