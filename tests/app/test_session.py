"""The session with a real thread and a fake engine: every state, every command, every way to leave."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, QThread, Slot
from pytestqt.qtbot import QtBot

from app.failure import Failure
from app.loader import ModelMissing, ModelRequest
from app.run_control import RunState
from app.session import Session
from core.config import RunSettings, SchedulerSettings
from core.errors import UserError
from core.progress import Progress
from core.trace.events import EndReason, RunEnded, TokenEmitted
from core.trace.trace import Trace
from tests.fakes import FakeEngine, FakeLoader, fake_run_events
from widgets.selection import Selection

TIMEOUT = 20_000
"""Milliseconds; only a hang comes near it."""


class Recorder(QObject):
    """Writes down everything a session says, and checks that it is said in the GUI thread."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.states: list[RunState] = []
        self.failures: list[Failure] = []
        self.missing: list[ModelMissing] = []
        self.progress: list[Progress] = []
        self.selections: list[Selection] = []
        self.changes: list[int] = []
        self.models: list[object] = []
        self._session = session
        session.state_changed.connect(self._on_state)
        session.failed.connect(self._on_failed)
        session.model_missing.connect(self._on_missing)
        session.progressed.connect(self._on_progressed)
        session.selection_changed.connect(self._on_selection)
        session.trace_changed.connect(self._on_trace)
        session.model_changed.connect(self._on_model)

    @Slot(object)
    def _on_state(self, state: RunState) -> None:
        assert QThread.currentThread() is self.thread()
        self.states.append(state)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failures.append(failure)

    @Slot(object)
    def _on_missing(self, missing: ModelMissing) -> None:
        self.missing.append(missing)

    @Slot(object)
    def _on_progressed(self, progress: Progress) -> None:
        self.progress.append(progress)

    @Slot(object)
    def _on_selection(self, selection: Selection) -> None:
        self.selections.append(selection)

    @Slot(int)
    def _on_trace(self, first: int) -> None:
        assert QThread.currentThread() is self.thread()
        self.changes.append(first)
        selected = self._session.selection.token
        if selected is not None:  # a view may look the selected token up at once
            assert self._session.trace is not None
            assert self._session.trace.records[selected].token == selected

    @Slot(object)
    def _on_model(self, model: object) -> None:
        self.models.append(model)


