"""How the user gets a model: menus, dialogs, progress, and what is remembered of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from app.loader import ModelMissing, ModelRequest
from app.parts_dialog import PartsDialog
from app.run_state import RunState
from app.text_dialog import TextDialog
from core.errors import UserError
from core.progress import Progress
from tests.app.window_stage import WindowStage
from tests.fakes import FakeLoader


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


def test_that_a_model_that_cannot_be_opened_is_told_in_one_sentence(stage: WindowStage) -> None:
    stage.loader.error = UserError("That folder holds no model; choose another.")
    stage.work.flow.open("bad")
    stage.until_state(RunState.FAILED)
    stage.qtbot.waitUntil(lambda: len(stage.errors()) == 1)
    assert stage.errors()[0].sentence.text() == "That folder holds no model; choose another."
    assert stage.window.panels["tokens"].empty.headline.text() == "The model could not be opened."
    stage.errors()[0].close()


def test_that_a_model_of_the_hub_is_opened_by_its_id_alone(stage: WindowStage) -> None:
    stage.trigger("open_hub")
    dialog = next(one for one in stage.window.findChildren(TextDialog) if one.isVisible())
    dialog.text.setText("  ")
    assert not dialog.go.isEnabled(), "spaces name nothing"
    dialog.text.setText(" owner/name ")
    dialog.go.click()
    stage.until_state(RunState.READY)
    assert [request.ref for request in stage.loader.requests] == ["owner/name"]


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


def test_that_a_file_can_be_chosen_after_a_model_whose_name_is_too_long_for_a_file(
    stage: WindowStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.window.preferences.remember_model("the quick brown fox " * 40)
    asked: list[str] = []
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *given: (asked.append(given[2]), ("", ""))[1])
    stage.window.commands["open_gguf"].trigger()
    assert asked == [str(Path.home())]


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


def test_that_progress_of_loading_stands_where_the_tokens_will(stage: WindowStage) -> None:
    stage.session.progressed.emit(Progress("Reading the weights", 3, 30, "layers"))
    assert stage.window.panels["tokens"].empty.headline.text() == "Reading the weights · 3 of 30 layers"
