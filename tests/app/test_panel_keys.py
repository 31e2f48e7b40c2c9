"""The panels' keys: one press brings any panel into sight, however it was out of it."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication

from app.places import BREAKPOINTS, EXITS, LEDGER, TREE, WHY, Place
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
