"""A plot that takes in a run in turns shows in the end what one shows that gets all of it at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from PySide6.QtCore import QPointF, QRect
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.analysis.summaries import ExitSeries, Outcome, SchedulerMap, running_mean
from core.trace.overview import CellState
from tests.widgets.plots import DEPTH, alike, part, shown
from widgets.exit_chart import ExitChart
from widgets.palette import LIGHT
from widgets.plot_items import PixelItem
from widgets.scheduler_map import SchedulerMapView
from widgets.selection import Selection

Plot = ExitChart | SchedulerMapView
SIZE = 571, 253  # no edge lies on the middle of a pixel, where the last bit of a number would move it


def give(plot: Plot, count: int, first: int = 0, depth: int = DEPTH, low: int = 12) -> None:
    """So many tokens, with marks of all kinds; those before the 0-based `first` are as they were."""
    layers = low + (np.arange(count) * 7) % (depth - low + 1)
    if isinstance(plot, ExitChart):
        outcomes = (np.arange(count) % 5 + 1).astype(np.uint8)
        outcomes[:1] = Outcome.PREFILL
        plot.set_series(ExitSeries(layers, outcomes, running_mean(layers), depth), first)
        return
    states = np.random.default_rng(0).integers(0, 8, (count, depth)).astype(np.uint8)
    states[:, : low - 1] = 0
    states[np.arange(count), layers - 1] |= np.uint8(CellState.EXITED)
    states[::3, low] |= np.uint8(CellState.REFUSED)
    plot.set_map(SchedulerMap(first, states[first:]))


@pytest.fixture(params=[ExitChart, SchedulerMapView])
def plot(request: pytest.FixtureRequest, qtbot: QtBot) -> Plot:
    return made(request.param, qtbot)


def held(plot: Plot, count: int, first: int = 12) -> Iterator[None]:
    """Hold, data, two turns of drawing, release, with a pause between each two."""
    plot.hold()
    yield
    give(plot, count, first)
    yield
    for _ in plot.prepare():
        yield
    yield
    plot.release()


RELEASE = 3
"""The pause before the release, counted from 0."""


def made(kind: type[Plot], qtbot: QtBot) -> Plot:
    plot = kind()
    shown(qtbot, plot, *SIZE)
    with qtbot.waitExposed(plot):
        plot.show()
    give(plot, 12)
    on_screen(plot)
    return plot


def on_screen(plot: Plot) -> QImage:
    """What the screen shows of the plot's canvas, which is the old where nobody has asked for a painting."""
    for _ in range(3):
        QApplication.processEvents()
    picture = plot.screen().grabWindow(plot.winId()).toImage().convertToFormat(QImage.Format.Format_RGB32)
    return picture.copy(plot.canvas.geometry())


def everything(plot: Plot) -> QRect:
    return plot.canvas.viewport().rect()


def assert_like_one_set_at_once(plot: Plot, qtbot: QtBot, count: int, depth: int = DEPTH, low: int = 12) -> None:
    seen, fresh = on_screen(plot), type(plot)()
    shown(qtbot, fresh, *SIZE)
    fresh.resize(plot.size())
    fresh.apply_theme(plot.theme)
    with qtbot.waitExposed(fresh):
        fresh.show()
    give(fresh, count, depth=depth, low=low)
    fresh.set_selection(plot.selection)
    if not plot.following:
        fresh.following = False
        fresh.view.setXRange(*plot.view.viewRange()[0], padding=0)
    assert alike(seen, on_screen(fresh))
    assert alike(part(plot, everything(plot)), part(fresh, everything(fresh)))


@pytest.mark.parametrize("count", [13, 20, 40])
def test_that_a_held_plot_shows_nothing_new_before_its_release_and_all_of_it_then(
    plot: Plot, qtbot: QtBot, count: int
) -> None:
    before = on_screen(plot)
    for _ in held(plot, count):
        assert alike(on_screen(plot), before)
    assert_like_one_set_at_once(plot, qtbot, count)


