"""What the window works on: one model, one run at a time, its trace and the selection.

Lives in the GUI thread. Commands take effect at once or within one layer; what becomes of them arrives as signals.
"""

from __future__ import annotations

import threading

from PySide6.QtCore import QCoreApplication, QObject, QTimer, Signal, Slot

from app.engine_thread import EngineThread
from app.engine_worker import LoadOrder, RunOrder
from app.failure import Failure
from app.following import Following
from app.loader import LoadedSummary, Loader, ModelMissing, ModelRequest, load_engine
from app.mailbox import LoadOver, Notice, RecordingStopped, RunMoved, RunOver
from app.recorder import Recorder
from app.run_control import RunControl
from app.run_state import RunState
from core.config import RunSettings
from core.trace.events import EndReason, Event, RunStarted
from core.trace.fork import Fork
from core.trace.reading import ReadableTrace
from core.trace.trace import Trace
from widgets.selection import Selection

SLOW_STEP_MS = 120
"""A step that takes longer shows as running; a shorter one would only make the buttons flicker."""


class Session(QObject):
    """Model, run, trace and selection, with the commands that change them. Call `close` before letting go of it."""

    trace_changed = Signal(int)
    """The first token whose record changed; 0 also when the trace was replaced or taken away."""
    state_changed = Signal(object)
    """The new `RunState`."""
    selection_changed = Signal(object)
    """The new `Selection`."""
    failed = Signal(object)
    """A `Failure` for the user. State, trace and model have settled before; opening a dialog here is fine."""
    progressed = Signal(object)
    """A `Progress` of loading; only the newest, at most 60 a second."""
    model_changed = Signal(object)
    """The `LoadedSummary` of the model that is loaded from now on."""
    model_missing = Signal(object)
    """A `ModelMissing`: ask the user, then `load_model` again with `fetch=True`."""
    run_began = Signal(object)
    """The `Trace` of a run that has just begun, which is on show from now on."""
    run_ended = Signal(int)
    """The number of a run of which nothing more comes, whether it began or was refused."""
    halted = Signal(object)
    """A `Halt`: what the run is being held for, with everything up to there on show."""

    def __init__(
        self, loader: Loader = load_engine, recorder: Recorder | None = None, parent: QObject | None = None
    ) -> None:
        """`recorder` is given every event of every run, in the engine's thread."""
        super().__init__(parent)
        self.recorder = recorder
        self._state = self._idle = RunState.NO_MODEL
        self._model: LoadedSummary | None = None
        self._trace: ReadableTrace | None = None
        self._live: Trace | None = None
        """The newest run's, which takes the events that come, on show or not."""
        self._following = Following()
        self._run = self._forgotten = -1
        self._control: RunControl | None = None
        self._held = False
        self._ticket = 0
        self._cancel: threading.Event | None = None
        self._slow = QTimer(self, singleShot=True, interval=SLOW_STEP_MS)
        self._slow.timeout.connect(self._show_running)
        self._engine = EngineThread(loader, recorder, self)
        self.watch = self._engine.watch
        self._engine.arrived.connect(self._on_events)
        self._engine.noticed.connect(self._on_notice)
        self._engine.progressed.connect(self.progressed)
        self._engine.halted.connect(self.halted)
        application = QCoreApplication.instance()
        if application is not None:
            application.aboutToQuit.connect(self.close)

    # What there is

    @property
    def trace(self) -> ReadableTrace | None:
        """The run on show, finished or not; None before the first and after `reset`."""
        return self._trace

    @property
    def selection(self) -> Selection:
        return self._following.selection

    @property
    def state(self) -> RunState:
        return self._state

    @property
    def model(self) -> LoadedSummary | None:
        """The loaded model; while another is being loaded, still the one before."""
        return self._model

    @property
    def can_run(self) -> bool:
        """Whether `run` would start at once."""
        return self._model is not None and not self.is_loading and not self.is_running

    @property
    def is_running(self) -> bool:
        """Whether a run is under way, held or not: pause, steps and stop have an effect."""
        return self._control is not None

    @property
    def is_held(self) -> bool:
        """Whether the run is held, with everything up to there on show; False while a step is under way."""
        return self._held and self.is_running

    @property
    def is_following(self) -> bool:
        """Whether the selection moves with the newest token, as it does until the user chooses another."""
        return self._following.on

    @property
    def is_loading(self) -> bool:
        return self._cancel is not None

    # Models

    def load_model(self, request: ModelRequest) -> None:
        """Load a model in place of the present one; ends a run and calls off an earlier load.

        Ends in `model_changed`, `model_missing` or `failed`, or in none of them after `cancel_load`.
        """
        self.stop()
        self.cancel_load()
        self._ticket += 1
        self._cancel = threading.Event()
        self._set_state(RunState.LOADING)
        self._engine.load(LoadOrder(self._ticket, request, self._cancel))

    def cancel_load(self) -> None:
        """Call off the load under way; the state leaves LOADING once nothing half-made is left."""
        if self._cancel is not None:
            self._cancel.set()

    # Runs

    def run(self, prompt: str, settings: RunSettings, *, paused: bool = False, fork: Fork | None = None) -> None:
        """Start a new run or branch; one under way is stopped first. `paused` has it wait for a step before any work.

        The trace on show stays until the new run's first event, so that a refused prompt takes nothing away.
        """
        if self._model is None or self.is_loading:
            self.failed.emit(Failure("There is no model to run yet; load one, or wait until it is there.", "", True))
            return
        self.stop()
        self._run, self._control = self._run + 1, RunControl(paused=paused)
        if paused:
            self._await_step()
        else:
            self._held = False
            self._set_state(RunState.RUNNING)
        self._engine.run(RunOrder(self._run, prompt, settings, self._control, fork))

    def play(self) -> None:
        """Go on with a held run until something else is asked."""
        if control := self._steerable():
            self._held = False
            self._set_state(RunState.RUNNING)
            control.play()

    def pause(self) -> None:
        """Hold the run within one layer."""
        if control := self._steerable():
            control.pause()

    def step_token(self) -> None:
        """Let a run go on through its next token, then hold it."""
        if control := self._steerable():
            self._await_step()
            control.step_token()

    def step_layer(self) -> None:
        """Let a run go on through its next layer, then hold it."""
        if control := self._steerable():
            self._await_step()
            control.step_layer()

    def stop(self) -> None:
        """End the run within one layer; what it made stays."""
        if self._control is not None:
            self._control.stop()

    def reset(self) -> None:
        """Stop, and take the trace away; the model stays."""
        self.stop()
        self._control = self._live = None
        self._forgotten = self._run
        self._idle = RunState.READY if self._model is not None else RunState.NO_MODEL
        self._show(None)
        self._rest()

    def show_trace(self, trace: ReadableTrace | None) -> None:
        """Show another run, such as one of a file; one that is under way goes on and can be shown again."""
        before = self.selection
        self._following.begin(trace, live=trace is self._live and self.is_running)
        self._show(trace, before=before)

    def number_from(self, least: int) -> None:
        """Give the runs to come numbers from `least` on, as those before are taken."""
        self._run = max(self._run, least - 1)

    # Selection

    def select(self, selection: Selection) -> None:
        """Select for the user. The newest token goes on being followed; any other stays until it is let go."""
        before = self.selection
        self._following.choose(selection, self._trace, held=self._state is RunState.PAUSED)
        self._tell_selection(before)

    # The end

    @Slot()
    def close(self) -> None:
        """End run, load and thread, and wait for the thread: at any time, and more than once."""
        self._slow.stop()
        self.stop()
        self.cancel_load()
        self._engine.close()

    # What comes from the engine

    @Slot(object)
    def _on_events(self, events: list[Event]) -> None:
        changed = [self._take(event) for event in events if event.run > self._forgotten]
        if changed and self._trace is self._live:
            self._show(self._trace, min(changed))

    def _take(self, event: Event) -> int:
        """Add an event to its trace; the first token whose record it changes."""
        if self._live is None or isinstance(event, RunStarted):
            self._trace = self._live = Trace()
            self._following.on = True
        self._live.append(event)
        if isinstance(event, RunStarted):
            self.run_began.emit(self._live)
            return 0
        return getattr(event, "token", self._live.emitted_count)

    @Slot(object)
    def _on_notice(self, notice: Notice) -> None:
        match notice:
            case RunMoved():
                self._on_run_moved(notice)
            case RunOver():
                self._on_run_over(notice)
            case LoadOver():
                self._on_load_over(notice)
            case RecordingStopped():
                self.failed.emit(notice.failure)

    def _on_run_moved(self, notice: RunMoved) -> None:
        if notice.run != self._run or not self.is_running or self.is_loading:
            return
        self._held = notice.state is RunState.PAUSED
        if self._held:
            self._set_state(RunState.PAUSED)
            self._follow()
        elif not self._slow.isActive():
            self._set_state(RunState.RUNNING)

    def _on_run_over(self, notice: RunOver) -> None:
        ended, failure = self._live.ended if self._live is not None else None, notice.failure
        if ended is not None and ended.run == notice.run:
            gave_up = ended.reason is EndReason.FAILED
            self._idle = RunState.FAILED if gave_up else RunState.FINISHED
            if gave_up and failure is None:  # the engine saw it itself: nothing was raised
                failure = Failure(ended.detail, "", True)
        if notice.run == self._run:
            self._control = None
            self._rest()
        self.run_ended.emit(notice.run)
        if failure is not None and notice.run > self._forgotten:
            self.failed.emit(failure)

    def _on_load_over(self, notice: LoadOver) -> None:
        outcome = notice.outcome
        if isinstance(outcome, LoadedSummary):
            self._model = outcome
            self._idle = RunState.READY
            self.model_changed.emit(outcome)
        if notice.ticket != self._ticket:
            return
        self._cancel = None
        if self._model is None:
            self._idle = RunState.FAILED if isinstance(outcome, Failure) else RunState.NO_MODEL
        self._rest()
        if isinstance(outcome, Failure):
            self.failed.emit(outcome)
        elif isinstance(outcome, ModelMissing):
            self.model_missing.emit(outcome)

    # State and selection

    def _steerable(self) -> RunControl | None:
        """The control of the run under way; None where there is none or it has been stopped."""
        stopped = self._control is None or self._control.stop_event.is_set()
        return None if stopped else self._control

    def _rest(self) -> None:
        """Show what there is when nothing runs; a load still shows as one."""
        if not self.is_running:
            self._set_state(RunState.LOADING if self.is_loading else self._idle)

    def _await_step(self) -> None:
        """A step that is quick stays PAUSED throughout; one that takes longer will show as running."""
        self._held = False
        self._set_state(RunState.PAUSED)
        self._slow.start()

    @Slot()
    def _show_running(self) -> None:
        if self.is_running and not self.is_loading:
            self._set_state(RunState.RUNNING)

    def _set_state(self, state: RunState) -> None:
        self._slow.stop()
        if state is not self._state:
            self._state = state
            self.state_changed.emit(state)

    def _show(self, trace: ReadableTrace | None, first: int = 0, before: Selection | None = None) -> None:
        """Tell of a changed trace, with a selection that already fits it: no view looks up a token that is gone."""
        before = before or self.selection
        self._trace = trace
        self._following.on = self._following.on or trace is None
        self._following.follow(trace, held=self._state is RunState.PAUSED)
        self.trace_changed.emit(first)
        self._tell_selection(before)

    def _follow(self) -> None:
        before = self.selection
        self._following.follow(self._trace, held=self._state is RunState.PAUSED)
        self._tell_selection(before)

    def _tell_selection(self, before: Selection) -> None:
        if self.selection != before:
            self.selection_changed.emit(self.selection)
