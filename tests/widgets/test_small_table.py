"""What all tables of the panels share: type that follows the window's, also while they are out of sight."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QApplication, QStackedWidget, QTableView, QWidget
from pytestqt.qtbot import QtBot

from widgets import theme as looks
from widgets.cost_bars import LOOKS, CostBar
from widgets.cost_view import CostTable
from widgets.found_table import FoundTable
from widgets.log_view import LogModel, LogView
from widgets.palette import DARK
from widgets.rows_table import Column, Row, RowsTable
from widgets.small_table import SmallTable
from widgets.theme import SMALL


@pytest.fixture
def scaled(qapp: QApplication) -> Iterator[QApplication]:
    yield qapp
    looks.scale(qapp, 1.0)


@pytest.mark.parametrize("hidden", [False, True])
def test_that_type_that_was_made_larger_and_smaller_again_is_what_it_was(
    scaled: QApplication, qtbot: QtBot, hidden: bool
) -> None:
    pages = QStackedWidget()
    qtbot.addWidget(pages)
    table, other = SmallTable("Table", QStandardItemModel(3, 2)), QWidget()
    for page in (table, other):
        pages.addWidget(page)
    pages.show()
    for factor in (1.5, 1.0):
        pages.setCurrentWidget(other if hidden else table)
        looks.scale(scaled, factor)
        pages.setStyleSheet(looks.stylesheet(DARK, scaled.font().pointSizeF()))  # a part of the window is told by that
        pages.setCurrentWidget(table)
        assert table.font().pointSizeF() == pytest.approx(scaled.font().pointSizeF() * SMALL, abs=0.1)


def has_room(table: QTableView) -> bool:
    """Whether rows and all columns but the last, which stretches, are as large as their headings' type asks for."""
    letters, columns = table.fontMetrics(), range(table.model().columnCount() - 1)
    names = [table.model().headerData(column, Qt.Orientation.Horizontal) for column in columns]
    wide = [table.columnWidth(at) > letters.horizontalAdvance(name) for at, name in enumerate(names)]
    return all(wide) and table.verticalHeader().defaultSectionSize() > letters.height() > 25


@pytest.mark.parametrize("make", [FoundTable, lambda: LogView(LogModel(9))], ids=["found", "log"])
def test_that_lists_have_room_in_larger_type(qtbot: QtBot, make: Callable[[], QTableView]) -> None:
    table = make()
    qtbot.addWidget(table)
    table.setStyleSheet("QWidget { font-size: 40pt }")
    table.ensurePolished()
    if isinstance(table, LogView):
        table.apply_theme(DARK)
    assert has_room(table)


def test_that_the_costs_have_room_in_larger_type(scaled: QApplication, qtbot: QtBot) -> None:
    table = CostTable()
    qtbot.addWidget(table)
    table.rows.set_bars((CostBar("Token 1", (0.01,) * len(LOOKS)),), ("token",))
    looks.scale(scaled, 2.0)
    table.setStyleSheet(looks.stylesheet(DARK, scaled.font().pointSizeF()))
    table.show()
    assert has_room(table)
    assert table.height() > table.rows.rowCount() * table.rowHeight(0)


def test_that_coming_to_a_table_chooses_nothing_and_moving_in_it_does(qtbot: QtBot) -> None:
    table = RowsTable("Table", (Column("Name", "", 4),))
    qtbot.addWidget(table)
    table.set_rows(3, lambda at: Row((f"{at}",)))
    chosen: list[int] = []
    table.chosen.connect(chosen.append)
    table.show()
    table.activateWindow()
    qtbot.waitUntil(table.isActiveWindow)
    table.setFocus(Qt.FocusReason.TabFocusReason)
    assert table.hasFocus()
    assert table.currentIndex().row() == 0
    assert chosen == []
    qtbot.keyClick(table, Qt.Key.Key_Down)
    assert chosen == [1]
