"""Predict, then reveal: the learner's guesses in one session, what they may not see yet, and the steps they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from app.places import GUESS
from app.run_state import RunState
from app.tools.debugging import SAID_MS
from core.analysis.guesses import Guess, answer, why_no_question
from core.analysis.travel import Stride
from core.trace.reading import ReadableTrace
from core.trace.veiled import VeiledTrace

if TYPE_CHECKING:
    from app.workbench import Workbench

NO_RUN = "Run a prompt (F10 holds it after each token), or open a session (Ctrl+O)."
RUNS_ON = "The run goes on by itself; pause it (F6), and guess the next token’s exit layer."
AT_END = "The recording ends here. Show another run (Run ▸ Runs of this session), or run a prompt (F5)."
FIRST_GUESS = "Guess the exit layer first, in the panel Guess; then the step is made."


@dataclass(frozen=True, slots=True)
class Question:
    """What can be guessed now: a token's exit layer, or why there is nothing to guess."""

    token: int | None = None
    """0-based; None where there is nothing to guess."""
    depth: int = 0
    """L."""
    least: int = 1
    """Layers that have run for it already, and one more."""
    reason: str = ""
    """Why there is nothing to guess."""


class Guessing(QObject):
    """Off at first. While it is on, tokens beyond the learner's place are veiled and steps wait for a guess."""

    changed = Signal()
    """The question, the newest answer or the score."""
    refused = Signal()
    """A step waits for a guess."""

    def __init__(self, work: Workbench) -> None:
        super().__init__(work)
        self._work, self._session = work, work.session
        self.is_on = False
        self.guesses: list[Guess] = []
        self.revealed: tuple[ReadableTrace, Guess] | None = None
        """The newest answer, and the run that gave it."""
        self._pending: tuple[ReadableTrace, int, int] | None = None
        """Run, token and layers of a guess whose answer is still to come."""
        self._trace: ReadableTrace | None = None
        self._seen = 0
        """Tokens of this run that the learner has seen."""
        self._veil: VeiledTrace | None = None

    # What is asked

    @property
    def question(self) -> Question:
        """What the learner is asked now."""
        session, trace = self._session, self._session.trace
        if trace is None or trace.started is None:
            return Question(reason=NO_RUN)
        if session.state is RunState.RUNNING:
            return Question(reason=RUNS_ON)
        journey, place = self._work.travel.journey, self._work.travel.place
        ahead = journey.forward(place, Stride.TOKEN) if journey is not None else None
        if ahead is not None and ahead.token < trace.emitted_count:
            return self._asked(trace, ahead.token)
        if trace.ended is None and session.is_running:
            return self._asked(trace, trace.emitted_count)
        return Question(reason=AT_END)

    def _asked(self, trace: ReadableTrace, token: int) -> Question:
        if token < self._seen:
            return Question(reason=f"Token {token + 1} is known already; step on (F10).")
        if reason := why_no_question(trace, token):
            return Question(reason=f"{reason} Step on (F10).")
        is_here = token >= trace.emitted_count and len(trace.records) > token
        return Question(token, trace.depth, min(trace.records[token].layers_run + 1, trace.depth) if is_here else 1)

    # What the learner does

    @Slot(bool)
    def turn(self, on: bool) -> None:
        """Begin to ask, from the place where the learner is, or stop and show everything."""
        if on != self.is_on:
            self.is_on, self._pending, self.revealed = on, None, None
            self._trace = None
            if self._work.window.status.currentMessage() == FIRST_GUESS:
                self._work.window.status.clearMessage()  # nothing waits for a guess any more
            self._show_again()
            self.changed.emit()

    @Slot(int)
    def guess(self, layers: int) -> None:
        """Take the guess that the next token runs so many layers, and step there."""
        question, trace = self.question, self._session.trace
        if not self.is_on or question.token is None or trace is None:
            return
        self._pending = (trace, question.token, max(question.least, min(layers, question.depth)))
        self._work.controls.step_token()
        self.look()

    @Slot()
    def reset(self) -> None:
        """Forget the guesses and begin anew from here."""
        self.guesses, self.revealed, self._pending, self._trace = [], None, None, None
        self._show_again()
        self.changed.emit()

    # What the window asks

    def may_step(self) -> bool:
        """Whether a step forward may be made; where it has to wait for a guess, the panel asks for one."""
        waits = self.is_on and self._pending is None and self.question.token is not None
        if waits:
            panel = self._work.window.panels[GUESS.key]
            panel.show()
            panel.raise_()
            self._work.window.status.showMessage(FIRST_GUESS, SAID_MS)
            self.refused.emit()
        return not waits

    def veiled(self, trace: ReadableTrace | None) -> ReadableTrace | None:
        """The run on show as the learner may see it."""
        if not self.is_on or trace is None or trace.started is None:
            return trace
        self._follow(trace)
        if trace.ended is None:
            return trace
        if self._veil is None:
            self._veil = VeiledTrace(trace, self._seen)
        return self._veil

    def lift(self) -> None:
        """The selection moved: what lies before it is told from now on."""
        trace, before = self._session.trace, self._seen
        if not self.is_on or trace is None or trace.started is None or trace is not self._trace:
            return
        self._follow(trace)
        if self._veil is not None and self._seen > before:
            self._veil.lift(self._seen)
            self._work.views.show_trace(self._veil, before, self._session.selection)

    def look(self) -> None:
        """The run or the selection changed: a guess may have its answer now."""
        if not self.is_on:
            return
        if self._pending is not None:
            self._judge(*self._pending)
        self.changed.emit()

    def _judge(self, trace: ReadableTrace, token: int, guessed: int) -> None:
        at = self._session.selection
        if trace is not self._session.trace:
            self._pending = None  # another run is on show
        elif token < trace.emitted_count and at.token is not None and (at.token, at.layer is None) >= (token, True):
            self._pending = None
            guess = answer(trace, token, guessed)
            self.guesses.append(guess)
            self.revealed = trace, guess
        elif trace.ended is not None and token >= trace.emitted_count:
            self._pending = None  # the run was stopped before

    def _follow(self, trace: ReadableTrace) -> None:
        """How far the learner has seen this run: up to the selection, and whatever was made before the eyes."""
        if trace is not self._trace:
            self._trace, self._veil, self._seen = trace, None, 1
        token = self._session.selection.token
        live = trace.emitted_count if trace.ended is None else 0
        self._seen = max(self._seen, live, 0 if token is None else min(token + 1, trace.emitted_count))

    def _show_again(self) -> None:
        """What is told with a veil and without is drawn already."""
        trace = self._session.trace
        self._veil = None
        first = trace.emitted_count if trace is not None and trace.ended is not None else 0
        self._work.views.show_trace(self.veiled(trace), first, self._session.selection)
