"""The log's lines: bounded, coloured beside their signs, and followed to the end."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from widgets.log_view import Kind, LogEntry, LogModel, LogView
from widgets.palette import LIGHT


def entries(first: int, last: int, kind: Kind = Kind.NOTE) -> list[LogEntry]:
    return [LogEntry(datetime(2025, 1, 2, 3, 4, 5), kind, f"line {at}", f"details {at}") for at in range(first, last)]


def test_that_the_oldest_lines_make_room_for_new_ones(qtbot: QtBot) -> None:
    rows = LogModel(5)
    tester = QAbstractItemModelTester(rows, QAbstractItemModelTester.FailureReportingMode.Warning)
    for first in (0, 3, 6):
        rows.add(entries(first, first + 3))
    rows.add([])
    assert [entry.text for entry in rows.entries] == [f"line {at}" for at in range(4, 9)]
    rows.add(entries(0, 12))
    assert [entry.text for entry in rows.entries] == [f"line {at}" for at in range(7, 12)]
    rows.clear()
    assert rows.rowCount() == 0
    del tester


def test_that_warnings_and_errors_have_a_sign_beside_their_colour(qtbot: QtBot) -> None:
    rows = LogModel(9)
    rows.apply_theme(LIGHT)
    for kind, sign, colour in ((Kind.WARNING, "▲", LIGHT.caution), (Kind.ERROR, "✕", LIGHT.wrong)):
        rows.clear()
        rows.add(entries(0, 1, kind))
        assert rows.index(0, 1).data().startswith(sign)
        assert rows.index(0, 1).data(Qt.ItemDataRole.ForegroundRole).name() == colour
        assert rows.index(0, 2).data(Qt.ItemDataRole.ToolTipRole) == "details 0"


def test_that_the_view_stays_at_the_end_until_the_user_looks_back(qtbot: QtBot) -> None:
    rows = LogModel(200)
    view = LogView(rows)
    qtbot.addWidget(view)
    view.resize(400, 200)
    view.show()
    rows.add(entries(0, 60))
    bar = view.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0 and bar.value() == bar.maximum())
    bar.setValue(3)
    rows.add(entries(60, 70))
    assert bar.value() == 3


def test_that_chosen_lines_are_copied_with_their_details(qtbot: QtBot) -> None:
    rows = LogModel(9)
    rows.add(entries(0, 3))
    view = LogView(rows)
    qtbot.addWidget(view)
    # Not `selectRow`, which heeds the keys that an earlier test may have left held down.
    chosen = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
    view.selectionModel().select(rows.index(1, 0), chosen)
    view.copy_action.trigger()
    assert QGuiApplication.clipboard().text() == "03:04:05 note: line 1\ndetails 1"
