"""What a run changes in the plots is painted, and what lies beside it is left alone."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QObject, QRect
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from core.analysis.summaries import SchedulerMap
from core.trace.overview import CellState
from tests.widgets.plots import DEPTH, alike, many_exits, part, pixel, shown
from widgets.exit_chart import ExitChart
from widgets.palette import LIGHT
from widgets.plot_base import PlotView
from widgets.scheduler_map import SchedulerMapView
from widgets.selection import Selection
from widgets.text_axis import TextAxis


def all_kinds(count: int, first: int = 0) -> SchedulerMap:
    """Cells of every kind, and marks that crowd."""
    random = np.random.default_rng(0)
    states = random.integers(0, 8, (first + count, DEPTH)).astype(np.uint8)
    states[:, 20] |= np.uint8(CellState.EXITED)
    states[::3, 20] |= np.uint8(CellState.WRONG)
    states[::2, 12] |= np.uint8(CellState.REFUSED)
    return SchedulerMap(first, states[first:])


@pytest.fixture
def scheduler(qtbot: QtBot) -> SchedulerMapView:
    view = SchedulerMapView()
    shown(qtbot, view)
    return view


@pytest.mark.parametrize("count", [1, 30, 100, 3000])
def test_that_a_map_that_grew_looks_like_one_set_at_once(
    scheduler: SchedulerMapView, qtbot: QtBot, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler.set_map(all_kinds(count))
    everything = scheduler.canvas.viewport().rect()
    part(scheduler, everything)
    renewed: list[int] = []
    renew = scheduler.cells.renew
    monkeypatch.setattr(
        scheduler.cells, "renew", lambda cells, left, pixels: renewed.append(left) or renew(cells, left, pixels)
    )
    scheduler.set_map(all_kinds(1, first=count))
    grown, whole = part(scheduler, everything), SchedulerMapView()
    shown(qtbot, whole)
    whole.set_map(all_kinds(count + 1))
    assert alike(grown, part(whole, everything))
    assert len(renewed) == 1
    assert renewed[0] > 0


def test_that_a_map_stepped_back_forgets_the_tokens_that_are_gone(scheduler: SchedulerMapView, qtbot: QtBot) -> None:
    everything = scheduler.canvas.viewport().rect()
    scheduler.set_map(all_kinds(40))
    part(scheduler, everything)
    scheduler.set_map(SchedulerMap(12, np.zeros((0, DEPTH), np.uint8)))
    fewer = SchedulerMapView()
    shown(qtbot, fewer)
    fewer.set_map(all_kinds(12))
    assert alike(part(scheduler, everything), part(fewer, everything))


def test_that_the_map_takes_over_another_theme(scheduler: SchedulerMapView, qtbot: QtBot) -> None:
    everything = scheduler.canvas.viewport().rect()
    scheduler.set_map(all_kinds(40))
    part(scheduler, everything)
    scheduler.apply_theme(LIGHT)
    light = SchedulerMapView()
    light.apply_theme(LIGHT)
    shown(qtbot, light)
    light.set_map(all_kinds(40))
    assert alike(part(scheduler, everything), part(light, everything))


class Watch(QObject):
    """Writes down which parts of a plot's canvas are painted."""

    def __init__(self, view: PlotView) -> None:
        super().__init__(view)
        self.parts: list[QRect] = []
        self.paintings = 0
        view.canvas.viewport().installEventFilter(self)
        for token in (4, 5):  # Qt paints everything once more with the first change of a scene
            self.take()
            view.set_selection(Selection(token))
        self.take()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            self.parts.extend(event.region())
            self.paintings += 1
        return False

    def take(self) -> list[QRect]:
        """What was painted since the last time, once all that waits is."""
        for _ in range(3):  # what one round of events lays out, the next one paints
            QApplication.processEvents()
        parts, self.parts = self.parts, []
        return parts


