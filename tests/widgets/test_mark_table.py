"""The list of bookmarks: notes are written in place."""

from __future__ import annotations

from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from widgets.mark_table import MarkRow, MarkTable


def test_that_rows_are_high_enough_for_whatever_type(qtbot: QtBot) -> None:
    table = MarkTable()
    qtbot.addWidget(table)
    table.rows.set_rows([MarkRow("run 1, token 2", "sky", "blue")])
    table.setStyleSheet("QWidget { font-size: 40pt }")
    table.ensurePolished()
    assert table.rowHeight(0) > table.fontMetrics().height() > 40


def test_that_asking_again_for_a_note_goes_on_with_the_one_that_is_written(qtbot: QtBot) -> None:
    table = MarkTable()
    qtbot.addWidget(table)
    table.rows.set_rows([MarkRow("run 1, token 2", "sky", "blue"), MarkRow("run 1, token 3", "is", "")])
    table.show()
    table.write(0)
    editor = table.findChild(QLineEdit)
    assert editor is not None
    editor.setText("bluer")
    table.write(0)
    table.write(1)
    assert table.currentIndex().row() == 0
    assert editor.text() == "bluer"
