"""What all tables of the panels share: type that follows the window's, also while they are out of sight."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QApplication, QStackedWidget, QWidget
from pytestqt.qtbot import QtBot

from widgets import theme as looks
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