@pytest.mark.parametrize("count", [13, 40, 900])
def test_that_what_was_prepared_is_not_drawn_again_when_it_is_released(
    plot: Plot, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    drawn: list[PixelItem] = []
    for at, _ in enumerate(held(plot, count)):
        if at == RELEASE:
            for item in plot._stack.items:
                if not item.moving:
                    monkeypatch.setattr(item, "draw", lambda *_, item=item: drawn.append(item))
    on_screen(plot)
    assert drawn == []


@pytest.mark.parametrize(
    ("count", "first", "depth", "low"),
    [(7, 7, DEPTH, 12), (12, 9, DEPTH, 12), (40, 0, DEPTH, 12), (40, 0, 20, 12), (13, 0, DEPTH, 3)],
    ids=["taken back", "changed", "another run", "another model", "lower layers"],
)
def test_that_a_held_plot_follows_a_run_wherever_it_goes(
    plot: Plot, qtbot: QtBot, count: int, first: int, depth: int, low: int
) -> None:
    plot.hold()
    give(plot, count, first, depth, low)
    list(plot.prepare())
    plot.release()
    assert_like_one_set_at_once(plot, qtbot, count, depth, low)


BETWEEN: dict[str, Callable[[Plot], object]] = {
    "release": lambda plot: plot.release(),
    "selection": lambda plot: plot.set_selection(Selection(3)),
    "resize": lambda plot: plot.resize(480, 220),
    "theme": lambda plot: plot.apply_theme(LIGHT),
    "painting": lambda plot: part(plot, everything(plot)),
    "beginning": lambda plot: next(plot.prepare(), None),
    "turns": lambda plot: list(plot.prepare()),
}


@pytest.mark.parametrize("count", [13, 40])
@pytest.mark.parametrize("turn", range(RELEASE + 1))
@pytest.mark.parametrize("name", BETWEEN)
def test_that_what_comes_between_two_turns_leaves_nothing_out(
    plot: Plot, qtbot: QtBot, name: str, turn: int, count: int
) -> None:
    for at, _ in enumerate(held(plot, count)):
        if at == turn:
            BETWEEN[name](plot)
    assert_like_one_set_at_once(plot, qtbot, count)


@pytest.mark.parametrize("count", [20, 40])
@pytest.mark.parametrize("turn", range(1, RELEASE + 1))
def test_that_a_plot_held_again_before_its_release_shows_what_came_first_too(
    plot: Plot, qtbot: QtBot, turn: int, count: int
) -> None:
    for _ in zip(range(turn + 1), held(plot, count), strict=False):
        pass
    list(held(plot, count + 1, first=count))
    assert_like_one_set_at_once(plot, qtbot, count + 1)


def test_that_a_painting_between_two_turns_leaves_out_no_marks(plot: Plot, qtbot: QtBot) -> None:
    plot.hold()
    give(plot, 13, first=12)
    next(plot.prepare())
    fresh = made(type(plot), qtbot)
    give(fresh, 13)
    assert alike(part(plot, everything(plot)), part(fresh, everything(fresh)))


@pytest.mark.parametrize("count", [40, 900])
def test_that_the_hover_tells_of_the_token_below_the_pointer_once_a_held_plot_moves(plot: Plot, count: int) -> None:
    at = plot.view.mapViewToScene(QPointF(9, 14))
    plot.canvas.scene().sigMouseMoved.emit(at)
    list(held(plot, count))
    place = plot.view.mapSceneToView(at)
    assert plot._readout.text() == plot.readout(place.x(), place.y())


def test_that_the_newest_tokens_can_be_reached_though_the_user_looked_elsewhere_while_they_were_held(
    plot: Plot,
) -> None:
    for at, _ in enumerate(held(plot, 900)):
        if at == RELEASE:
            plot.view.setXRange(2.5, 12.5, padding=0)
            plot.view.sigRangeChangedManually.emit([True, False])
    assert plot.view.viewRange()[0] == [2.5, 12.5]
    plot.view.setXRange(880.5, 900.5, padding=0)
    assert plot.view.viewRange()[0] == [880.5, 900.5]
