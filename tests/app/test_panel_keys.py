"""The panels' keys: one press brings any panel into sight, however it was out of it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from app.places import BREAKPOINTS, EXITS, LEDGER, TOKENS, TREE, WHY, Place
from tests.app.stage import TIMEOUT
from tests.app.window_stage import WindowStage


def press(stage: WindowStage, place: Place) -> bool:
    """Whether the panel is in sight after its key."""
    stage.trigger(f"panel_{place.key}")
    QApplication.processEvents()
    return not stage.window.panels[place.key].visibleRegion().isEmpty()


@pytest.mark.parametrize("place", [BREAKPOINTS, TREE, LEDGER])
def test_that_a_panel_behind_others_comes_to_the_front_at_once(stage: WindowStage, place: Place) -> None:
    assert stage.window.panels[place.key].visibleRegion().isEmpty()
    assert press(stage, place)
    assert not press(stage, place)
    assert press(stage, place)


def test_that_a_panel_in_front_is_closed_and_comes_back_in_front_of_the_others(stage: WindowStage) -> None:
    assert not press(stage, WHY)
    assert press(stage, LEDGER)
    assert press(stage, WHY)
    assert stage.window.panels[LEDGER.key].visibleRegion().isEmpty()


def test_that_a_panel_that_came_to_the_front_has_the_focus(stage: WindowStage) -> None:
    stage.window.activateWindow()
    stage.load()
    stage.finish()
    assert not press(stage, EXITS)
    assert press(stage, EXITS)
    panel = stage.window.panels[EXITS.key]
    stage.qtbot.waitUntil(lambda: panel.isAncestorOf(QApplication.focusWidget()), timeout=TIMEOUT)


def test_that_a_panels_key_gives_the_focus_to_one_in_sight_and_hides_only_the_one_that_has_it(
    stage: WindowStage,
) -> None:
    stage.window.activateWindow()
    stage.qtbot.waitUntil(stage.window.isActiveWindow, timeout=TIMEOUT)
    stage.load()
    stage.finish()
    stage.window.panels[TOKENS.key].view.setFocus()  # type: ignore[union-attr]
    panel = stage.window.panels[EXITS.key]
    stage.qtbot.keyClick(stage.window, Qt.Key.Key_4, Qt.KeyboardModifier.ControlModifier)
    assert panel.isVisible()
    assert panel.isAncestorOf(QApplication.focusWidget())
    stage.qtbot.keyClick(stage.window, Qt.Key.Key_4, Qt.KeyboardModifier.ControlModifier)
    assert panel.isHidden()


def test_that_a_panel_that_has_nothing_to_show_yet_gets_the_focus_once_it_has(stage: WindowStage) -> None:
    stage.window.activateWindow()
    stage.qtbot.waitUntil(stage.window.isActiveWindow, timeout=TIMEOUT)
    panel = stage.window.panels[EXITS.key]
    assert not press(stage, EXITS)
    assert press(stage, EXITS)
    assert panel.is_empty
    stage.load()
    stage.finish()
    stage.qtbot.waitUntil(lambda: panel.isAncestorOf(QApplication.focusWidget()), timeout=TIMEOUT)


def test_that_another_layout_leaves_the_focus_somewhere(stage: WindowStage) -> None:
    stage.window.activateWindow()
    stage.qtbot.waitUntil(stage.window.isActiveWindow, timeout=TIMEOUT)
    stage.window.prompt.text.setFocus()
    for name in ("tree", "teaching", "compare"):
        stage.trigger(f"layout_{name}")
        stage.qtbot.waitUntil(lambda: QApplication.focusWidget() is not None, timeout=TIMEOUT)
