"""The what-if's plot and table, and the frontier's: values, the boundary of the estimate, and what a click asks for."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from core.analysis.active_sets import Doubt
from core.analysis.frontier import Frontier, FrontierPoint
from core.analysis.what_if_changes import Change, Changes, Comparison, Totals
from core.config import RunSettings
from tests.widgets.plots import DEPTH, click, colour_at, painted, shown
from widgets.frontier_plot import FrontierPlot, Standing, rows_of
from widgets.palette import DARK, LIGHT
from widgets.selection import Selection
from widgets.what_if_plot import NOTHING, WhatIfPlot
from widgets.what_if_table import WhatIfTable

NONE = Totals(float("nan"), float("nan"), float("nan"))
RECORDED = np.array([30, 24, 24, 24, 24, 24, 24, 24])
ASKED = np.array([30, 24, 24, 10, 20, 24, 24, 12])
CHANGES = (
    Change(3, 24, 10, True, "score 0.55 > 0.50 at layer 10", True, Doubt.NONE),
    Change(4, 24, 20, False, "not known beyond layer 20", False, Doubt.SCORE),
    Change(7, 24, 12, True, "layer 12 is watched now", False, Doubt.NONE),
)


def comparison() -> Comparison:
    known = np.ones(8, np.bool_)
    known[4] = False
    changes = Changes(np.array([one.token for one in CHANGES]), CHANGES.__getitem__)
    return Comparison(RunSettings(), DEPTH, RECORDED, ASKED, known, 4, changes, NONE, NONE)


@pytest.fixture
def plot(qtbot: QtBot) -> WhatIfPlot:
    made = WhatIfPlot()
    shown(qtbot, made)
    made.show_comparison(comparison())
    return made


def test_that_bars_reach_the_asked_layer_and_strokes_lie_at_the_recorded_one(plot: WhatIfPlot) -> None:
    assert colour_at(plot, 4, 5) != DARK.surface
    assert colour_at(plot, 4, 12) == DARK.surface
    assert colour_at(plot, 4, 24) == DARK.text


def surface_share(plot: WhatIfPlot, token: int) -> float:
    """How much of a bar's lower part is hatched away."""
    image = painted(plot)
    from tests.widgets.plots import pixel

    top, foot = (plot.canvas.pos() + pixel(plot, token + 1, y) for y in (9, 1))
    inks = [
        image.pixelColor(x, y).name() == DARK.surface
        for y in range(top.y(), foot.y())
        for x in range(top.x() - 4, top.x() + 4)
    ]
    return sum(inks) / len(inks)


def test_that_only_the_estimate_is_hatched(plot: WhatIfPlot) -> None:
    assert surface_share(plot, 2) == surface_share(plot, 3) == 0
    assert surface_share(plot, 5) > 0.1 < surface_share(plot, 7)


def test_that_the_hover_tells_both_layers_and_how_far_they_can_be_trusted(plot: WhatIfPlot) -> None:
    assert plot.readout(4, 1) == "<b>token 4</b> · exact<br>exit layer 24 → <b>10</b>"
    assert plot.readout(5, 1) == "<b>token 5</b> · estimate<br>exit layer 24 → at least <b>20</b>"
    assert plot.readout(3, 1) == "<b>token 3</b> · exact<br>exit layer 24, as recorded"
    assert "3 decisions change, the first at token 4; exact through token 4" in plot.accessibleDescription()


def test_that_a_click_selects_the_token_and_nothing_is_told_where_nothing_is_asked(
    qtbot: QtBot, plot: WhatIfPlot
) -> None:
    with qtbot.waitSignal(plot.selected) as asked:
        click(qtbot, plot, 4, 5)
    assert asked.args == [Selection(3)]
    plot.show_comparison(None)
    assert plot.message == NOTHING
    plot.apply_theme(LIGHT)
    assert not painted(plot).isNull()


def test_that_thousands_of_tokens_are_painted_from_end_to_end(plot: WhatIfPlot) -> None:
    many = 10 + np.arange(5000) * 7 % 19
    plot.show_comparison(Comparison(RunSettings(), DEPTH, many, many, many > 0, 5000, (), NONE, NONE))
    plot._leave_newest()
    plot.view.setXRange(0.5, 5000.5, padding=0)
    assert colour_at(plot, 20, 5) != DARK.surface != colour_at(plot, 4980, 5)


