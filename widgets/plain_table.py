"""What every table of the program is like: rows to read and to choose, out of which Tab leads."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QAbstractItemView, QTableView

from widgets.theme import RESTYLED


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


def keep_rows_high(table: QTableView, spare: int) -> None:
    """Have rows be as high as a line of the table's type, whatever that becomes, and so many pixels more."""
    table.installEventFilter(_RowHeight(table, spare))


class _RowHeight(QObject):
    """Lives as long as its table, whose rows Qt would leave as high as they were made."""

    def __init__(self, table: QTableView, spare: int) -> None:
        super().__init__(table)
        self._table, self._spare = table, spare
        self._fit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in RESTYLED:
            self._fit()
        return False

    def _fit(self) -> None:
        self._table.verticalHeader().setDefaultSectionSize(self._table.fontMetrics().height() + self._spare)
