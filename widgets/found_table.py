"""The tokens that a search found, one row each; any number of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from PySide6.QtCore import QAbstractTableModel, QEvent, QItemSelectionModel, QModelIndex, Qt, Signal
from PySide6.QtWidgets import QHeaderView, QTableView, QWidget

from core.trace.events import IntArray
from widgets.row_list import NUMBER, Index, heading, make_list
from widgets.theme import RESTYLED

_NOWHERE = QModelIndex()
_COLUMNS = (
    ("Token", "Counted from 1"),
    ("Text", "What the token says"),
    ("Exit", "Layers that its pass ran"),
    ("Outcome", "How it left"),
)
_NUMBERS = (0, 2)

Describe = Callable[[int], tuple[str, str, str]]
"""Of a 0-based token: its visible text, its exit layer and its outcome in words."""


class FoundModel(QAbstractTableModel):
    """Asks for a token's words only when its row is in sight."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.tokens: IntArray = np.zeros(0, np.int64)
        self._describe: Describe | None = None

    def set_tokens(self, tokens: IntArray, describe: Describe) -> None:
        """Show these 0-based tokens, ascending; where they only grew, what was there stays in its place.

        `describe` is the same object as long as the run is the same.
        """
        same_run, self._describe = describe is self._describe, describe
        before, count = len(self.tokens), len(tokens)
        if same_run and count >= before and np.array_equal(tokens[:before], self.tokens):
            if count > before:
                self.beginInsertRows(QModelIndex(), before, count - 1)
                self.tokens = tokens
                self.endInsertRows()
            return
        self.beginResetModel()
        self.tokens = tokens
        self.endResetModel()

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.tokens)

    def columnCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(_COLUMNS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or self._describe is None:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() in _NUMBERS:
            return NUMBER
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return None
        token = int(self.tokens[index.row()])
        cells = (f"{token + 1}", *self._describe(token))
        return cells[index.column()] if role == Qt.ItemDataRole.DisplayRole else " · ".join(cells)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        return heading(_COLUMNS, _NUMBERS, section, orientation, role)


class FoundTable(QTableView):
    """The row with the cursor is the selected token."""

    token_wanted = Signal(int)
    """The user chose this 0-based token."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._telling = True
        super().__init__(parent)
        self.rows = FoundModel(self)
        self.setModel(self.rows)
        self.setAccessibleName("Tokens found")
        make_list(self)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(True)
        self._fit_columns()

    def changeEvent(self, event: QEvent) -> None:
        """Columns are as wide as the type asks for, whatever that becomes."""
        super().changeEvent(event)
        if event.type() in RESTYLED:
            self._fit_columns()

    def _fit_columns(self) -> None:
        letter = self.fontMetrics().horizontalAdvance("0")
        for column, letters in enumerate((6, 9, 4)):
            self.horizontalHeader().resizeSection(column, letter * letters + 16)

    def show_tokens(self, tokens: IntArray, describe: Describe, chosen: int | None) -> None:
        """These tokens, with the cursor on the chosen one where it is among them; emits nothing."""
        self._telling = False
        self.rows.set_tokens(tokens, describe)
        at = int(np.searchsorted(tokens, chosen)) if chosen is not None else len(tokens)
        if at < len(tokens) and tokens[at] == chosen:
            if at != self.currentIndex().row():
                flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
                index = self.rows.index(at, 0)
                self.selectionModel().setCurrentIndex(index, flags)
                self.scrollTo(index)
        else:
            self.selectionModel().clear()
        self._telling = True

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        if self._telling and current.isValid():
            self.token_wanted.emit(int(self.rows.tokens[current.row()]))
