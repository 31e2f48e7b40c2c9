"""The window in every state of a run, with a real engine thread and a fake engine."""

from __future__ import annotations

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.failure import Failure
from app.run_state import RunState
from tests.app.window_stage import WindowStage
from tests.fakes import FakeEngine, FakeLoader
from widgets.selection import Selection

VIEWS = ("tokens", "exits", "scheduler", "candidates", "why")


def test_that_a_window_without_a_model_says_where_to_get_one(stage: WindowStage) -> None:
    assert stage.enabled() == set()
    assert not any(map(stage.shows, VIEWS))
    assert "Ctrl+D" in stage.window.panels["tokens"].empty.note.text()
    assert "no model" in stage.window.status.state.text()


def test_that_a_loaded_model_is_named_and_can_be_run(stage: WindowStage) -> None:
    stage.load()
    assert stage.enabled() == {"run", "step_token", "step_layer"}
    assert "fake · float32 · CPU, 1 thread" in stage.window.status.model.text()
    assert stage.window.windowTitle().startswith("fake")
    assert "F5" in stage.window.panels["tokens"].empty.headline.text()


def test_that_a_run_under_way_can_be_paused_and_stopped_but_not_started_again(stage: WindowStage) -> None:
    stage.load(FakeEngine(stuck_at=30))
    stage.trigger("run")
    stage.qtbot.waitUntil(stage.loader.engine.stuck.is_set)
    stage.qtbot.waitUntil(lambda: stage.session.trace is not None)
    assert stage.enabled() == {"pause", "stop", "reset"}
    assert not stage.window.prompt.run.isEnabled()
    assert stage.window.panels["settings"].header.subtitle.text() == "changes apply to the next run"
    stage.trigger("stop")
    stage.until_state(RunState.FINISHED)


def test_that_a_paused_run_goes_on_by_run_or_by_steps_and_tells_where_it_is_held(stage: WindowStage) -> None:
    stage.load()
    stage.trigger("step_token")
    stage.until_held()
    assert stage.enabled() == {"run", "step_token", "step_layer", "stop", "reset"}
    assert stage.window.commands["run"].text() == "&Continue"
    stage.qtbot.waitUntil(lambda: "after token 1" in stage.window.status.state.text())
    stage.trigger("step_layer")
    stage.until_held()
    assert stage.session.trace is not None
    assert stage.session.trace.records[-1].layers_run == 1
    stage.trigger("run")
    stage.until_state(RunState.FINISHED)


def test_that_a_finished_run_is_in_every_view_and_in_the_figures(stage: WindowStage) -> None:
    stage.load(FakeEngine(tokens=12))
    stage.finish()
    assert all(map(stage.shows, VIEWS))
    assert stage.enabled() == {"run", "step_token", "step_layer", "reset"}
    assert stage.window.tools.scrubber.label.text() == "token 12 / 12"
    assert "tokens/s" in stage.window.status.speed.text()
    assert "mean exit" in stage.window.status.exit.text()
    assert "/ 12" in stage.window.status.exit.text()
    assert "layers watched" in stage.window.status.active.text()
    assert "max new tokens" in stage.window.status.state.text()
    assert "Token 12" in stage.work.views.why.text()


def test_that_reset_takes_the_run_away_and_keeps_prompt_and_model(stage: WindowStage) -> None:
    stage.load()
    stage.window.prompt.text.setPlainText("kept")
    stage.finish()
    stage.trigger("reset")
    assert not any(map(stage.shows, VIEWS))
    assert stage.enabled() == {"run", "step_token", "step_layer"}
    assert stage.window.prompt.text.toPlainText() == "kept"
    assert stage.window.status.exit.text() == ""
    assert stage.window.tools.scrubber.label.text() == "no tokens"


