"""Two runs as a table: rows are put together when they are looked at, and marks stand beside colours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from core.analysis.compare_rows import Aligned, AlignedRow, Cell
from core.analysis.summaries import Outcome
from core.trace.events import IntArray
from core.trace.overview import NUMBERS, Overview
from core.trace.trace import Trace
from tests.fakes import fake_run_events
from tests.widgets.plots import colour_at, shown
from widgets.compare_plot import ComparePlot, row_html, summary
from widgets.compare_table import COLUMNS, EXIT_A, EXIT_B, LAYERS, SAME, TOKEN, CompareTable, row_of, signed
from widgets.palette import DARK, LIGHT
from widgets.selection import Selection

MANY = 100_000


@dataclass
class ManyTokens:
    """Columns without records, as of a very long run."""

    exit_layers: IntArray
    depth: int = 30
    started: None = None
    records: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        count = len(self.exit_layers)
        columns = {name: np.zeros(count, kind) for name, kind in NUMBERS.items()}
        columns["exit_layer"], columns["first"] = self.exit_layers, np.arange(count)
        self.overview = Overview(self.depth)
        self.overview.fill([b"x"] * count, columns, np.zeros((count, self.depth), np.uint8))
        self.emitted_count = count


def many(exit_layer: int, count: int = MANY) -> Any:
    return ManyTokens(np.full(count, exit_layer))


@pytest.fixture
def table(qtbot: QtBot) -> CompareTable:
    table = CompareTable()
    qtbot.addWidget(table)
    return table


def test_that_of_a_hundred_thousand_rows_only_those_in_sight_are_put_together(
    qtbot: QtBot, table: CompareTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[int] = set()
    row = Aligned.row
    monkeypatch.setattr(Aligned, "row", lambda self, token: asked.add(token) or row(self, token))
    table.show_aligned(Aligned(many(20), many(24)))
    shown(qtbot, table)
    table.set_selection(Selection(MANY // 2))
    table.grab()
    assert table.rows.rowCount() == MANY
    assert MANY // 2 in asked
    assert len(asked) < 200


def test_that_the_model_keeps_qts_rules_as_it_grows_and_shrinks(table: CompareTable) -> None:
    tester = QAbstractItemModelTester(table.rows, QAbstractItemModelTester.FailureReportingMode.Fatal)
    events = fake_run_events(9)
    a, b = Trace.of(events[: len(events) // 2]), Trace.of(fake_run_events(4, run=1))
    table.show_aligned(Aligned(a, b))
    before = table.rows.rowCount()
    for event in events[len(events) // 2 :]:
        a.append(event)
    table.show_aligned(Aligned(a, b))
    assert table.rows.rowCount() == 9 > before
    table.show_aligned(None)
    assert table.rows.rowCount() == 0
    tester.deleteLater()


def test_that_every_difference_has_a_mark_beside_its_colour() -> None:
    a, b = Cell("·sky", 30, Outcome.REFUSED, 0.02), Cell("天", 12, Outcome.WRONG_EXIT, 0.01)
    row = row_of(AlignedRow(6, (a, b), same=False, first=True))
    assert row.cells == ("7", "▶≠", "·sky", "天", "⊘ 30", "≠ 12", "−18", "−10.0")
    assert (row.inks[SAME], row.inks[EXIT_A], row.inks[EXIT_B], row.inks[LAYERS]) == (
        "caution",
        "caution",
        "wrong",
        "accent",
    )
    assert row.bold
    ended = row_of(AlignedRow(6, (a, None), same=False, first=False))
    assert ended.cells[SAME:] == ("≠", "·sky", "(ended)", "⊘ 30", "", "", "")
    assert "B has ended" in ended.tip
    assert len(row.cells) == len(row.inks) == len(COLUMNS)
    assert [signed(number) for number in (3, -3, 0, None)] == ["+3", "−3", "0", ""]


def test_that_a_very_long_token_is_cut_in_its_cell_and_told_by_the_tooltip() -> None:
    cell = Cell("天" * 120, 30, Outcome.FULL_DEPTH, 0.0)
    row = row_of(AlignedRow(0, (cell, cell), same=True, first=False))
    assert len(row.cells[2]) <= 40
    assert "天" * 120 in row.tip


def test_that_numbers_stand_at_the_right_and_the_unnamed_column_has_a_name(table: CompareTable) -> None:
    rows = table.rows
    rows.show(Aligned(many(20, 3), many(20, 3)))
    right = rows.data(rows.index(0, TOKEN), Qt.ItemDataRole.TextAlignmentRole)
    assert right & Qt.AlignmentFlag.AlignRight
    spoken = rows.headerData(SAME, Qt.Orientation.Horizontal, Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "Same token"


def test_that_the_plot_says_of_each_token_what_both_runs_did(qtbot: QtBot) -> None:
    plot = ComparePlot()
    qtbot.addWidget(plot)
    assert "Choose a run" in plot.message
    aligned = Aligned(Trace.of(fake_run_events(9)), Trace.of(fake_run_events(7, run=1)))
    plot.show_aligned(aligned)
    shown(qtbot, plot)
    plot.set_selection(Selection(8))
    for theme in (LIGHT, DARK):
        plot.apply_theme(theme)
        plot.grab()
    assert plot.readout(4, 1) == row_html(aligned.row(3))
    assert "B has ended" in row_html(aligned.row(8))
    assert plot.pick(4, 1) == Selection(3)
    assert plot.accessibleDescription() == summary(aligned)
    legend = plot.legend_html(DARK, ("run 1", "<other>"))
    assert "━●" in legend
    assert "┅■" in legend
    assert "&lt;other&gt;" in legend


def test_that_the_selections_band_lies_below_both_runs_lines(qtbot: QtBot) -> None:
    plot = ComparePlot()
    plot.apply_theme(DARK)
    shown(qtbot, plot)
    aligned = Aligned(Trace.of(fake_run_events(9)), Trace.of(fake_run_events(9, run=1)))
    plot.show_aligned(aligned)
    at = 5.0, float(aligned.found.exit_layers[1][4])
    before = colour_at(plot, *at)
    plot.set_selection(Selection(4))
    assert colour_at(plot, at[0], 2.0) == DARK.selection
    assert colour_at(plot, *at) == before
