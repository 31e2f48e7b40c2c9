"""What the window remembers from one launch to the next."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from app.layouts import FIRST
from app.model_form import LoadOptions
from core.choices import Policy
from tests.app.window_stage import WindowStage
from tests.fakes import FakeLoader


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
    assert {key for key, panel in window.panels.items() if panel.isVisible()} == FIRST.shown
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
