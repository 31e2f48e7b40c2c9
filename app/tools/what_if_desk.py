"""Decides a recording anew beside the window's thread: one thing at a time, and of what is wished the newest.

A long run is read bit by bit: what its first tokens come to is told at once, and questions do not wait for the rest.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.chore import Chore
from app.failure import Failure
from core.analysis.frontier import THRESHOLDS, Frontier, FrontierPoint, point_of
from core.analysis.what_if import Decisions
from core.analysis.what_if_changes import Comparison, compare_passes, compare_tokens
from core.analysis.what_if_reading import Recording, RecordingReader
from core.analysis.what_if_trees import TreeDecisions, TreeRedecider, how_exact_trees
from core.analysis.what_if_words import how_exact
from core.config import RunSettings
from core.trace.events import FloatArray
from core.trace.frozen import frozen
from core.trace.reading import ReadableTrace

AT_ONCE = 2048
"""Tokens that are read before anything is decided, and between two questions: less than a second's work."""
Weights = Callable[[], Mapping[str, FloatArray] | None]
"""Gives the arrays of the predictors that judged a run; called outside of the window's thread."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a recording would have decided."""

    compared: Comparison
    decided: Decisions | TreeDecisions
    how_exact: str
    """In sentences (minimal HTML)."""
    point: FrontierPoint | None
    """Where it stands on the frontier; None for trees and for runs of one token."""


