"""Tables of texts: rows are made when they are looked at, chosen by click and key, and copied as CSV."""

from __future__ import annotations

import csv
import io

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from widgets.palette import LIGHT
from widgets.rows_table import Column, Row, RowsModel, RowsTable
from widgets.theme import SMALL

COLUMNS = (Column("Name", "What it is called", 8), Column("Layers", "How many", 4, number=True))
ROWS = [Row(("✓ one", "1"), "right"), Row(('two, "quoted"', "22")), Row(("three\nlines", "3"), "wrong", faint=True)]


@pytest.fixture
def table(qtbot: QtBot) -> RowsTable:
    made = RowsTable("Rows", COLUMNS)
    qtbot.addWidget(made)
    made.resize(300, 200)
    made.set_rows(len(ROWS), ROWS.__getitem__)
    return made


def test_that_the_model_keeps_qts_rules(qtmodeltester: ModelTester) -> None:
    model = RowsModel(COLUMNS)
    qtmodeltester.check(model, force_py=True)
    model.set_rows(3, ROWS.__getitem__)
    model.set_rows(0, ROWS.__getitem__)


def test_that_only_rows_in_sight_are_made(qtbot: QtBot, table: RowsTable) -> None:
    made: set[int] = set()

    def row_of(at: int) -> Row:
        made.add(at)
        return ROWS[0]

    table.set_rows(100_000, row_of)
    table.grab()
    assert 0 < len(made) < 50


def test_that_numbers_stand_at_the_right_and_marks_take_the_themes_colours(table: RowsTable) -> None:
    table.apply_theme(LIGHT)
    cell = table.rows.index
    right = Qt.AlignmentFlag.AlignRight
    assert right in cell(0, 1).data(Qt.ItemDataRole.TextAlignmentRole)
    assert cell(0, 0).data(Qt.ItemDataRole.TextAlignmentRole) is None
    colours = [cell(row, 0).data(Qt.ItemDataRole.ForegroundRole) for row in range(3)]
    assert colours == [QColor(LIGHT.right), QColor(LIGHT.text), QColor(LIGHT.muted)]


def test_that_all_rows_are_copied_as_csv_that_reads_back(table: RowsTable) -> None:
    table.copy_action.trigger()
    read = list(csv.reader(io.StringIO(QGuiApplication.clipboard().text())))
    assert read == [["Name", "Layers"], *[list(row.cells) for row in ROWS]]
    assert table.copy_action in table.actions()
    assert table.contextMenuPolicy() is Qt.ContextMenuPolicy.ActionsContextMenu


def test_that_keys_and_clicks_choose_a_row_and_marking_one_says_nothing(qtbot: QtBot, table: RowsTable) -> None:
    chosen: list[int] = []
    entered: list[int] = []
    table.chosen.connect(chosen.append)
    table.entered.connect(entered.append)
    table.mark(0)
    assert chosen == []
    qtbot.keyClick(table, Qt.Key.Key_Down)
    assert chosen == [1]
    qtbot.keyClick(table, Qt.Key.Key_Return)
    assert entered == [1]
    with qtbot.waitSignal(table.escaped):
        qtbot.keyClick(table, Qt.Key.Key_Escape)
    place = table.visualRect(table.rows.index(1, 0)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert chosen == [1, 1], "the row under the cursor is chosen anew: the selection may have gone elsewhere"
    table.mark(None)
    assert not table.currentIndex().isValid()


def test_that_a_heading_is_never_wider_than_its_column_in_any_type_size(qtbot: QtBot) -> None:
    """Also of a table that was there before the type became larger."""
    table = RowsTable("Rows", (Column("A long heading", "", 1), Column("", "", 1), Column("n", "", 12, number=True)))
    qtbot.addWidget(table)
    app, usual = QApplication.instance(), QApplication.font()
    assert isinstance(app, QApplication)
    before = [table.columnWidth(at) for at in range(2)]
    larger = QFont(usual)
    larger.setPointSizeF(2 * usual.pointSizeF())
    app.setFont(larger)
    table.setStyleSheet("QTableView { color: red }")  # a larger type always comes with a new stylesheet
    try:
        assert table.font().pointSizeF() == pytest.approx(2 * SMALL * usual.pointSizeF())
        heading = table.horizontalHeader().fontMetrics().horizontalAdvance("A long heading")
        assert heading < table.columnWidth(0)
        assert table.columnWidth(0) > before[0]
        assert table.verticalHeader().defaultSectionSize() > table.fontMetrics().height()
    finally:
        app.setFont(usual)
