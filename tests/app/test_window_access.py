"""The window by keyboard, for screen readers, and at every size: nothing unnamed, cut or covered."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QFrame,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QScrollBar,
    QTabBar,
    QToolButton,
    QWidget,
)

from app.form_values import FormValues
from app.places import PLACES
from app.run_state import RunState
from core.choices import Policy
from tests.app.window_stage import WindowStage


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
        assert len(set(keys)) == len(keys), (policy, "".join(sorted(keys)))


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


def test_that_whatever_tab_reaches_has_a_name(stage: WindowStage) -> None:
    for widget in stage.window.findChildren(QWidget):
        in_a_list = isinstance(widget.window(), QFrame)  # that a combo box opens
        unused = isinstance(widget, QTabBar) and not widget.count()  # that Qt keeps for docks to come
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and not in_a_list and not unused:
            reached = widget.focusProxy() or widget
            spoken = QAccessible.queryAccessibleInterface(reached).text(QAccessible.Text.Name)
            assert spoken, f"{reached} in {reached.parent()}"


def test_that_every_panel_has_its_own_object_name_and_key(stage: WindowStage) -> None:
    panels = stage.window.panels
    assert {panel.objectName() for panel in panels.values()} == set(panels) == {place.key for place in PLACES}
    keys = [panel.toggleViewAction().shortcut().toString() for panel in panels.values()]
    assert len(set(keys)) == len(keys)


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
