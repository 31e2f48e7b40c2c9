"""No panel keeps the window from being as small as a small screen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QCoreApplication
from pytestqt.qtbot import QtBot

from app.places import TOOLS, VIEWS
from tests.app.window_stage import WindowStage
from tests.tree_passes import TreePlan, tree_trace
from widgets.selection import Selection

WIDEST, HIGHEST = 290, 250
"""Pixels: so many panels stand beside and above each other at 1280 × 720 in the first layout."""


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[WindowStage]:
    stage = WindowStage(qtbot)
    yield stage
    stage.window.close()


def test_that_every_panels_view_can_be_small(stage: WindowStage) -> None:
    stage.session.show_trace(tree_trace(TreePlan(), TreePlan()))
    for place in TOOLS:
        stage.work.rack.tool(place)
    stage.draw()
    views = {place.key: stage.window.panels[place.key].view for place in (*VIEWS, *TOOLS)}
    sizes = {key: view.minimumSizeHint() for key, view in views.items() if view is not None}
    too_large = {key: size for key, size in sizes.items() if size.width() > WIDEST or size.height() > HIGHEST}
    assert not too_large


def test_that_a_narrow_tree_keeps_the_window_on_a_small_screen(stage: WindowStage) -> None:
    stage.session.show_trace(tree_trace(TreePlan(), TreePlan()))
    stage.session.select(Selection(2))
    stage.window.resize(1280, 720)
    for key in ("tree", "ledger", "marks"):
        stage.window.panels[key].raise_()
        stage.draw()
        stage.work.rack.flush()
    QCoreApplication.processEvents()
    assert not stage.window.panels["tree"].is_empty
    assert stage.window.height() <= 720