def test_that_an_exception_in_the_engine_becomes_a_dialog_with_details_and_a_usable_window(stage: WindowStage) -> None:
    stage.load(FakeEngine(error=ValueError("index 31 is out of range"), error_at=40))
    stage.trigger("run")
    stage.until_state(RunState.FAILED)
    stage.qtbot.waitUntil(lambda: len(stage.errors()) == 1)
    assert "index 31 is out of range" in stage.errors()[0].details.toPlainText()
    stage.errors()[0].close()
    stage.draw()
    assert stage.shows("tokens")
    stage.loader.engine.error = None
    stage.finish()


def test_that_what_a_dialog_says_already_opens_no_second_one(stage: WindowStage) -> None:
    for sentence in ("The file is damaged.", "The file is damaged.", "The disk is full.", "The file is damaged."):
        stage.session.failed.emit(Failure(sentence, "", True))
    assert sorted(error.sentence.text() for error in stage.errors()) == ["The disk is full.", "The file is damaged."]
    for error in stage.errors():
        error.close()
    stage.session.failed.emit(Failure("The file is damaged.", "", True))
    assert len(stage.errors()) == 1, "closed and met again, it is told again"
    stage.errors()[0].close()


def test_that_an_empty_prompt_is_refused_beside_the_prompt_and_nothing_runs(stage: WindowStage) -> None:
    stage.load()
    stage.window.prompt.text.setPlainText("  \n")
    stage.trigger("run")
    assert stage.session.state is RunState.READY
    assert stage.loader.engine.asked == []
    assert stage.window.prompt.note.isVisible()
    stage.window.prompt.text.setPlainText("a")
    assert not stage.window.prompt.note.isVisible()


def test_that_ctrl_enter_runs_what_is_written(stage: WindowStage) -> None:
    stage.load()
    stage.window.prompt.text.setPlainText("Why?")
    stage.qtbot.keyClick(stage.window.prompt.text, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    stage.until_state(RunState.FINISHED)
    assert stage.loader.engine.asked == [("Why?", 0)]


def test_that_one_selection_is_shared_by_scrubber_keys_and_views(stage: WindowStage) -> None:
    stage.load(FakeEngine(tokens=8))
    stage.finish()
    stage.window.tools.scrubber.slider.setValue(3)
    assert stage.session.selection == Selection(3)
    stage.trigger("next_token")
    assert stage.session.selection == Selection(4)
    stage.work.views.scheduler.selected.emit(Selection(5, 2))
    stage.draw()
    assert stage.window.tools.scrubber.slider.value() == 5
    assert "Layer 3" in stage.work.views.why.text()
    stage.trigger("previous_token")
    assert stage.session.selection == Selection(4, 2)
    stage.trigger("newest_token")
    assert stage.session.selection == Selection(7)
    assert not stage.window.commands["next_token"].isEnabled()


def test_that_a_hidden_panel_catches_up_when_it_is_shown_again(stage: WindowStage) -> None:
    stage.window.panels["exits"].close()
    stage.load(FakeEngine(tokens=7))
    stage.finish()
    assert len(stage.work.views.exits.series.exit_layers) == 0
    stage.window.commands["panel_exits"].trigger()
    stage.draw()
    assert len(stage.work.views.exits.series.exit_layers) == 7


def test_that_a_dense_run_says_why_scheduler_and_candidates_are_empty(stage: WindowStage) -> None:
    stage.loader.has_parts = False
    stage.load()
    stage.finish()
    assert not stage.shows("scheduler")
    assert "dense" in stage.work.views.curves.message.lower()
    assert stage.shows("exits")


def test_that_closing_in_the_middle_of_a_layer_ends_the_run_and_the_thread(qtbot: QtBot) -> None:
    stage = WindowStage(qtbot)
    stage.load(FakeEngine(stuck_at=30))
    stage.trigger("run")
    qtbot.waitUntil(stage.loader.engine.stuck.is_set)
    assert stage.window.close()
    assert not stage.window.isVisible()


def test_that_closing_while_a_model_is_loading_ends_the_thread(qtbot: QtBot) -> None:
    stage = WindowStage(qtbot, FakeLoader(stuck=True))
    stage.work.flow.open("fake")
    qtbot.waitUntil(stage.loader.started.is_set)
    assert stage.window.close()
