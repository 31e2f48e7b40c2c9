"""Stepping through what is recorded in the window: both ways, by number, played back, and on into the engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.run_state import RunState
from core.trace.trace import Trace
from tests.app.window_stage import WindowStage
from tests.fakes import FakeEngine, fake_run_events
from tests.widgets.plots import alike
from widgets.selection import Selection

TOKENS = 7
FAR = 240
"""Tokens of a run that no plot shows at once."""


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[WindowStage]:
    stage = WindowStage(qtbot)
    yield stage
    stage.window.close()


@pytest.fixture
def opened(stage: WindowStage) -> WindowStage:
    """A recording on show, no model loaded."""
    stage.session.show_trace(Trace.of(fake_run_events(TOKENS)))
    return stage


def selected(stage: WindowStage) -> tuple[int | None, int | None]:
    return stage.session.selection.token, stage.session.selection.layer


def enabled(stage: WindowStage, name: str) -> bool:
    return stage.window.commands[name].isEnabled()


def test_that_a_recording_is_stepped_through_both_ways_without_a_model(opened: WindowStage) -> None:
    assert selected(opened) == (0, None)
    assert not enabled(opened, "step_back_token")
    opened.trigger("step_token")
    opened.trigger("step_layer")
    opened.trigger("step_layer")
    assert selected(opened) == (2, 1)
    assert opened.window.tools.scrubber.label.text() == f"token 3 / {TOKENS} · layer 2"
    opened.trigger("step_back_layer")
    opened.trigger("step_back_layer")
    assert selected(opened) == (1, None)
    opened.trigger("newest_token")
    for name in ("step_token", "step_layer", "step_pass"):
        assert not enabled(opened, name)
    opened.trigger("step_back_pass")
    assert selected(opened) == (TOKENS - 2, None)
    opened.trigger("first_token")
    assert selected(opened) == (0, None)


def test_that_steps_of_a_held_run_go_through_the_recording_first_and_ask_the_engine_at_its_end(
    stage: WindowStage,
) -> None:
    stage.load(FakeEngine(tokens=20))
    stage.trigger("step_token")
    stage.until_held()
    for _ in range(3):
        step_live(stage)
    assert stage.session.trace.emitted_count == 4
    stage.trigger("step_back_token")
    stage.trigger("step_back_token")
    assert selected(stage) == (1, None)
    stage.trigger("step_token")
    stage.trigger("step_token")
    assert selected(stage) == (3, None)
    assert stage.session.trace.emitted_count == 4, "what is recorded is not run again"
    step_live(stage)
    assert (stage.session.trace.emitted_count, selected(stage)) == (5, (4, None))


def step_live(stage: WindowStage) -> None:
    """A step that the engine is asked for."""
    before = stage.session.trace.emitted_count
    stage.trigger("step_token")
    stage.qtbot.waitUntil(lambda: stage.session.is_held and stage.session.trace.emitted_count > before, timeout=20_000)


def test_that_going_on_from_the_past_goes_on_from_the_end(stage: WindowStage) -> None:
    stage.load(FakeEngine(tokens=TOKENS))
    stage.trigger("step_token")
    stage.until_held()
    step_live(stage)
    stage.trigger("first_token")
    stage.trigger("run")
    stage.until_state(RunState.FINISHED)
    assert selected(stage) == (TOKENS - 1, None)
    assert stage.session.is_following


def test_that_a_token_is_gone_to_by_its_number(opened: WindowStage) -> None:
    opened.trigger("goto_token")
    dialog = opened.work.travel.dialog
    opened.qtbot.keyClicks(dialog.number, "6")
    dialog.accept()
    assert selected(opened) == (5, None)
    assert opened.work.travel.dialog is None


def test_that_playing_goes_token_by_token_to_the_end_and_begins_again_there(opened: WindowStage) -> None:
    seen: list[Selection] = []
    opened.session.selection_changed.connect(seen.append)
    travel = opened.work.travel
    travel.set_speed(50)
    opened.trigger("play_recording")
    assert travel.is_playing
    opened.qtbot.waitUntil(lambda: not travel.is_playing, timeout=20_000)
    assert seen == [Selection(token) for token in range(1, TOKENS)]
    assert not opened.window.commands["play_recording"].isChecked()
    opened.trigger("play_recording")
    assert selected(opened) == (0, None)
    opened.trigger("play_recording")
    assert not travel.is_playing


def test_that_playing_stops_where_another_run_comes_on_show(opened: WindowStage) -> None:
    opened.trigger("play_recording")
    opened.session.show_trace(Trace.of(fake_run_events(4, run=1)))
    assert not opened.work.travel.is_playing


def test_that_speeds_are_chosen_by_keys_and_in_the_menu(opened: WindowStage) -> None:
    travel, button = opened.work.travel, opened.window.tools.replay
    assert travel.speed == 5
    opened.trigger("replay_faster")
    assert travel.speed == 10
    for _ in range(3):
        opened.trigger("replay_slower")
    assert travel.speed == 1
    assert not enabled(opened, "replay_slower")
    button.menu().actions()[-4].trigger()
    assert travel.speed == 50
    assert button.accessibleDescription() == "Plays 50 tokens a second"


def test_that_the_speed_is_that_of_the_last_launch_unless_the_settings_hold_nonsense(stage: WindowStage) -> None:
    stage.trigger("replay_faster")
    for stored, speed in (("10", 10), ("7", 5), ("-1", 5), ("9" * 30, 5), ("²", 5)):
        if stored != "10":
            stage.window.preferences._store.setValue("replay/speed", stored)
        stage.window.close()
        stage.open()
        assert stage.work.travel.speed == speed


def test_that_the_keys_of_a_debugger_go_both_ways(opened: WindowStage) -> None:
    opened.window.activateWindow()
    with opened.qtbot.waitActive(opened.window):
        pass  # a key reaches only the active window
    shift, control = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier
    for key, modifier, place in (
        (Qt.Key.Key_F10, Qt.KeyboardModifier.NoModifier, (1, None)),
        (Qt.Key.Key_F11, Qt.KeyboardModifier.NoModifier, (2, 0)),
        (Qt.Key.Key_F10, control, (2, None)),
        (Qt.Key.Key_F11, shift, (2, int(opened.session.trace.exit_layers[2]) - 2)),
        (Qt.Key.Key_F10, shift, (1, None)),
        (Qt.Key.Key_F10, control | shift, (0, None)),
    ):
        opened.qtbot.keyClick(opened.window, key, modifier)
        assert selected(opened) == place


def pictures(stage: WindowStage) -> list[QImage]:
    """The views in sight, once all that waits to be drawn is. Beside them a text cursor may blink."""
    stage.draw()
    for _ in range(3):  # what one round of events lays out, the next one paints
        QApplication.processEvents()
    return [view.grab().toImage() for view in stage.work.views.by_key.values() if not view.visibleRegion().isEmpty()]


def test_that_stepping_far_and_back_paints_the_same_pictures(stage: WindowStage) -> None:
    stage.session.show_trace(Trace.of(fake_run_events(FAR)))
    for token, layer in ((FAR - 1, None), (20, 3)):
        stage.session.select(Selection(token, layer))
        before = pictures(stage)
    assert len(before) >= 5
    for name in ("step_token", "step_token", "step_layer", "newest_token", "first_token"):
        stage.trigger(name)
        QApplication.processEvents()  # paints what has been marked so far
        assert not all(map(alike, pictures(stage), before))
    stage.window.tools.scrubber.moved.emit(FAR - 1)
    stage.session.select(Selection(20, 3))
    after = pictures(stage)
    assert [alike(*pair) for pair in zip(after, before, strict=True)] == [True] * len(before)
    stage.work._apply_theme(stage.window.theme)  # forgets what was painted
    assert [alike(*pair) for pair in zip(pictures(stage), after, strict=True)] == [True] * len(before)
