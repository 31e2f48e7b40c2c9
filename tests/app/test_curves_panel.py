"""While a run is at full speed curves come in several turns: their picture, what else the plot has, the words."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.curves_panel import CurvesPanel
from app.foreseen import Foreseen
from app.panel import Panel
from app.places import CURVES
from core.trace.trace import Trace
from tests.fakes import fake_run_events
from widgets.palette import DARK
from widgets.probability_curves import ProbabilityCurvesView
from widgets.throttle import Throttle

TRACE = Trace.of(fake_run_events(7))
NEWEST = 6


class Stage:
    """The panel with its view, and the throttle that gives the turns."""

    def __init__(self, qtbot: QtBot) -> None:
        self.panel, self.view, self.throttle = Panel(CURVES), ProbabilityCurvesView(), Throttle()
        qtbot.addWidget(self.panel)
        self.panel.show_view(self.view)
        self.drawer = CurvesPanel(self.view, self.panel, self.throttle, Foreseen())

    def draw(self, token: int) -> None:
        self.drawer.draw(TRACE, TRACE.records[token], None, DARK)

    def shown(self) -> int | None:
        return None if self.view.curves is None else self.view.curves.token


@pytest.fixture
def stage(qtbot: QtBot) -> Stage:
    return Stage(qtbot)


def test_that_curves_are_shown_at_once_unless_a_run_is_at_full_speed(stage: Stage) -> None:
    stage.draw(NEWEST)
    assert stage.shown() == NEWEST
    assert stage.throttle.idle


def test_that_a_run_at_full_speed_shows_its_newest_in_turns_and_the_words_in_the_last(stage: Stage) -> None:
    stage.throttle.set_calm(True)
    stage.draw(NEWEST)
    turns = 0
    while stage.shown() is None:
        stage.throttle.tick()
        turns += 1
    assert turns > 2
    assert stage.shown() == NEWEST
    assert stage.panel.header.subtitle.text() == ""
    stage.throttle.tick()
    assert stage.panel.header.subtitle.text().startswith("token 7")
    assert stage.throttle.idle


def test_that_the_plot_comes_before_its_first_curves_with_the_axes_they_will_have(stage: Stage) -> None:
    stage.throttle.set_calm(True)
    stage.draw(NEWEST)
    while stage.view.message:
        stage.throttle.tick()
    assert stage.shown() is None
    ahead = stage.view.view.viewRange(), stage.view.y_axis.range
    stage.throttle.flush()
    while not stage.throttle.idle:
        stage.throttle.flush()
    assert stage.shown() == NEWEST
    assert (stage.view.view.viewRange(), stage.view.y_axis.range) == ahead


def test_that_what_is_left_comes_in_one_turn_once_the_run_is_held(stage: Stage) -> None:
    stage.throttle.set_calm(True)
    stage.draw(NEWEST)
    stage.throttle.set_calm(False)
    stage.throttle.tick()
    assert stage.shown() == NEWEST
    assert stage.panel.header.subtitle.text().startswith("token 7")
    assert stage.throttle.idle


def test_that_what_waits_is_not_shown_over_what_came_later(stage: Stage) -> None:
    stage.throttle.set_calm(True)
    stage.draw(NEWEST)
    stage.draw(2)  # which the user chose
    assert stage.shown() == 2
    stage.throttle.flush()
    assert stage.shown() == 2
    stage.draw(NEWEST)
    stage.drawer.clear()
    stage.throttle.flush()
    assert stage.shown() is None
