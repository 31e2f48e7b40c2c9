"""What Copy takes of lists, which are tables of one column without a head."""

from __future__ import annotations

from PySide6.QtWidgets import QListWidget
from pytestqt.qtbot import QtBot

from app.export_copy import rows_text, table_of


def test_that_a_list_is_copied_like_a_table_of_one_column(qtbot: QtBot) -> None:
    view = QListWidget()
    qtbot.addWidget(view)
    view.addItems(["one", "two\tparts"])
    assert rows_text(view) == "one\ntwo parts"
    view.setCurrentRow(1)
    assert rows_text(view) == "two parts"
    assert list(map(list, table_of(view).rows)) == [["one"], ["two\tparts"]]
