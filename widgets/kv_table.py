"""The K/V map as a table, one row a token: for the keyboard and for screen readers."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QItemSelectionModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtWidgets import QWidget

from core.analysis.kv_map import KVState
from core.analysis.kv_reading import UNREAD, KVLook
from widgets.kv_words import NOT_READ, filled_by, layers_in, row_words
from widgets.selection import Selection
from widgets.small_table import SmallTable

Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()

COLUMNS = (
    ("Token", "Counted from 1", "0000"),
    ("Text", "The token that was fed in", "n" * 12),
    ("Held", "Layers whose entries the token’s own pass wrote", "00–00, 00–00"),
    ("Skipped", "Layers whose entries are missing", "00–00"),
    ("Propagated", "Layers whose entries were made from the state that the pass left with", "00–00"),
    ("Recomputed", "Layers that later passes caught up", "00–00"),
    ("By tokens", "The tokens whose passes caught them up", "000, 000"),
)
"""Name, explanation and a sample to size the column by."""
LONGEST = 40


def cells(look: KVLook, token: int) -> tuple[str, ...]:
    """A row, by `COLUMNS`."""
    states = look.rows(token, token + 1)[0]
    name = (f"{token + 1}", look.text(token)[:LONGEST])
    if states[0] == UNREAD:
        return (*name, NOT_READ, "", "", "", "")
    order = (KVState.HELD, KVState.SKIPPED, KVState.PROPAGATED, KVState.RECOMPUTED)
    return (*name, *(layers_in(states, state) for state in order), filled_by(look, token))


class KVTableModel(QAbstractTableModel):
    """One row a generated token; a cell is put into words when it is asked for."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.look: KVLook | None = None
        self._count = 0

    def set_look(self, look: KVLook | None) -> None:
        """Show this, and again after more of it was read or the run went on."""
        count = look.count if look else 0
        if count < self._count or look is None or self.look is None or look.reading is not self.look.reading:
            self.beginResetModel()
            self.look, self._count = look, count
            self.endResetModel()
            return
        self.look = look
        if count > self._count:
            self.beginInsertRows(QModelIndex(), self._count, count - 1)
            self._count = count
            self.endInsertRows()
        if count:
            self.dataChanged.emit(self.index(0, 0), self.index(count - 1, len(COLUMNS) - 1))

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else self._count

    def columnCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if self.look is None or not index.isValid():
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return cells(self.look, index.row())[index.column()]
            case Qt.ItemDataRole.ToolTipRole | Qt.ItemDataRole.AccessibleDescriptionRole:
                words = row_words(self.look.rows(index.row(), index.row() + 1)[0])
                return f"Token {index.row() + 1}: {words}"
            case Qt.ItemDataRole.TextAlignmentRole if index.column() == 0:
                return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(COLUMNS):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return COLUMNS[section][0]
        return COLUMNS[section][1] if role == Qt.ItemDataRole.ToolTipRole else None


class KVTable(SmallTable):
    """Shows the model; the row with the cursor is the selected token."""

    selected = Signal(object)
    """A `Selection` that the user asks for."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._telling = True
        self.selection = Selection()
        self.rows = KVTableModel()
        super().__init__("K/V map as a table", self.rows, parent)
        self.rows.setParent(self)
        self.fit([sample for _, _, sample in COLUMNS])

    def set_look(self, look: KVLook | None) -> None:
        """Show this, and again after more of it was read."""
        self._telling = False
        self.rows.set_look(look)
        self._telling = True
        self._mark()

    def set_selection(self, selection: Selection) -> None:
        """Put the cursor on this token; emits nothing."""
        self.selection = selection
        self._mark()

    def in_view(self) -> tuple[int, int]:
        """First and one past the last of the rows in view."""
        first, last = self.rowAt(0), self.rowAt(self.viewport().height() - 1)
        count = self.rows.rowCount()
        return max(first, 0), count if last < 0 else last + 1

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        if self._telling and current.isValid():
            self.selected.emit(Selection(current.row(), self.selection.layer))

    def _mark(self) -> None:
        token, self._telling = self.selection.token, False
        if token is None or token >= self.rows.rowCount():
            self.selectionModel().clear()
        elif token != self.currentIndex().row():
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            self.selectionModel().setCurrentIndex(self.rows.index(token, 0), flags)
            self.scrollTo(self.rows.index(token, 0))
        self._telling = True