def test_that_the_table_lists_each_change_and_a_row_selects_its_token_at_the_lower_layer(qtbot: QtBot) -> None:
    table = WhatIfTable()
    qtbot.addWidget(table)
    table.show_comparison(comparison(), lambda at: f"·w{at}")
    rows = [table.rows.row(at) for at in range(table.rows.rowCount())]
    assert [row.cells for row in rows] == [
        ("4", "24 → 10", "score 0.55 > 0.50 at layer 10", "", "·w3", "exact"),
        ("5", "▨ 24 → ≥ 20", "not known beyond layer 20", "score", "·w4", "estimate"),
        ("8", "▨ 24 → 12", "layer 12 is watched now", "", "·w7", "estimate"),
    ]
    with qtbot.waitSignal(table.selected) as asked:
        table.clicked.emit(table.rows.index(2, 0))
    assert asked.args == [Selection(7, 11)]
    table.set_selection(Selection(4))
    assert table.currentIndex().row() == 1
    table.set_selection(Selection(5))
    assert not table.currentIndex().isValid()


POINTS = (
    FrontierPoint(0.3, 20.0, 0.8, 0.6, 0.9, 5),
    FrontierPoint(0.5, 24.0, 0.9, 0.5, 0.7, 9),
    FrontierPoint(0.7, 25.0, 0.88, 0.4, 0.5, 7),
    FrontierPoint(0.9, 28.0, 0.995, 0.2, 0.3, 3),
)
FOUND = Frontier(POINTS, 40)
STANDING = Standing((22.0, 0.85), (24.0, 0.9), 0.5)


@pytest.fixture
def chart(qtbot: QtBot) -> FrontierPlot:
    made = FrontierPlot()
    shown(qtbot, made)
    made.show_frontier(FOUND, STANDING, DEPTH)
    return made


def test_that_a_click_on_a_point_asks_for_its_threshold_and_elsewhere_for_nothing(
    qtbot: QtBot, chart: FrontierPlot
) -> None:
    asked: list[float] = []
    chart.threshold_wanted.connect(asked.append)
    click(qtbot, chart, 28.0, 0.995)
    click(qtbot, chart, 27.0, 0.82)
    assert asked == [0.9]
    assert "<b>threshold 0.9</b> · advised" in chart.readout(28.0, 0.995)
    assert chart.readout(27.0, 0.82) is None


def test_that_arrow_keys_go_from_threshold_to_threshold(qtbot: QtBot, chart: FrontierPlot) -> None:
    asked: list[float] = []
    chart.threshold_wanted.connect(asked.append)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_End, Qt.Key.Key_Home):
        qtbot.keyClick(chart, key)
    assert asked == [0.7, 0.3, 0.9, 0.3]


def test_that_the_recorded_and_the_asked_run_stand_where_their_figures_are(chart: FrontierPlot) -> None:
    assert colour_at(chart, 22.0, 0.85) == DARK.text
    assert colour_at(chart, 24.0, 0.9) == DARK.caution


def test_that_the_frontiers_table_marks_what_is_asked_advised_and_beaten() -> None:
    cells = [row.cells for row in rows_of(FOUND, STANDING)]
    assert [row[0] for row in cells] == ["", "◆", "○", "◉"]
    assert cells[1] == ("◆", "0.5", "24.00", "90.0%", "50.0%", "0.70", "9 of 40")


def test_that_a_frontier_without_points_says_why(chart: FrontierPlot) -> None:
    chart.show_frontier(Frontier((), 0), Standing(), DEPTH, "No trees here.")
    assert chart.message == "No trees here."
    assert chart.readout(20.0, 0.9) is None


def test_that_unknown_agreement_breaks_nothing(chart: FrontierPlot) -> None:
    unknown = FrontierPoint(0.5, 24.0, float("nan"), 0.5, 0.7, 9)
    chart.show_frontier(Frontier((unknown,), 9), Standing((24.0, float("nan"))), DEPTH)
    assert not painted(chart).isNull()
    assert rows_of(chart.found, Standing())[0].cells[3] == "–"
