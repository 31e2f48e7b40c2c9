"""The session with a real thread and a fake engine: models, runs, and what goes wrong with them."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject, Slot
from pytestqt.qtbot import QtBot

from app.failure import Failure
from app.loader import ModelMissing, ModelRequest
from app.run_state import RunState
from core.config import RunSettings, SchedulerSettings
from core.errors import UserError
from core.trace.events import EndReason, RunEnded
from tests.app.stage import Stage, names
from tests.fakes import FakeEngine, fake_run_events
from widgets.selection import Selection


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[Stage]:
    stage = Stage(qtbot)
    yield stage
    stage.session.close()


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


def test_that_a_run_that_its_engine_gives_up_tells_why(stage: Stage) -> None:
    stage.load(FakeEngine(end=EndReason.FAILED))
    stage.run()
    stage.until(lambda: bool(stage.heard.failures))
    (failure,) = stage.heard.failures
    assert stage.trace.ended is not None
    assert (failure.sentence, failure.user_error) == (stage.trace.ended.detail, True)
    assert stage.session.state is RunState.FAILED


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


class Dialog(QObject):
    """Stays inside the failure's signal until the next run is over, as a dialog with its own event loop may."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self._stage = stage

    @Slot(object)
    def show(self, _: Failure) -> None:
        self._stage.engine.error = None
        self._stage.run()
        self._stage.until_state(RunState.FINISHED)


def test_that_a_dialog_opened_from_a_failure_does_not_stop_later_events(stage: Stage) -> None:
    stage.load(FakeEngine(error=ValueError(), error_at=5))

    dialog = Dialog(stage)
    stage.session.failed.connect(dialog.show)
    stage.run()
    stage.until_state(RunState.FINISHED)
