"""Pause, steps, and the selection that follows them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.run_state import RunState
from core.trace.events import TokenEmitted
from tests.app.stage import TIMEOUT, Stage, names
from tests.fakes import FakeEngine, fake_run_events
from widgets.selection import Selection


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[Stage]:
    stage = Stage(qtbot)
    yield stage
    stage.session.close()


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
