"""What the run's and selection's actions do, and when they can."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Slot

from app.actions import explain
from app.main_window import MainWindow
from app.run_state import RunState
from app.session import Session
from app.travel import Travel
from core.analysis.travel import Stride
from core.config import RunSettings
from core.errors import UserError
from widgets.selection import Selection

STEPS = {"step_token": Stride.TOKEN, "step_layer": Stride.LAYER, "step_pass": Stride.PASS}


class Controls(QObject):
    """Turns actions into commands to the session, with what is entered in the two forms."""

    def __init__(self, session: Session, window: MainWindow, travel: Travel) -> None:
        super().__init__(window)
        self._session, self._travel = session, travel
        self._window = window
        self._prompt, self._form = window.prompt, window.form
        self._actions = actions = window.commands
        self.gate: Callable[[], bool] = lambda: True
        """Asked before a step forward; False leaves everything where it is, and whoever set it says why."""
        actions["run"].triggered.connect(self.run)
        actions["pause"].triggered.connect(session.pause)
        actions["step_token"].triggered.connect(self.step_token)
        actions["step_layer"].triggered.connect(self.step_layer)
        actions["step_pass"].triggered.connect(self.step_pass)
        actions["stop"].triggered.connect(session.stop)
        actions["reset"].triggered.connect(session.reset)
        actions["previous_token"].triggered.connect(self.select_previous)
        actions["next_token"].triggered.connect(self.select_next)
        actions["newest_token"].triggered.connect(self.select_newest)
        self._prompt.run_requested.connect(self.start)

    @property
    def token_count(self) -> int:
        """Tokens that can be selected, the one in flight included."""
        trace = self._session.trace
        return len(trace.records) if trace is not None else 0

    @Slot()
    def run(self) -> None:
        """Go on with the run that is held, from its end, or start one."""
        if self._session.is_running:
            self._travel.play(False)
            self.select_newest()
            self._session.play()
        else:
            self.start()

    @Slot()
    def start(self) -> None:
        """Start a run with what is entered."""
        self._begin(paused=False)

    @Slot()
    def step_token(self) -> None:
        """Go one token on; at the end of the recording run it, or start a run and hold it after its first token."""
        self._step(Stride.TOKEN)

    @Slot()
    def step_layer(self) -> None:
        """Go one layer on; at the end of the recording run it, or start a run and hold it after its first step."""
        self._step(Stride.LAYER)

    @Slot()
    def step_pass(self) -> None:
        """Go on to the end of a target pass, as `step_token` does."""
        self._step(Stride.PASS)

    @Slot(int)
    def select_token(self, token: int) -> None:
        """Select a token and keep the layer."""
        self._session.select(Selection(token, self._session.selection.layer))

    @Slot()
    def select_previous(self) -> None:
        self._move(-1)

    @Slot()
    def select_next(self) -> None:
        self._move(1)

    @Slot()
    def select_newest(self) -> None:
        if self.token_count:
            self._session.select(Selection(self.token_count - 1))

    def show_state(self) -> None:
        """Enable what can be done now."""
        session, actions = self._session, self._actions
        held = session.state is RunState.PAUSED
        ready = session.can_run or held
        actions["run"].setText("&Continue" if session.is_running else "&Run")
        explain(actions["run"], ready, _why_not_ready(session))
        explain(actions["pause"], session.is_running and not held, "nothing runs")
        explain(actions["stop"], session.is_running, "nothing runs")
        explain(actions["reload"], session.model is not None or session.state is RunState.FAILED, "no model is loaded")
        explain(actions["reset"], session.trace is not None, "there is no run on show")
        self._prompt.set_runnable(session.can_run)
        self._form.set_running(session.is_running)
        self.show_position()

    def show_position(self) -> None:
        """Enable the moves that the selection has room for."""
        count, token = self.token_count, self._session.selection.token
        none = "" if count else "there are no tokens"
        explain(self._actions["previous_token"], count > 0 and token != 0, none or "the first token is selected")
        explain(self._actions["next_token"], count > 0 and token != count - 1, none or "the last token is selected")
        explain(self._actions["newest_token"], count > 0, none)
        ready = self._session.can_run or self._session.state is RunState.PAUSED
        may_step = set[Stride]() if ready else self._travel.may_step()
        for name, stride in STEPS.items():
            explain(self._actions[name], ready or stride in may_step, _why_not_ready(self._session))
        self._travel.show_state()

    def _step(self, stride: Stride) -> None:
        if not self.gate() or self._travel.step(stride):
            return
        if self._session.is_running or self._begin(paused=True):
            (self._session.step_layer if stride is Stride.LAYER else self._session.step_token)()

    def _begin(self, *, paused: bool) -> bool:
        """Start a run with what is entered; False, with a sentence beside the input, where that cannot be."""
        prompt, settings = self._prompt.prompt(), self._entered()
        if prompt is None or settings is None:
            return False
        self._window.remember_inputs()
        self._session.run(prompt, settings, paused=paused)
        return True

    def _entered(self) -> RunSettings | None:
        try:
            return self._form.settings(self._prompt.use_template())
        except UserError:
            return None  # the form shows the sentence

    def _move(self, by: int) -> None:
        at, last = self._session.selection.token, self.token_count - 1
        start = at if at is not None else (last + 1 if by < 0 else -1)
        if last >= 0:
            self.select_token(min(last, max(0, start + by)))


def _why_not_ready(session: Session) -> str:
    """Why nothing can be run or stepped now."""
    if session.is_loading:
        return "a model is being loaded"
    return "it runs already" if session.model is not None else "no model is loaded"
