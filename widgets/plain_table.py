"""What every table of the program is like: rows to read and to choose, out of which Tab leads."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QTableView


def make_plain(table: QTableView, *, several: bool = False) -> None:
    """Have rows be chosen as a whole, one at a time or `several`, and never typed into; no grid, no row numbers."""
    one, many = QAbstractItemView.SelectionMode.SingleSelection, QAbstractItemView.SelectionMode.ExtendedSelection
    table.setSelectionMode(many if several else one)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setTabKeyNavigation(False)
    table.setShowGrid(False)
    table.verticalHeader().hide()


def make_heading_plain(table: QTableView) -> None:
    """Have headings stand at the left, and stay as they are whatever is chosen."""
    table.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    table.horizontalHeader().setHighlightSections(False)