@pytest.fixture
def chart(qtbot: QtBot) -> ExitChart:
    chart = ExitChart()
    shown(qtbot, chart)
    with qtbot.waitExposed(chart):
        chart.show()
    chart.set_series(many_exits(12))
    return chart


def test_that_a_selection_that_moves_on_paints_its_own_columns_only(chart: ExitChart) -> None:
    watch = Watch(chart)
    for before, after in ((5, 6), (6, 7), (7, None), (None, 11)):
        chart.set_selection(Selection(after))
        parts = watch.take()
        assert parts
        assert all(part.width() < chart.width() / 6 for part in parts)
        for token in {before, after} - {None}:
            assert any(part.contains(pixel(chart, token + 1, 1)) for part in parts)


def test_that_a_new_token_has_no_axis_painted_again(chart: ExitChart, monkeypatch: pytest.MonkeyPatch) -> None:
    watch, painted = Watch(chart), list[str]()
    for side in ("_paint_side", "_paint_bottom"):
        monkeypatch.setattr(TextAxis, side, lambda axis, painter: painted.append(axis.orientation))
    chart.set_series(many_exits(13), 12)
    chart.set_selection(Selection(12))
    assert watch.take()
    assert painted == []
    chart.set_series(many_exits(40), 13)  # more than there was room for
    watch.take()
    assert "bottom" in painted


@pytest.mark.parametrize("kind", [ExitChart, SchedulerMapView])
def test_that_a_plot_that_needs_more_room_is_painted_once(
    qtbot: QtBot, kind: type[ExitChart | SchedulerMapView]
) -> None:
    view = kind()
    shown(qtbot, view)
    with qtbot.waitExposed(view):
        view.show()
    grow(view, 12)
    watch = Watch(view)
    before, watch.paintings = view.view.viewRange()[0], 0
    grow(view, 40)
    watch.take()
    assert view.view.viewRange()[0] != before
    assert watch.paintings == 1


def grow(view: ExitChart | SchedulerMapView, count: int) -> None:
    if isinstance(view, ExitChart):
        view.set_series(many_exits(count))
    else:
        view.set_map(all_kinds(count))


@pytest.mark.parametrize("apart", [False, True])
def test_that_two_plots_share_a_frame_of_their_window_unless_a_run_grows(qtbot: QtBot, apart: bool) -> None:
    window, chart, scheduler = QWidget(), ExitChart(), SchedulerMapView()
    qtbot.addWidget(window)
    row = QHBoxLayout(window)
    row.addWidget(chart)
    row.addWidget(scheduler)
    chart.set_series(many_exits(12))
    scheduler.set_map(all_kinds(12))
    for plot in (chart, scheduler):
        plot.paint_apart(apart)
    with qtbot.waitExposed(window):
        window.show()
    watches, frames = [Watch(chart), Watch(scheduler)], Frames(window)
    before = [watch.paintings for watch in watches]
    for plot in (chart, scheduler):
        plot.set_selection(Selection(7))
    for watch in watches:
        watch.take()
    assert all(watch.paintings > count for watch, count in zip(watches, before, strict=True))
    assert frames.count == (2 if apart else 1)


class Frames(QObject):
    """Counts the frames of a window."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.count = 0
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() is QEvent.Type.UpdateRequest
        return False


def test_that_room_for_the_next_step_is_made_only_where_the_selection_is_looked_at(chart: ExitChart) -> None:
    chart.set_series(many_exits(1000))
    chart.make_room(2)
    assert chart.following
    chart.set_selection(Selection(300))
    last = next(token for token in range(300, 1000) if not chart.has_in_view(token + 1))
    chart.set_selection(Selection(last))
    chart.make_room(last + 1)
    assert chart.has_in_view(last)
    assert chart.has_in_view(last + 1)
    chart.view.setXRange(800.5, 860.5, padding=0)
    chart.make_room(last + 2)
    assert not chart.has_in_view(last + 2)
