from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from core.analysis.tree_figure import Stage, TreeFigure
from tests.core.handmade import DEPTH
from tests.tree_passes import JUDGED, TreePlan, tree_trace
from tests.widgets.tree_stage import tree_of
from widgets import motion
from widgets.tree_player import JUDGED_MS, SILENT_MS, TreePlayer


class Follower:
    """A player whose wishes are granted at once."""

    def __init__(self, qtbot: QtBot, figure: TreeFigure, layer: int) -> None:
        self.player, self.figure = TreePlayer(), figure
        qtbot.addWidget(self.player)
        self.asked: list[int] = []
        self.player.layer_wanted.connect(self._follow)
        self.player.show_layer(figure, layer)

    def _follow(self, layer: int) -> None:
        self.asked.append(layer)
        self.player.show_layer(self.figure, layer)


@pytest.fixture
def follower(qtbot: QtBot) -> Follower:
    return Follower(qtbot, tree_of(TreePlan(refused=(18,))), 23)


def test_that_playing_from_the_end_begins_just_before_the_first_predictor_and_stops_at_the_exit(
    follower: Follower,
) -> None:
    player = follower.player
    player.play_button.click()
    assert player.is_playing
    for _ in range(100):
        player.advance()
    assert not player.is_playing
    assert follower.asked == list(range(JUDGED[0] - 1, 24))


def test_that_playing_from_the_middle_goes_on_from_there(qtbot: QtBot) -> None:
    follower = Follower(qtbot, tree_of(TreePlan()), 20)
    follower.player.play()
    follower.player.advance()
    assert follower.asked == [20, 21]


def test_that_a_layer_with_something_to_read_stays_longer(follower: Follower) -> None:
    follower.player.play()
    assert follower.player.timer.interval() == SILENT_MS
    follower.player.advance()
    assert follower.player.timer.interval() == JUDGED_MS


def test_that_the_button_stops_what_it_started(follower: Follower) -> None:
    for playing in (True, False):
        follower.player.play_button.click()
        assert follower.player.is_playing is playing
        assert follower.player.play_button.accessibleName().startswith("Stop" if playing else "Play")


def test_that_another_pass_stops_the_playing(follower: Follower) -> None:
    follower.player.play()
    follower.player.show_layer(None, -1)
    assert not follower.player.is_playing


def test_that_the_slider_asks_for_its_layer_and_only_the_layers_that_ran_can_be_reached(
    follower: Follower, qtbot: QtBot
) -> None:
    slider = follower.player.slider
    assert (slider.minimum(), slider.maximum()) == (1, 24)
    qtbot.keyClick(slider, Qt.Key.Key_Left)
    assert follower.asked == [22]


def test_that_every_layer_is_named_with_its_stage_and_the_counts_stay(follower: Follower) -> None:
    counts = follower.player.counts.text()
    follower.player.slider.setValue(19)
    assert follower.player.stage.text().startswith("layer 19 of 30")
    assert "refused" in follower.player.stage.text()
    assert follower.player.stage.accessibleDescription() == follower.player.stage.text()
    assert follower.player.counts.text() == counts
    assert "6 hyper-tokens" in counts


def test_that_a_pass_that_has_not_begun_cannot_be_played(qtbot: QtBot) -> None:
    from core.analysis.tree_view import tree_figure
    from core.trace.events import TreeLayerRun
    from core.trace.trace import Trace

    events = tree_trace(TreePlan(exit_layer=DEPTH)).events
    cut = next(i for i, event in enumerate(events) if isinstance(event, TreeLayerRun))
    figure = tree_figure(Trace.of(events[:cut]), 1)
    assert figure is not None
    player = Follower(qtbot, figure, -1).player
    assert not player.play_button.isEnabled()
    assert "not run yet" in player.stage.text()


def test_that_where_nothing_may_move_play_goes_to_the_next_layer_with_something_to_read(follower: Follower) -> None:
    motion.keep_still(True)
    try:
        for _ in range(3):
            follower.player.play_button.click()
            assert not follower.player.is_playing
    finally:
        motion.keep_still(False)
    judged = [at for at in range(24) if follower.figure.stage(at) is not Stage.SILENT]
    assert follower.asked == judged[:3]