class Desk(QObject):
    """Reads one run and answers questions about it. All its signals come in the thread that made it."""

    read = Signal(object)
    """The `Recording` that answers from now on, though perhaps only its first tokens are known."""
    advanced = Signal()
    """More of it was read, all of it in the end, or reading was stopped."""
    answered = Signal(object)
    """An `Answer` to what was asked last."""
    swept = Signal(object)
    """The `Frontier` as far as it is computed."""
    refused = Signal(object)
    """A `Failure`: why the run cannot be read, or the question not be answered."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.recording: Recording | None = None
        self.frontier = Frontier((), 0)
        self._chore: Chore | None = None
        self._wished_read: Callable[[], _First] | None = None
        self._reader: RecordingReader | None = None
        """Reads on; None where nothing is left, or where it was stopped."""
        self._stopped: RecordingReader | None = None
        self._cancel = threading.Event()
        """Ends the reading that is under way, soon."""
        self._asked: RunSettings | None = None
        self._sweep: RunSettings | None = None
        """What the frontier is of; thresholds count for nothing in it."""
        self._left: list[float] = []
        """Thresholds that the frontier still lacks, the least first."""

    @property
    def is_busy(self) -> bool:
        return self._chore is not None

    @property
    def reads_on(self) -> bool:
        """Whether more of the recording is being read."""
        return self._reader is not None

    @property
    def is_stopped(self) -> bool:
        """Whether reading was stopped before all was known."""
        return self._stopped is not None

    @property
    def thresholds_left(self) -> int:
        """How many points the frontier still lacks."""
        return len(self._left)

    def open(self, trace: ReadableTrace, weights: Weights) -> None:
        """Read a run as it is now, in place of the one before."""
        self._cancel.set()
        self._cancel = threading.Event()
        self.recording, self._asked, self._reader, self._stopped = None, None, None, None
        self.forget_frontier()
        self._wished_read = partial(_read, frozen(trace), weights, self._cancel)
        self._next()

    def stop_reading(self) -> None:
        """Let what was read be all; does nothing where all was read."""
        self._cancel.set()
        self._cancel = threading.Event()
        self._reader, self._stopped = None, self._reader or self._stopped
        self._next()
        self.advanced.emit()

    def read_on(self) -> None:
        """Take up reading again where it was stopped."""
        self._reader, self._stopped = self._reader or self._stopped, None
        self._next()
        self.advanced.emit()

    def ask(self, settings: RunSettings) -> None:
        """Decide the run under these settings; a question that still waits is forgotten."""
        self._asked = settings
        self._next()

    def sweep(self, settings: RunSettings) -> None:
        """Compute the frontier of all but the threshold; nothing to do where that is so already."""
        wanted = replace(settings, threshold=0.0, layer_thresholds=())
        if wanted != self._sweep:
            self.forget_frontier()
            self._sweep, self._left = wanted, sorted(THRESHOLDS)
            self._next()

    def forget_frontier(self) -> None:
        """Stop computing it, and compute it anew when it is asked for."""
        self._sweep, self._left, self.frontier = None, [], Frontier((), 0)

    def close(self) -> None:
        """Forget what waits, and wait for what is under way."""
        self._cancel.set()
        self._wished_read, self._asked, self._reader = None, None, None
        self.forget_frontier()
        if self._chore is not None:
            self._chore.over.disconnect()
            self._chore.wait()
            self._chore = None

    def _next(self) -> None:
        """Begin what is to be done first, unless something is under way."""
        if self._chore is not None:
            return
        if self._wished_read is not None:
            work, self._wished_read = self._wished_read, None
            self._begin(work, partial(self._on_read, work))
        elif self.recording is not None and self._asked is not None:
            asked, self._asked = self._asked, None
            self._begin(partial(_answer, self.recording, asked), partial(self._on_answer, self.recording))
        elif self._reader is not None:
            self._begin(partial(self._reader.read, AT_ONCE, self._cancel), partial(self._on_more, self._reader))
        elif self.recording is not None and self._left and self._sweep is not None:
            asked = replace(self._sweep, threshold=self._left[0])
            self._begin(partial(_point, self.recording, asked), partial(self._on_point, self._sweep))

    def _begin(self, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        chore = self._chore = Chore(work, self)

        def over(outcome: Any) -> None:
            self._chore = None
            then(outcome)
            self._next()

        chore.over.connect(over)
        chore.start()

    def _on_read(self, _work: object, outcome: _First | Failure) -> None:
        if self._wished_read is not None:
            return  # another run is wanted by now
        if isinstance(outcome, Failure):
            self._asked = None
            self.refused.emit(outcome)
        else:
            self.recording, reader = outcome
            self._reader = None if reader.is_done else reader
            self.read.emit(self.recording)

    def _on_more(self, of: RecordingReader, outcome: Recording | Failure) -> None:
        if of not in (self._reader, self._stopped):
            return  # another run is wanted by now
        if isinstance(outcome, Failure):
            self._reader = None
            self.refused.emit(outcome)
            return
        self.recording = outcome
        if of.is_done:
            self._reader = self._stopped = None
        self.forget_frontier()
        self.advanced.emit()

    def _on_answer(self, of: Recording, outcome: Answer | Failure) -> None:
        if of is not self.recording:
            return
        if isinstance(outcome, Failure):
            self.refused.emit(outcome)
        else:
            self.answered.emit(outcome)

    def _on_point(self, of: RunSettings, outcome: FrontierPoint | Failure | None) -> None:
        if of is not self._sweep or not self._left:
            return
        self._left = self._left[1:]
        if isinstance(outcome, FrontierPoint) and self.recording is not None:
            self.frontier = Frontier((*self.frontier.points, outcome), self.recording.tokens - 1)
        elif outcome is not None:
            self._left = []
        self.swept.emit(self.frontier)


_First = tuple[Recording, RecordingReader]


def _read(trace: ReadableTrace, weights: Weights, cancel: threading.Event) -> _First:
    """The first tokens, and what reads on; raises `UserError` where the run cannot be decided anew."""
    reader = RecordingReader(trace, weights())
    return reader.read(AT_ONCE, cancel), reader


def _answer(recording: Recording, asked: RunSettings) -> Answer:
    """Raises `UserError` where these settings need what was not recorded."""
    redecider = recording.redecider
    if isinstance(redecider, TreeRedecider):
        passes = redecider.decide(asked)
        return Answer(compare_passes(passes, recording.trace), passes, how_exact_trees(passes), None)
    decided = redecider.decide(asked)
    point = point_of(decided) if len(redecider.columns) > 1 else None
    return Answer(compare_tokens(decided, redecider.columns), decided, how_exact(decided, redecider.columns), point)


def _point(recording: Recording, asked: RunSettings) -> FrontierPoint | None:
    redecider = recording.redecider
    if isinstance(redecider, TreeRedecider) or len(redecider.columns) < 2:
        return None
    return point_of(redecider.decide(asked))
