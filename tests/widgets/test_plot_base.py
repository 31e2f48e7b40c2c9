from __future__ import annotations

import sys

import pytest
from PySide6.QtCore import QEvent, QObject, QPointF, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.widgets.plots import candidates, exits, painted, schedule, shown
from widgets.exit_chart import ExitChart
from widgets.palette import DARK, LIGHT
from widgets.plot_base import PlotView
from widgets.plot_items import PixelItem, Pixels, whole_ticks
from widgets.probability_curves import ProbabilityCurvesView
from widgets.scheduler_map import SchedulerMapView

VIEWS = (ExitChart, SchedulerMapView, ProbabilityCurvesView)


@pytest.mark.parametrize("made", VIEWS)
def test_that_a_screen_reader_is_told_what_a_plot_is_and_that_it_is_empty(qtbot: QtBot, made: type[PlotView]) -> None:
    view = shown(qtbot, made())
    assert view.accessibleName()
    assert view.accessibleDescription() == view.message != ""


@pytest.mark.parametrize("made", VIEWS)
def test_that_switching_the_theme_changes_a_plot_at_once(qtbot: QtBot, made: type[PlotView]) -> None:
    view = shown(qtbot, made())
    for theme in (LIGHT, DARK):
        view.apply_theme(theme)
        assert painted(view).pixelColor(view.width() // 2, 12).name() == theme.surface


@pytest.mark.parametrize("made", VIEWS)
def test_that_type_that_grows_after_the_theme_came_grows_in_the_axes_too(qtbot: QtBot, made: type[PlotView]) -> None:
    view = shown(qtbot, made())
    view.apply_theme(LIGHT)
    before = view.y_axis.minimumWidth()
    view.setStyleSheet("QWidget { font-size: 30pt; }")
    assert view.y_axis.minimumWidth() > 1.5 * before


@pytest.mark.parametrize("made", VIEWS)
def test_that_the_keyboard_focus_is_seen(qtbot: QtBot, made: type[PlotView]) -> None:
    view = shown(qtbot, made())
    without = painted(view)
    view.setFocus()
    QApplication.sendEvent(view, QEvent(QEvent.Type.WindowActivate))
    with qtbot.waitActive(view):
        view.show()
        view.activateWindow()
    view.setFocus(Qt.FocusReason.TabFocusReason)
    assert painted(view) != without


@pytest.mark.parametrize("size", [(220, 120), (560, 240), (1600, 900)])
@pytest.mark.parametrize("made", VIEWS)
def test_that_an_empty_plot_paints_at_any_size(qtbot: QtBot, made: type[PlotView], size: tuple[int, int]) -> None:
    assert not painted(shown(qtbot, made(), *size)).isNull()


def test_that_hovering_shows_a_readout_and_leaving_takes_it_away(qtbot: QtBot) -> None:
    chart = ExitChart()
    chart.set_series(exits(30, 20, 25))
    shown(qtbot, chart)
    chart._on_hover(chart.view.mapViewToScene(QPointF(2, 5)))
    assert not chart._readout.isHidden()
    assert "token 2" in chart._readout.text()
    QApplication.sendEvent(chart.canvas.viewport(), QEvent(QEvent.Type.Leave))
    assert chart._readout.isHidden()


def test_that_the_readout_stays_inside_of_the_plot(qtbot: QtBot) -> None:
    view = SchedulerMapView()
    view.set_map(schedule(24))
    view.set_sources(lambda token, layer: "Added by token 9, whose pass ended at layer 22.")
    shown(qtbot, view)
    for x, y in ((1, 30), (24, 30), (24, 16), (1, 16)):
        view._on_hover(view.view.mapViewToScene(QPointF(x, y)))
        assert view.rect().contains(view._readout.geometry())


def test_that_the_readout_follows_data_that_change_below_the_pointer(qtbot: QtBot) -> None:
    chart = ExitChart()
    chart.set_series(exits(30, 20))
    shown(qtbot, chart)
    chart._on_hover(chart.view.mapViewToScene(QPointF(2, 5)))
    chart.set_series(exits(30, 17))
    assert "exit layer 17" in chart._readout.text()


def test_that_an_error_while_painting_is_reported_instead_of_ending_the_process(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(PixelItem):
        def draw(self, painter: QPainter, pixels: Pixels) -> None:
            raise ValueError("cannot draw")

        def apply_theme(self, theme: object) -> None:
            pass

    seen: list[str] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: seen.append(str(error)))
    chart = ExitChart()
    chart.set_series(exits(30, 20))
    chart.add(Broken(), 5)
    shown(qtbot, chart)
    assert set(seen) == {"cannot draw"}


def test_that_an_error_in_an_axis_or_a_legend_is_reported_too(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: seen.append(str(error)))
    view = ProbabilityCurvesView()
    view.set_curves(candidates())

    def broken(*_: object) -> None:
        raise ValueError("cannot draw")

    monkeypatch.setattr(view.x_axis, "_paint_bottom", broken)
    monkeypatch.setattr(view.legend, "_paint_entries", broken)
    shown(qtbot, view)
    assert len(seen) >= 2
    assert set(seen) == {"cannot draw"}


def test_that_a_readout_that_moves_lays_nothing_else_out(qtbot: QtBot) -> None:
    chart = ExitChart()
    chart.set_series(exits(30, 20, 25))
    shown(qtbot, chart)
    chart.show()
    QApplication.processEvents()
    asked: list[object] = []

    class Listener(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            asked.extend([watched] if event.type() is QEvent.Type.LayoutRequest else [])
            return False

    listener = Listener()
    chart.installEventFilter(listener)
    chart._on_hover(chart.view.mapViewToScene(QPointF(2, 5)))
    QApplication.processEvents()
    asked.clear()  # coming up is asked for once
    chart._on_hover(chart.view.mapViewToScene(QPointF(3, 5)))
    QApplication.processEvents()
    assert "token 3" in chart._readout.text()
    assert asked == []


@pytest.mark.parametrize(
    ("low", "high", "pixels", "expected"),
    [
        (0.5, 24.5, 500, [1, 5, 10, 15, 20]),
        (0.5, 1.5, 500, [1]),
        (4000.5, 4128.5, 500, [4020, 4040, 4060, 4080, 4100, 4120]),
    ],
)
def test_that_ticks_are_round_whole_numbers_from_one_on(
    low: float, high: float, pixels: float, expected: list[int]
) -> None:
    assert [value for value, _ in whole_ticks(50)(low, high, pixels)] == expected


def test_that_the_deepest_layer_is_always_labelled() -> None:
    ticks = whole_ticks(24, always=(32,))(0, 34, 200)
    assert (32, "32") in ticks
    assert not any(value == 30 for value, _ in ticks)
