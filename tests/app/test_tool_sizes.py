"""No panel keeps the window from being as small as a small screen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.places import TOOLS, VIEWS
from tests.app.window_stage import WindowStage
from tests.tree_passes import TreePlan, tree_trace

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
