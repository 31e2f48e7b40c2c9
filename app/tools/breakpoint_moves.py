"""The moves of a debugger: to the next and previous hit, in a recording and live, and what a live run is held for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

from app.failure import Failure
from app.live_watch import Halt
from app.run_state import RunState
from app.session import Session
from app.tools.breakpoint_list import BreakpointList
from app.tools.newest import Newest
from core.analysis.breakpoints import INTERESTING, Hit, find
from core.analysis.conditions import Condition
from core.analysis.hits import telling_condition
from core.errors import UserError
from core.trace.reading import ReadableTrace
from widgets.selection import Selection

NONE_ENABLED = "No breakpoint is enabled; add one in the Breakpoints panel (Ctrl+Alt+1), or here with F9."
NO_TOKEN = "Select a token first; a breakpoint on what happened to it can be made then."


@dataclass(frozen=True, slots=True)
class _Goal:
    """What a search under way was asked for."""

    trace: ReadableTrace
    token: int | None
    """From where; 0-based."""
    forward: bool
    on: bool
    """Whether to go on to the end where nothing is found."""


class BreakpointMoves(QObject):
    """Moves one session's selection by its breakpoints; works whether their panel was ever shown or not."""

    said = Signal(str)
    """One sentence on what came of a move."""
    searching = Signal(bool)
    """A search through the recording begins or is over."""

    def __init__(self, session: Session, breakpoints: BreakpointList, parent: QObject) -> None:
        super().__init__(parent)
        self._session, self.breakpoints = session, breakpoints
        self.newest = Newest(self)
        self._halt: Halt | None = None
        self.newest.done.connect(self._arrive)
        session.halted.connect(self._take_halt)

    # Moves

    @Slot()
    def next_interesting(self) -> None:
        """The next token that meets an enabled breakpoint or, without any, that is worth a look."""
        self._hunt(self.breakpoints.enabled or INTERESTING.conditions, forward=True, on=False)

    @Slot()
    def previous_interesting(self) -> None:
        self._hunt(self.breakpoints.enabled or INTERESTING.conditions, forward=False, on=False)

    @Slot()
    def go_on(self) -> None:
        """To the next hit of a breakpoint; where none is recorded, on with a held run, or to the last token."""
        self._hunt(self.breakpoints.enabled, forward=True, on=True)

    @Slot()
    def go_back(self) -> None:
        """To the previous hit of a breakpoint, or to the first token."""
        self._hunt(self.breakpoints.enabled, forward=False, on=True)

    @Slot()
    def toggle_here(self) -> None:
        """Break on what happened to the selected token, or take that breakpoint away."""
        trace, token = self._session.trace, self._session.selection.token
        if trace is None or token is None or token >= trace.emitted_count:
            self.said.emit(NO_TOKEN)
            return
        try:
            condition = telling_condition(trace, token)
            row = self.breakpoints.row_of(condition)
            if row is None:
                self.breakpoints.add(condition)
            else:
                self.breakpoints.remove(row)
            self.said.emit(f"{'Breakpoint on' if row is None else 'No breakpoint any more on'}: {condition.label}.")
        except UserError as error:
            self.said.emit(str(error))

    @Slot()
    def cancel(self) -> None:
        """Call the search off; the selection stays."""
        if self.newest.is_busy:
            self.newest.cancel()
            self.searching.emit(False)

    def close(self) -> None:
        self.newest.close()

    def detail(self) -> str:
        """What the run on show is held for, in a few words; "" where it is held for nothing, or not at all."""
        halt, trace = self._halt, self._session.trace
        held = self._session.state is RunState.PAUSED and trace is not None and trace.ended is None
        if halt is None or not held or trace is None or len(trace.records) != halt.token + 1:
            return ""
        return f"after token {halt.token + 1}, hit: {_labels(halt.conditions)}" if halt.conditions else ""

    # How they end

    def _hunt(self, conditions: Sequence[Condition], *, forward: bool, on: bool) -> None:
        trace = self._session.trace
        if trace is None or not trace.emitted_count:
            self._leave_recording(forward=forward, on=on, sentence="There is no token to look at yet.")
            return
        token = self._session.selection.token
        start = token if token is not None else (-1 if forward else trace.emitted_count)
        if not conditions:
            self._leave_recording(forward=forward, on=on, sentence=NONE_ENABLED)
            return
        self.searching.emit(True)
        self.newest.ask(
            _Goal(trace, token, forward, on),
            lambda cancel, tell: find(conditions, trace, start, forward=forward, cancel=cancel, tell=tell),
        )

    @Slot(object, object)
    def _arrive(self, goal: _Goal, outcome: Hit | Failure | None) -> None:
        self.searching.emit(False)
        if self._session.trace is not goal.trace:
            return  # another run is on show by now
        if isinstance(outcome, Failure):
            self.said.emit(outcome.sentence)
        elif outcome is None:
            self._leave_recording(forward=goal.forward, on=goal.on, sentence=_nothing(goal.forward, goal.token))
        else:
            self._session.select(Selection(outcome.token))
            self.said.emit(f"Token {outcome.token + 1}: {outcome.label}.")

    def _leave_recording(self, *, forward: bool, on: bool, sentence: str) -> None:
        """Nothing recorded is hit in this direction: go on live or, in a finished run, to its end."""
        trace = self._session.trace
        if on and forward and self._session.is_held and (trace is None or trace.ended is None):
            self._session.play()
            return
        if on and trace is not None and trace.emitted_count and sentence != NONE_ENABLED:
            self._session.select(Selection(trace.emitted_count - 1 if forward else 0))
        self.said.emit(sentence)

    @Slot(object)
    def _take_halt(self, halt: Halt) -> None:
        self._halt = halt
        trace = self._session.trace
        for condition, sentence in halt.problems:
            row = self.breakpoints.row_of(condition)
            if row is not None:
                self.breakpoints.enable(row, False)
            self.said.emit(sentence)
        if trace is None or trace.started is None or trace.started.run != halt.run:
            return
        if halt.conditions:  # which ones stands beside the state, as long as the run is held there
            self._session.select(Selection(halt.token))


def _labels(conditions: Sequence[Condition]) -> str:
    return ", and ".join(one.label for one in conditions)


def _nothing(forward: bool, token: int | None) -> str:
    if token is None:
        return "No token of this run is hit."
    return f"No token {'after' if forward else 'before'} token {token + 1} is hit."
