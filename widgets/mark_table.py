"""Bookmarks and their notes as a list: jumped to with Enter, written beside with F2, taken away with Delete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QWidget

from widgets.row_list import Index, RowList, RowModel

NOTE = 2


@dataclass(frozen=True, slots=True)
class MarkRow:
    """One mark as the list shows it."""

    where: str
    text: str
    note: str
    here: bool = True
    """Whether its run is on show."""


class MarkModel(RowModel[MarkRow]):
    """Rows of `MarkRow`."""

    noted = Signal(int, str)
    """The user wrote a note in a row."""

    columns = (
        ("Where", "Run, token and layer, counted from 1"),
        ("Text", "What the token says; of the run on show only"),
        ("Note", "What you want to remember (F2 writes)"),
    )

    def flags(self, index: Index) -> Qt.ItemFlag:
        editable = Qt.ItemFlag.ItemIsEditable if index.column() == NOTE else Qt.ItemFlag.NoItemFlags
        return super().flags(index) | editable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row = self.rows[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.EditRole:
                return (row.where, row.text, row.note)[index.column()]
            case Qt.ItemDataRole.ToolTipRole | Qt.ItemDataRole.AccessibleDescriptionRole:
                return " · ".join(filter(None, (row.where, row.text, row.note)))
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """A note is only asked for: whoever holds the marks sets it."""
        if role != Qt.ItemDataRole.EditRole or index.column() != NOTE:
            return False
        self.noted.emit(index.row(), str(value))
        return True


class MarkTable(RowList):
    """Enter or a double click jumps, F2 writes the note, Delete takes the mark away."""

    wanted = Signal(int)
    noted = Signal(int, str)
    removed = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Bookmarks", "Enter goes there, F2 writes a note, Delete takes the bookmark away.", parent)
        self.rows = MarkModel(self)
        self.setModel(self.rows)
        self.rows.noted.connect(self.noted)
        header = self.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        header.setMaximumSectionSize(140)
        header.setStretchLastSection(True)
        self.doubleClicked.connect(lambda index: self.wanted.emit(index.row()))

    def take_key(self, row: int, key: int) -> bool:
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.wanted.emit(row)
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.removed.emit(row)
        elif key == Qt.Key.Key_F2:
            self.write(row)
        else:
            return False
        return True

    def write(self, row: int) -> None:
        """Let the user type this row's note, or go on with it."""
        writing = self.state() is QAbstractItemView.State.EditingState
        if 0 <= row < self.rows.rowCount() and not writing:
            self.setCurrentIndex(self.rows.index(row, NOTE))
            self.edit(self.rows.index(row, NOTE))
