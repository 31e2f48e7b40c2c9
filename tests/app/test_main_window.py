"""The window in every state, with a real engine thread and a fake engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QScrollBar,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.form_values import FormValues
from app.loader import ModelMissing, ModelRequest
from app.model_form import LoadOptions
from app.parts_dialog import PartsDialog
from app.places import PLACES
from app.run_state import RunState
from core.config import Policy
from core.errors import UserError
from core.progress import Progress
from tests.app.window_stage import WindowStage
from tests.fakes import FakeEngine, FakeLoader
from widgets.selection import Selection

VIEWS = ("tokens", "exits", "scheduler", "candidates", "why")


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[WindowStage]:
    stage = WindowStage(qtbot)
    yield stage
    stage.window.close()
    assert not stage.session.is_running


def test_that_a_window_without_a_model_says_where_to_get_one(stage: WindowStage) -> None:
    assert stage.enabled() == set()
    assert not any(map(stage.shows, VIEWS))
    assert "Ctrl+D" in stage.window.panels["tokens"].empty.note.text()
    assert "no model" in stage.window.status.state.text()


def test_that_loading_shows_a_progress_line_that_can_be_cancelled(stage: WindowStage) -> None:
    stage.loader.stuck = True
    stage.work.flow.open("fake")
    stage.until_state(RunState.LOADING)
    progress = stage.window.status.progress
    stage.qtbot.waitUntil(lambda: "fake model" in progress.text.text())
    assert progress.isVisible()
    assert progress.bar.maximum() > 0
    progress.cancel.click()
    stage.until_state(RunState.NO_MODEL)
    assert not progress.isVisible()


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


def test_that_a_model_that_cannot_be_opened_is_told_in_one_sentence(stage: WindowStage) -> None:
    stage.loader.error = UserError("That folder holds no model; choose another.")
    stage.work.flow.open("bad")
    stage.until_state(RunState.FAILED)
    stage.qtbot.waitUntil(lambda: len(stage.errors()) == 1)
    assert stage.errors()[0].sentence.text() == "That folder holds no model; choose another."
    assert stage.window.panels["tokens"].empty.headline.text() == "The model could not be opened."
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


def test_that_floating_and_hidden_panels_are_remembered_and_reset_puts_them_back(qtbot: QtBot) -> None:
    stage = WindowStage(qtbot)
    stage.window.panels["why"].header.float_button.click()
    stage.window.panels["exits"].header.hide_button.click()
    assert stage.window.panels["why"].isFloating()
    stage.window.close()
    window = stage.open()
    assert window.panels["why"].isFloating()
    assert window.panels["exits"].isHidden()
    stage.trigger("reset_layout")
    assert not window.panels["why"].isFloating()
    assert all(panel.isVisible() for panel in window.panels.values())
    window.close()


def test_that_prompt_and_settings_are_there_again_at_the_next_launch(qtbot: QtBot) -> None:
    stage = WindowStage(qtbot)
    stage.window.prompt.text.setPlainText("What is a layer?")
    stage.window.form.exits.threshold.setValue(0.83)
    stage.window.form.model.threads.setValue(1)
    stage.window.close()
    window = stage.open()
    assert window.prompt.text.toPlainText() == "What is a layer?"
    assert window.form.exits.threshold.value() == 0.83
    assert window.form.load_options() == LoadOptions(threads=1)
    window.close()


def test_that_a_model_without_parts_does_not_make_the_user_forget_specee(qtbot: QtBot) -> None:
    stage = WindowStage(qtbot, FakeLoader(has_parts=False))
    stage.load()
    assert stage.window.form.settings(True).policy is Policy.DENSE
    stage.window.close()
    stage.loader.has_parts = True
    stage.open()
    stage.load()
    assert stage.window.form.settings(True).policy is Policy.SPECEE_T1T2
    stage.window.close()


def test_that_a_missing_model_is_offered_before_anything_is_downloaded(stage: WindowStage) -> None:
    stage.loader.error = ModelMissing("smollm2-135m-instruct", 93_000_000, "Apache-2.0")
    stage.work.flow.open("smollm2-135m-instruct")
    stage.qtbot.waitUntil(lambda: stage.work.flow.dialog is not None)
    dialog = stage.work.flow.dialog
    assert dialog is not None
    assert [request.fetch for request in stage.loader.requests] == [False]
    assert stage.errors() == []
    stage.loader.error = UserError("There is no network; try again later.")
    dialog.download.click()
    stage.qtbot.waitUntil(lambda: "no network" in dialog.note.text())
    assert stage.errors() == []
    stage.loader.error = None
    dialog.download.click()
    stage.until_state(RunState.READY)
    assert stage.work.flow.dialog is None
    assert [request.fetch for request in stage.loader.requests] == [False, True, True]


def test_that_an_unforeseen_failure_of_a_download_comes_with_its_details(stage: WindowStage) -> None:
    stage.loader.error = ModelMissing("smollm2-135m-instruct", 93_000_000, "Apache-2.0")
    stage.work.flow.open("smollm2-135m-instruct")
    stage.qtbot.waitUntil(lambda: stage.work.flow.dialog is not None)
    stage.loader.error = ValueError("a tensor of no shape")
    assert stage.work.flow.dialog is not None
    stage.work.flow.dialog.download.click()
    stage.qtbot.waitUntil(lambda: bool(stage.errors()))
    assert "a tensor of no shape" in stage.errors()[0].details.toPlainText()
    assert stage.work.flow.dialog.download.isVisible()
    stage.errors()[0].close()


def test_that_cancelling_a_download_offers_the_choice_again(stage: WindowStage) -> None:
    stage.loader.error = ModelMissing("far/away", None, "")
    stage.work.flow.open("far/away")
    stage.qtbot.waitUntil(lambda: stage.work.flow.dialog is not None)
    dialog = stage.work.flow.dialog
    assert dialog is not None
    stage.loader.error, stage.loader.stuck = None, True
    dialog.download.click()
    stage.until_state(RunState.LOADING)
    dialog.progress.cancel.click()
    stage.until_state(RunState.NO_MODEL)
    assert dialog.download.isVisible()
    dialog.later.click()
    assert not dialog.isVisible()


def test_that_opened_models_are_remembered_and_offered_again(stage: WindowStage) -> None:
    stage.work.flow.open("some/model")
    stage.until_state(RunState.READY)
    assert stage.window.preferences.model == "some/model"
    stage.window.recent.aboutToShow.emit()
    action = stage.window.recent.actions()[0]
    assert action.text() == "some/model"
    action.trigger()
    stage.until_state(RunState.READY)
    assert [request.ref for request in stage.loader.requests] == ["some/model", "some/model"]


def test_that_reload_uses_the_chosen_threads(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    stage = WindowStage(qtbot)
    stage.load()
    stage.window.form.model.threads.setValue(1)
    assert "Reload" in stage.window.form.model.note.text()
    stage.window.form.model.reload.click()
    stage.until_state(RunState.READY)
    assert stage.loader.requests[-1] == ModelRequest("fake", threads=1)
    assert stage.window.form.model.note.text() == ""


def test_that_the_parts_action_says_how_to_train_where_there_are_none(qtbot: QtBot) -> None:
    stage = WindowStage(qtbot, FakeLoader(has_parts=False))
    stage.load()
    stage.trigger("parts")
    dialog = stage.window.findChild(PartsDialog)
    assert dialog is not None
    assert "specee-viewer train" in dialog.note.text()
    dialog.close()
    stage.window.close()


def test_that_no_two_visible_labels_share_a_key(stage: WindowStage) -> None:
    stage.load()
    stage.window.form.set_unfolded(["scheduler", "sampling", "model"])
    for policy in Policy:
        stage.window.form.set_values(FormValues(policy=policy))
        texts = [action.text() for action in stage.window.menuBar().actions()]
        kinds = (QLabel, QAbstractButton)
        for kind in kinds:
            texts += [
                one.text() for one in stage.window.findChildren(kind) if one.isVisible() and "<" not in one.text()
            ]
        keys = [text[text.index("&") + 1].lower() for text in texts if "&" in text]
        assert len(set(keys)) == len(keys), (policy, sorted(keys))


def test_that_the_prompt_is_as_high_as_the_tokens_and_the_engine_gets_the_rest(stage: WindowStage) -> None:
    stage.window.resize(1280, 800)
    panels = stage.window.panels
    stage.qtbot.waitUntil(lambda: abs(panels["prompt"].height() - panels["tokens"].height()) <= 2)
    assert panels["settings"].height() > 2 * panels["prompt"].height()


def test_that_every_input_has_a_name_for_a_screen_reader(stage: WindowStage) -> None:
    kinds = (QAbstractButton, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit, QPlainTextEdit)
    for widget in stage.window.findChildren(QWidget):
        is_part = isinstance(widget.parent(), QAbstractSpinBox | QComboBox) or isinstance(widget, QScrollBar)
        if isinstance(widget, kinds) and not is_part and not widget.objectName().startswith("qt_"):
            spoken = QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name)
            assert spoken, f"{widget} in {widget.parent()}"


def test_that_every_panel_has_its_own_object_name_and_key(stage: WindowStage) -> None:
    panels = stage.window.panels
    assert {panel.objectName() for panel in panels.values()} == set(panels) == {place.key for place in PLACES}
    keys = [panel.toggleViewAction().shortcut().toString() for panel in panels.values()]
    assert len(set(keys)) == len(keys)


def test_that_progress_of_loading_stands_where_the_tokens_will(stage: WindowStage) -> None:
    stage.session.progressed.emit(Progress("Reading the weights", 3, 30, "layers"))
    assert stage.window.panels["tokens"].empty.headline.text() == "Reading the weights · 3 of 30 layers"


@pytest.mark.parametrize("width", [1100, 1240, 1280, 1520])
def test_that_the_scrubber_stays_in_sight_and_nothing_moves_when_run_becomes_continue(
    width: int, stage: WindowStage
) -> None:
    stage.loader.name = "SmolLM2-135M-Instruct"
    stage.load()
    stage.window.resize(width, 800)
    tools = stage.window.tools
    stage.qtbot.waitUntil(lambda: tools.width() == width)
    stage.qtbot.wait(50)  # the buttons take their new places
    stop = next(button for button in tools.findChildren(QToolButton) if button.text() == "Stop")
    before = stop.geometry()
    stage.trigger("step_token")
    stage.until_held()
    stage.qtbot.wait(20)
    assert tools.run.text() == "Continue"
    assert stop.geometry() == before
    assert tools.scrubber.isVisible()
    assert tools.scrubber.geometry().right() < width
    stage.trigger("stop")
    stage.until_state(RunState.FINISHED)


def test_that_a_sentence_under_the_prompt_lies_over_nothing_in_a_low_window(stage: WindowStage) -> None:
    stage.load()
    stage.window.resize(1280, 800)
    stage.window.prompt.text.setPlainText("")
    stage.trigger("run")
    prompt = stage.window.prompt
    stage.qtbot.waitUntil(prompt.note.isVisible)
    stage.qtbot.wait(50)
    assert prompt.text.geometry().bottom() < prompt.note.geometry().top()
    assert prompt.note.geometry().bottom() < prompt.run.geometry().top()
