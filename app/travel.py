"""Moves through what is recorded: steps in both directions, and playing it back. Nothing is run again."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Slot

from app.actions import explain
from app.main_window import MainWindow
from app.run_state import RunState
from app.session import Session
from app.travel_button import SPEEDS
from app.travel_dialog import GoToDialog
from core.analysis.travel import Journey, Place, Stride
from core.trace.reading import ReadableTrace
from widgets.selection import Selection

FIRST_SPEED = 5
"""Tokens a second."""


class Travel(QObject):
    """The selection of one session as a place in its recording."""

    def __init__(self, session: Session, window: MainWindow) -> None:
        super().__init__(window)
        self._session, self._window, self._actions = session, window, window.commands
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._play_on)
        self._trace: ReadableTrace | None = None
        """What is being played."""
        self.dialog: GoToDialog | None = None
        self._connect()
        remembered = window.preferences.replay_speed
        self.set_speed(remembered if remembered in SPEEDS else FIRST_SPEED)

    @property
    def journey(self) -> Journey | None:
        """The places of the run on show; None where it has not begun."""
        trace = self._session.trace
        return Journey(trace) if trace is not None and trace.started is not None else None

    @property
    def place(self) -> Place | None:
        """Where the selection is."""
        at = self._session.selection
        return None if at.token is None else Place(at.token, at.layer)

    @property
    def is_playing(self) -> bool:
        """Whether the recording is being played back."""
        return self._timer.isActive()

    @property
    def speed(self) -> int:
        """Tokens a second."""
        return self._speed

    def may_step(self) -> set[Stride]:
        """The strides by which the recording goes on after the selection; by others only the engine can."""
        journey, place = self.journey, self.place
        return set() if journey is None else {stride for stride in Stride if not journey.is_at_end(place, stride)}

    def step(self, stride: Stride) -> bool:
        """Go a stride on in the recording; False, and all stays, at its end."""
        journey = self.journey
        if journey is None or journey.is_at_end(self.place, stride):
            return False
        return self._go(journey.forward(self.place, stride))

    def back(self, stride: Stride) -> bool:
        """Go a stride back; False at the first token."""
        journey = self.journey
        return journey is not None and self._go(journey.back(self.place, stride))

    @Slot(bool)
    def play(self, on: bool) -> None:
        """Play the recording from the selection on, from its start where that is its end; or stop."""
        if not on:
            self._stop()
            return
        journey = self.journey
        if journey is None or journey.first is None:
            self._stop()
            return
        self._trace = self._session.trace
        if journey.is_at_end(self.place, Stride.TOKEN):
            self._go(journey.first)
        self._timer.start()
        self._tell()

    @Slot(int)
    def set_speed(self, speed: int) -> None:
        """Play so many tokens a second, also after the next launch."""
        self._speed = self._window.preferences.replay_speed = speed
        self._timer.setInterval(1000 // speed)
        self._tell()

    @Slot()
    def _forget_speed(self) -> None:
        self.set_speed(FIRST_SPEED)

    def show_state(self) -> None:
        """Enable what can be done now."""
        count, journey, place, actions = self._count(), self.journey, self.place, self._actions
        first = journey is None or place is None or journey.back(place, Stride.LAYER) is None
        why = "the recording begins here" if count else "there are no tokens"
        for name in ("step_back_token", "step_back_layer", "step_back_pass"):
            explain(actions[name], count > 0 and not first, why)
        for name in ("first_token", "goto_token"):
            explain(actions[name], count > 0, "there are no tokens")
        follows = self._session.state is RunState.RUNNING and self._session.is_following
        explain(actions["play_recording"], count > 1 and not follows, "there is nothing recorded to play")
        if follows:
            self._stop()

    def _connect(self) -> None:
        actions = self._actions
        actions["step_back_token"].triggered.connect(self._back_token)
        actions["step_back_layer"].triggered.connect(self._back_layer)
        actions["step_back_pass"].triggered.connect(self._back_pass)
        actions["first_token"].triggered.connect(self._to_first)
        actions["goto_token"].triggered.connect(self._ask)
        actions["play_recording"].triggered.connect(self.play)
        self._window.desk.appearance.forgotten.connect(self._forget_speed)
        actions["replay_faster"].triggered.connect(self._faster)
        actions["replay_slower"].triggered.connect(self._slower)
        self._window.tools.replay.speed_chosen.connect(self.set_speed)
        self._session.trace_changed.connect(self._trace_changed)
        self._window.closed.connect(self._stop)

    def _go(self, place: Place | None) -> bool:
        if place is None:
            return False
        self._session.select(Selection(place.token, place.layer))
        return True

    def _count(self) -> int:
        trace = self._session.trace
        return len(trace.records) if trace is not None else 0

    @Slot()
    def _back_token(self) -> None:
        self.back(Stride.TOKEN)

    @Slot()
    def _back_layer(self) -> None:
        self.back(Stride.LAYER)

    @Slot()
    def _back_pass(self) -> None:
        self.back(Stride.PASS)

    @Slot()
    def _to_first(self) -> None:
        if (journey := self.journey) is not None:
            self._go(journey.first)

    @Slot()
    def _ask(self) -> None:
        """Ask which token to go to."""
        at = self._session.selection.token
        dialog = self.dialog = GoToDialog(self._count(), at, self._window)
        dialog.chosen.connect(self._go_to)
        dialog.finished.connect(self._forget_dialog)
        dialog.open()

    @Slot(int)
    def _go_to(self, token: int) -> None:
        self._session.select(Selection(token))

    @Slot()
    def _forget_dialog(self) -> None:
        self.dialog = None

    @Slot()
    def _play_on(self) -> None:
        if not self.step(Stride.TOKEN):
            self._stop()

    @Slot(int)
    def _trace_changed(self, _: int) -> None:
        if self.is_playing and self._session.trace is not self._trace:
            self._stop()

    @Slot()
    def _stop(self) -> None:
        self._timer.stop()
        self._trace = None
        self._tell()

    @Slot()
    def _faster(self) -> None:
        self.set_speed(min((speed for speed in SPEEDS if speed > self._speed), default=SPEEDS[-1]))

    @Slot()
    def _slower(self) -> None:
        self.set_speed(max((speed for speed in SPEEDS if speed < self._speed), default=SPEEDS[0]))

    def _tell(self) -> None:
        self._actions["play_recording"].setChecked(self.is_playing)
        self._window.tools.replay.show_speed(self._speed)
        explain(self._actions["replay_faster"], self._speed < SPEEDS[-1], "this is the highest speed")
        explain(self._actions["replay_slower"], self._speed > SPEEDS[0], "this is the lowest speed")
