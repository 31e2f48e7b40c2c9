"""What all tables of the panels share: type that follows the window's, also while they are out of sight."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QApplication, QStackedWidget, QWidget
from pytestqt.qtbot import QtBot

from widgets import theme as looks
from widgets.palette import DARK
from widgets.small_table import SmallTable
from widgets.theme import SMALL


@pytest.fixture
def scaled(qapp: QApplication) -> Iterator[QApplication]:
    yield qapp
    looks.scale(qapp, 1.0)
    looks.apply(qapp, DARK)


@pytest.mark.parametrize("hidden", [False, True])
def test_that_type_that_was_made_larger_and_smaller_again_is_what_it_was(
    scaled: QApplication, qtbot: QtBot, hidden: bool
) -> None:
    looks.apply(scaled, DARK)
    pages = QStackedWidget()
    qtbot.addWidget(pages)
    table, other = SmallTable("Table", QStandardItemModel(3, 2)), QWidget()
    for page in (table, other):
        pages.addWidget(page)
    pages.show()
    for factor in (1.5, 1.0):
        pages.setCurrentWidget(other if hidden else table)
        looks.scale(scaled, factor)
        looks.apply(scaled, DARK)
        pages.setCurrentWidget(table)
        assert table.font().pointSizeF() == pytest.approx(scaled.font().pointSizeF() * SMALL, abs=0.1)
        assert table.verticalHeader().defaultSectionSize() == table.fontMetrics().height() + 6