class Stage:
    """A session, what it said, and the fakes behind it."""

    def __init__(self, qtbot: QtBot) -> None:
        self.qtbot = qtbot
        self.loader = FakeLoader()
        self.session = Session(self.loader)
        self.heard = Recorder(self.session)

    @property
    def engine(self) -> FakeEngine:
        return self.loader.engine

    @property
    def trace(self) -> Trace:
        assert self.session.trace is not None
        return self.session.trace

    def until(self, condition: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(condition, timeout=TIMEOUT)

    def until_state(self, state: RunState) -> None:
        self.until(lambda: self.session.state is state)

    def load(self, engine: FakeEngine | None = None) -> None:
        self.loader.engine = engine or self.loader.engine
        self.session.load_model(ModelRequest("fake"))
        self.until_state(RunState.READY)

    def run(self, prompt: str = "Why is the sky blue?", *, paused: bool = False) -> None:
        self.session.run(prompt, RunSettings(), paused=paused)

    def run_to_end(self) -> None:
        self.run()
        self.until_state(RunState.FINISHED)

    def run_until_stuck(self) -> None:
        self.run()
        self.until(self.engine.stuck.is_set)

    def hold(self) -> None:
        """Start a run and wait until it is held before the prompt."""
        self.run(paused=True)
        self.until(lambda: self.session.is_held)
        assert self.session.state is RunState.PAUSED

    def trace_events(self) -> list[object]:
        return list(self.session.trace.events) if self.session.trace is not None else []

    def step(self, command: Callable[[], None]) -> list[object]:
        """One step from hold to hold, and the events that it brought."""
        before = len(self.trace_events())
        command()
        self.until(lambda: self.session.is_held)
        return self.trace_events()[before:]


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[Stage]:
    stage = Stage(qtbot)
    yield stage
    stage.session.close()


def names(events: list[object]) -> list[str]:
    return [type(event).__name__ for event in events]


# Models


def test_that_a_new_session_has_no_model_and_ignores_every_command(stage: Stage) -> None:
    session = stage.session
    for command in (session.play, session.pause, session.step_token, session.step_layer, session.stop, session.reset):
        command()
    assert session.state is RunState.NO_MODEL
    assert (session.trace, session.model, session.selection) == (None, None, Selection())
    assert not session.can_run


def test_that_loading_leads_to_ready_with_the_summary_of_the_model(stage: Stage) -> None:
    stage.load()
    assert stage.heard.states == [RunState.LOADING, RunState.READY]
    assert stage.session.model is not None
    assert stage.session.model.info.depth == 12
    assert stage.heard.models == [stage.session.model]
    assert stage.heard.progress
    assert stage.session.can_run


def test_that_a_load_can_be_called_off_and_tried_again(stage: Stage) -> None:
    stage.loader.stuck = True
    stage.session.load_model(ModelRequest("fake"))
    stage.until(stage.loader.started.is_set)
    stage.session.cancel_load()
    stage.until_state(RunState.NO_MODEL)
    assert stage.heard.failures == []
    stage.loader.stuck = False
    stage.load()


def test_that_a_missing_model_is_asked_for_and_not_called_a_failure(stage: Stage) -> None:
    stage.loader.error = ModelMissing("far", 93_000_000, "Apache-2.0")
    stage.session.load_model(ModelRequest("far"))
    stage.until_state(RunState.NO_MODEL)
    assert [missing.size for missing in stage.heard.missing] == [93_000_000]
    assert stage.heard.failures == []


def test_that_a_first_load_that_fails_leaves_a_session_that_can_load_another(stage: Stage) -> None:
    stage.loader.error = UserError("That folder holds no model.")
    stage.session.load_model(ModelRequest("bad"))
    stage.until_state(RunState.FAILED)
    assert [failure.sentence for failure in stage.heard.failures] == ["That folder holds no model."]
    stage.loader.error = None
    stage.load()


def test_that_a_failed_load_takes_neither_model_nor_trace_away(stage: Stage) -> None:
    stage.load()
    stage.run_to_end()
    model, trace = stage.session.model, stage.trace
    stage.loader.error = UserError("That folder holds no model.")
    stage.session.load_model(ModelRequest("bad"))
    stage.until(lambda: bool(stage.heard.failures))
    assert stage.session.state is RunState.FINISHED
    assert stage.session.model is model
    assert stage.session.trace is trace
    assert stage.session.can_run


def test_that_of_two_loads_in_a_row_only_the_last_is_told(stage: Stage) -> None:
    stage.loader.stuck = True
    stage.session.load_model(ModelRequest("first"))
    stage.until(stage.loader.started.is_set)
    stage.loader.stuck = False
    stage.session.load_model(ModelRequest("second"))
    stage.until_state(RunState.READY)
    assert stage.session.model is not None
    assert stage.session.model.request.ref == "second"
    assert stage.heard.states == [RunState.LOADING, RunState.READY]
    assert stage.heard.failures == []


@pytest.mark.parametrize("paused", [True, False])
def test_that_loading_another_model_ends_the_run_under_way(stage: Stage, paused: bool) -> None:
    stage.load(FakeEngine(stuck_at=None if paused else 20))
    if paused:
        stage.hold()
    else:
        stage.run_until_stuck()
    stage.session.load_model(ModelRequest("other"))
    stage.session.step_layer()  # too late to be heard
    stage.until_state(RunState.READY)
    assert stage.heard.states[-2:] == [RunState.LOADING, RunState.READY]
    assert stage.trace.ended is not None
    assert stage.trace.ended.reason is EndReason.STOPPED


# Runs


def test_that_running_without_a_model_is_refused_in_a_sentence(stage: Stage) -> None:
    stage.run()
    assert [failure.user_error for failure in stage.heard.failures] == [True]
    assert stage.session.state is RunState.NO_MODEL


def test_that_a_run_brings_every_event_in_order_and_finishes(stage: Stage) -> None:
    stage.load(FakeEngine(tokens=200))
    stage.run_to_end()
    assert names(stage.trace_events()) == names(list(fake_run_events(tokens=200)))
    assert stage.trace.emitted_count == 200
    assert stage.heard.states[2:] == [RunState.RUNNING, RunState.FINISHED]


def test_that_the_engine_runs_in_one_thread_that_is_not_the_windows(stage: Stage) -> None:
    stage.load()
    stage.run_to_end()
    stage.run_to_end()
    assert len(stage.engine.threads) == 1
    assert threading.get_ident() not in stage.engine.threads


def test_that_a_free_run_reaches_the_window_in_portions_and_not_event_by_event(stage: Stage) -> None:
    stage.load(FakeEngine(tokens=400))
    stage.run_to_end()
    assert len(stage.trace.events) > 4000
    assert len(stage.heard.changes) < len(stage.trace.events) / 10


def test_that_changes_name_the_first_token_that_differs(stage: Stage) -> None:
    stage.load()
    stage.hold()
    stage.step(stage.session.step_token)
    stage.step(stage.session.step_token)
    del stage.heard.changes[:]
    stage.step(stage.session.step_token)
    assert set(stage.heard.changes) == {2}


def test_that_a_second_run_starts_anew_with_the_next_number(stage: Stage) -> None:
    stage.load()
    stage.run_to_end()
    first = stage.trace
    stage.run_to_end()
    assert stage.trace is not first
    assert [run for _, run in stage.engine.asked] == [0, 1]


def test_that_starting_a_run_stops_the_one_under_way(stage: Stage) -> None:
    stage.load(FakeEngine(stuck_at=20))
    stage.run_until_stuck()
    stage.engine.stuck_at = None
    stage.run("Another question?")
    stage.until(lambda: stage.session.state is RunState.FINISHED)
    assert stage.trace.started is not None
    assert stage.trace.started.prompt == "Another question?"
    assert stage.trace.emitted_count == stage.engine.tokens


# Holding and stepping


def test_that_a_run_started_paused_waits_before_the_prompt(stage: Stage) -> None:
    stage.load()
    stage.hold()
    assert names(stage.trace_events()) == ["RunStarted"]
    assert stage.session.is_held


def test_that_a_step_asked_right_at_the_start_is_not_lost(stage: Stage) -> None:
    stage.load()
    stage.run(paused=True)
    stage.session.step_token()
    stage.until(lambda: stage.session.is_held and stage.trace.emitted_count == 1)
    assert isinstance(stage.trace.events[-1], TokenEmitted)


def test_that_a_token_step_brings_exactly_one_token(stage: Stage) -> None:
    stage.load()
    stage.hold()
    assert names(stage.step(stage.session.step_token)) == ["PrefillAdvanced", "TokenEmitted"]
    brought = names(stage.step(stage.session.step_token))
    assert brought[0] == "DraftProposed"
    assert brought[-1] == "TokenEmitted"
    assert brought.count("TokenEmitted") == 1


def test_that_a_layer_step_brings_exactly_one_layer(stage: Stage) -> None:
    stage.load()
    stage.hold()
    stage.step(stage.session.step_layer)
    for _ in range(8):
        assert names(stage.step(stage.session.step_layer)).count("LayerRun") == 1


def test_that_quick_steps_never_leave_the_paused_state(stage: Stage) -> None:
    stage.session._slow.setInterval(TIMEOUT)  # however busy this machine is, the steps count as quick
    stage.load()
    stage.hold()
    for _ in range(6):
        stage.step(stage.session.step_layer)
    assert stage.heard.states[2:] == [RunState.PAUSED]


def test_that_a_step_that_takes_long_shows_as_running_and_is_paused_again_at_its_end(stage: Stage) -> None:
    stage.load(FakeEngine(stuck_at=1))
    stage.hold()
    stage.session.step_token()
    stage.until_state(RunState.RUNNING)
    assert stage.engine.stuck.is_set()


def test_that_stepping_through_to_the_end_finishes_the_run(stage: Stage) -> None:
    stage.load(FakeEngine(tokens=3))
    stage.hold()
    for _ in range(3):
        stage.step(stage.session.step_token)
    stage.session.step_token()
    stage.until_state(RunState.FINISHED)
    assert stage.trace.ended is not None


def test_that_a_paused_run_plays_on_to_the_same_end(stage: Stage) -> None:
    stage.load()
    stage.hold()
    stage.step(stage.session.step_layer)
    stage.session.play()
    assert stage.session.state is RunState.RUNNING
    stage.until_state(RunState.FINISHED)
    assert names(stage.trace_events()) == names(list(fake_run_events()))


def test_that_pause_holds_a_free_run_before_its_end(stage: Stage) -> None:
    stage.load(FakeEngine(tokens=100_000))
    stage.run()
    stage.until(lambda: stage.session.trace is not None)
    stage.session.pause()
    stage.until_state(RunState.PAUSED)
    assert stage.session.is_held
    assert stage.trace.ended is None


# Stop and reset


@pytest.mark.parametrize("paused", [True, False])
def test_that_stop_ends_the_run_and_keeps_what_it_made(stage: Stage, paused: bool) -> None:
    stage.load(FakeEngine(stuck_at=None if paused else 20))
    if paused:
        stage.hold()
        stage.step(stage.session.step_token)
        stage.step(stage.session.step_layer)
    else:
        stage.run_until_stuck()
    stage.session.stop()
    stage.until_state(RunState.FINISHED)
    assert stage.trace.ended is not None
    assert stage.trace.ended.reason is EndReason.STOPPED
    assert stage.trace.emitted_count >= 1
    assert stage.session.can_run


def test_that_stop_acts_within_one_layer(stage: Stage) -> None:
    stage.load(FakeEngine(stuck_at=20))
    stage.run_until_stuck()
    stage.session.stop()
    stage.until_state(RunState.FINISHED)
    assert len(stage.trace.events) <= 20 + 3


@pytest.mark.parametrize("paused", [True, False])
def test_that_reset_takes_the_trace_away_for_good_and_keeps_the_model(stage: Stage, paused: bool) -> None:
    stage.load(FakeEngine(stuck_at=None if paused else 20))
    if paused:
        stage.hold()
    else:
        stage.run_until_stuck()
    stage.session.reset()
    assert stage.session.state is RunState.READY
    assert (stage.session.trace, stage.session.selection) == (None, Selection())
    stage.engine.stuck_at = None
    stage.run()  # queued behind the end of the first, whose events are still to come
    stage.until_state(RunState.FINISHED)
    assert stage.trace.started is not None
    assert stage.trace.started.run == 1


def test_that_after_reset_no_event_of_the_old_run_comes_back(stage: Stage) -> None:
    stage.load(FakeEngine(stuck_at=20))
    stage.run_until_stuck()
    stage.session.reset()
    stage.engine.stuck_at = None
    del stage.heard.changes[:]
    stage.session.load_model(ModelRequest("fake"))  # done after the old run is: nothing of that is left in the mailbox
    stage.until_state(RunState.READY)
    assert stage.session.trace is None
    assert stage.heard.changes == []


# Errors


def test_that_an_engine_that_breaks_off_leaves_its_trace_a_failure_and_a_session_that_runs_again(stage: Stage) -> None:
    stage.load(FakeEngine(error=ValueError("bad shape"), error_at=20))
    stage.run()
    stage.until(lambda: bool(stage.heard.failures))
    assert stage.session.state is RunState.FAILED
    assert len(stage.trace.events) == 21
    assert isinstance(stage.trace.ended, RunEnded)
    assert "bad shape" in stage.heard.failures[0].details
    stage.engine.error = None
    stage.run_to_end()


def test_that_a_refused_prompt_keeps_the_trace_and_the_state(stage: Stage) -> None:
    stage.load()
    stage.run_to_end()
    kept = stage.trace
    stage.run("   ")
    stage.until(lambda: bool(stage.heard.failures))
    assert stage.session.state is RunState.FINISHED
    assert stage.session.trace is kept


def test_that_settings_the_model_cannot_have_are_refused_in_a_sentence(stage: Stage) -> None:
    stage.load()
    stage.session.run("Why?", RunSettings(scheduler=SchedulerSettings(offline_layers=99)))
    stage.until(lambda: bool(stage.heard.failures))
    assert stage.heard.failures[0].user_error
    assert stage.session.state is RunState.READY


def test_that_a_dialog_opened_from_a_failure_does_not_stop_later_events(stage: Stage, qtbot: QtBot) -> None:
    """A dialog runs its own event loop inside the signal; the next run must get through it."""
    stage.load(FakeEngine(error=ValueError(), error_at=5))

    class Dialog(QObject):
        @Slot(object)
        def show(self, _: Failure) -> None:
            stage.engine.error = None
            stage.run()
            stage.until_state(RunState.FINISHED)

    dialog = Dialog()
    stage.session.failed.connect(dialog.show)
    stage.run()
    stage.until_state(RunState.FINISHED)


# Selection


def test_that_the_selection_follows_the_newest_token(stage: Stage) -> None:
    stage.load()
    stage.run_to_end()
    assert stage.session.selection == Selection(stage.engine.tokens - 1)
    assert stage.heard.selections[-1] == stage.session.selection


def test_that_a_paused_selection_shows_the_layer_that_was_just_run(stage: Stage) -> None:
    stage.load()
    stage.hold()
    stage.step(stage.session.step_token)
    stage.step(stage.session.step_layer)
    assert stage.session.selection == Selection(1, 0)
    stage.step(stage.session.step_layer)
    assert stage.session.selection == Selection(1, 1)


def test_that_a_token_picked_by_the_user_stays_selected_until_the_newest_is_picked_again(stage: Stage) -> None:
    stage.load()
    stage.hold()
    for _ in range(3):
        stage.step(stage.session.step_token)
    stage.session.select(Selection(1, 3))
    stage.step(stage.session.step_token)
    assert stage.session.selection == Selection(1, 3)
    stage.session.select(Selection(3))
    stage.step(stage.session.step_token)
    assert stage.session.selection == Selection(4)


def test_that_a_token_that_does_not_exist_cannot_be_selected(stage: Stage) -> None:
    stage.load()
    stage.run_to_end()
    stage.session.select(Selection(1))
    for token in (99, -1):
        stage.session.select(Selection(token))
        assert stage.session.selection == Selection()


def test_that_a_new_run_lets_go_of_a_token_picked_in_the_old_one(stage: Stage) -> None:
    stage.load()
    stage.run_to_end()
    stage.session.select(Selection(2))
    stage.hold()
    assert stage.session.selection == Selection()


# Leaving


def leave_idle(stage: Stage) -> None:
    stage.load()


def leave_finished(stage: Stage) -> None:
    stage.load()
    stage.run_to_end()


def leave_mid_layer(stage: Stage) -> None:
    stage.load(FakeEngine(stuck_at=20))
    stage.run_until_stuck()


def leave_paused(stage: Stage) -> None:
    stage.load()
    stage.hold()


def leave_free_running(stage: Stage) -> None:
    stage.load(FakeEngine(tokens=100_000))
    stage.run()
    stage.until(lambda: stage.session.trace is not None)


def leave_while_loading(stage: Stage) -> None:
    stage.loader.stuck = True
    stage.session.load_model(ModelRequest("fake"))
    stage.until(stage.loader.started.is_set)


def leave_with_orders_waiting(stage: Stage) -> None:
    stage.load(FakeEngine(stuck_at=20))
    stage.run_until_stuck()
    stage.run()
    stage.session.load_model(ModelRequest("fake"))
    stage.session.load_model(ModelRequest("fake"))


def leave_at_once(stage: Stage) -> None:
    pass


LEAVING = [
    leave_idle,
    leave_finished,
    leave_mid_layer,
    leave_paused,
    leave_free_running,
    leave_while_loading,
    leave_with_orders_waiting,
    leave_at_once,
]


@pytest.mark.parametrize("leave", LEAVING)
def test_that_closing_ends_the_thread_in_every_state_and_twice(stage: Stage, leave: Callable[[Stage], None]) -> None:
    leave(stage)
    said = len(stage.heard.states)
    stage.session.close()
    stage.session.close()
    thread = stage.session.findChild(QThread, "engine")
    assert thread is not None
    assert thread.isFinished()
    stage.qtbot.waitUntil(lambda: True)
    assert len(stage.heard.states) == said
    assert stage.heard.failures == []


def test_that_many_sessions_leave_no_thread_behind(qtbot: QtBot) -> None:
    before = set(sys._current_frames())
    for _ in range(20):
        stage = Stage(qtbot)
        stage.load()
        stage.run_to_end()
        stage.session.close()
    qtbot.waitUntil(lambda: set(sys._current_frames()) <= before, timeout=TIMEOUT)


def test_that_neither_session_nor_worker_brings_torch_in() -> None:
    """In a process of its own: other tests of this one may have imported it."""
    code = "import sys, app.session; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[2]).returncode == 0
