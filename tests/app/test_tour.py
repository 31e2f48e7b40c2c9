"""The tour: through every stop and back by keyboard, beside the panel that it tells of, and never in the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QTabBar
from pytestqt.qtbot import QtBot

from app.tour_card import beside
from app.tour_steps import STOPS, token_for
from core.analysis.summaries import Outcome, outcomes
from core.trace.trace import Trace
from tests.app.stage import TIMEOUT
from tests.app.window_stage import WindowStage
from tests.fakes import fake_run_events


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[WindowStage]:
    stage = WindowStage(qtbot)
    stage.window.resize(1280, 800)
    yield stage
    stage.window.close()


def begun(stage: WindowStage) -> None:
    stage.window.activateWindow()
    with stage.qtbot.waitActive(stage.window):
        stage.trigger("tour")
    stage.qtbot.waitUntil(lambda: stage.work.tour.stop is not None, timeout=TIMEOUT)


def shown(stage: WindowStage) -> QRect:
    """Where the panel of the stop is in the window."""
    stop = stage.work.tour.stop
    assert stop is not None
    panel = stage.window.panels[stop.place.key]
    return QRect(panel.mapTo(stage.window, QPoint()), panel.size())


def tabs(stage: WindowStage) -> QRect:
    """Where the tabs of that panel are."""
    panel = stage.window.panels[stage.work.tour.stop.place.key]
    for bar in stage.window.host.findChildren(QTabBar):
        if bar.isVisible() and panel.windowTitle() in [bar.tabText(at) for at in range(bar.count())]:
            return QRect(bar.mapTo(stage.window, QPoint()), bar.size())
    return QRect()


def test_that_the_tour_goes_through_the_views_and_back_by_keyboard_on_the_sample(stage: WindowStage) -> None:
    stage.work.window.preferences.desk.look = replace(stage.work.window.preferences.desk.look, still=True)
    begun(stage)
    tour = stage.work.tour
    assert stage.session.trace is not None
    assert tour.card is not None
    assert tour.frame is not None
    for stop in STOPS:
        assert tour.stop is stop
        assert stop.text == tour.card.text.text()
        assert stage.window.panels[stop.place.key].isVisible()
        assert tour.frame.geometry() == shown(stage)
        assert not tour.frame.is_moving, "nothing moves for who wants no motion"
        token = stage.session.selection.token
        assert token == token_for(stage.session.trace, stop)
        assert stage.window.rect().contains(tour.card.geometry())
        assert not tour.card.geometry().intersects(shown(stage).united(tabs(stage)))
        assert tour.card.next.hasFocus()
        if stop is STOPS[1]:
            stage.qtbot.keyClick(tour.card.next, Qt.Key.Key_Left)
            assert tour.stop is STOPS[0]
            stage.qtbot.keyClick(tour.card.next, Qt.Key.Key_Right)
        stage.qtbot.keyClick(tour.card.next, Qt.Key.Key_Return)
    assert tour.stop is None
    assert tour.card is None


def test_that_escape_ends_it_and_it_can_be_taken_again(stage: WindowStage) -> None:
    begun(stage)
    tour = stage.work.tour
    assert tour.card is not None
    stage.qtbot.keyClick(tour.card.next, Qt.Key.Key_Escape)
    assert tour.stop is None
    begun(stage)
    tour.forward()
    assert tour.frame is not None
    assert tour.frame.is_moving, "motion is allowed unless the settings say otherwise"
    stage.window.resize(1100, 720)
    stage.qtbot.waitUntil(lambda: tour.frame is not None and tour.frame.geometry() == shown(stage), timeout=TIMEOUT)
    stage.trigger("reset")
    assert tour.stop is None, "who takes the run away has seen enough"


def test_that_it_is_offered_once_and_not_while_something_is_loaded(stage: WindowStage) -> None:
    tour, focus = stage.work.tour, stage.window.prompt.text
    stage.loader.stuck = True
    stage.work.flow.open("fake")
    tour.offer()
    assert tour.offered is None, "not in front of a model that is being loaded"
    assert not stage.window.commands["tour"].isEnabled()
    stage.session.cancel_load()
    stage.qtbot.waitUntil(lambda: tour.offered is not None, timeout=TIMEOUT)
    assert tour.offered is not None
    assert stage.window.status.isAncestorOf(tour.offered), "where it covers no panel"
    assert not tour.offered.isAncestorOf(stage.window.focusWidget() or focus)
    tour.offered.decline.click()
    assert tour.offered is None
    tour.offer()
    assert tour.offered is None, "once is enough"
    assert stage.window.commands["tour"].isEnabled()


def test_that_each_stop_finds_a_token_in_any_run() -> None:
    trace = Trace.of(fake_run_events(8, audit=True))
    ends = outcomes(trace)
    for stop in STOPS:
        token = token_for(trace, stop)
        assert token is not None
        assert ends[token] in (stop.outcome, Outcome.EARLY_EXIT)
    assert token_for(Trace(), STOPS[0]) is None


@pytest.mark.parametrize(
    "panel", [QRect(0, 0, 300, 200), QRect(700, 0, 300, 200), QRect(0, 400, 1000, 200), QRect(300, 150, 400, 300)]
)
def test_that_the_card_stands_beside_the_panel_and_in_the_room(panel: QRect) -> None:
    room, size = QRect(0, 0, 1000, 600), QSize(280, 150)
    card = QRect(beside(panel, size, room), size)
    assert room.contains(card)
    assert not card.intersects(panel)
