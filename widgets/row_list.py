"""What lists of rows share that are worked from the keyboard: breakpoints, bookmarks, what was found."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QTableView, QWidget

from widgets.plain_table import keep_rows_high, make_heading_plain, make_plain

Index = QModelIndex | QPersistentModelIndex
Row = TypeVar("Row")
_NOWHERE = QModelIndex()
NUMBER = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class RowModel(QAbstractTableModel, Generic[Row]):
    """Rows of one kind; what their cells say is told by the class below."""

    columns: tuple[tuple[str, str], ...] = ()
    """Headings, with a sentence on each."""
    numbers: frozenset[int] = frozenset()
    """Which columns hold numbers."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows: tuple[Row, ...] = ()

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show these; where there are as many as before, the cursor stays in its row."""
        rows = tuple(rows)
        if rows == self.rows:
            return
        same = len(rows) == len(self.rows)
        if not same:
            self.beginResetModel()
        self.rows = rows
        if same:
            self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, len(self.columns) - 1))
        else:
            self.endResetModel()

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        return heading(self.columns, self.numbers, section, orientation, role)


class RowList(QTableView):
    """A plain table whose rows are worked by keys."""

    def __init__(self, name: str, keys: str, parent: QWidget | None = None) -> None:
        """`name` and `keys`, a sentence on what keys do, are for screen readers."""
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setAccessibleDescription(keys)
        make_list(self)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row, plain = self.currentIndex().row(), not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if row < 0 or not plain or not self.take_key(row, event.key()):
            super().keyPressEvent(event)

    def choose(self, row: int) -> None:
        """Put the cursor into this row, or the last one where there are fewer."""
        if count := self.model().rowCount():
            self.setCurrentIndex(self.model().index(min(row, count - 1), 0))

    # What subclasses say. Qt's metaclass leaves no room for ABC's; the type checker refuses to make what lacks one.

    @abstractmethod
    def take_key(self, row: int, key: int) -> bool:
        """Do what a plain key means in the current row; False leaves it to the table."""


def make_list(table: QTableView) -> None:
    """A plain table whose rows are a little higher than their text, one line each."""
    make_plain(table)
    make_heading_plain(table)
    table.setWordWrap(False)
    table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    keep_rows_high(table, 8)


def heading(
    columns: Sequence[tuple[str, str]],
    numbers: Collection[int],
    section: int,
    orientation: Qt.Orientation,
    role: int,
) -> Any:
    """What `headerData` gives for columns of these headings and tips, of which some hold numbers."""
    if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(columns):
        return None
    if role == Qt.ItemDataRole.TextAlignmentRole and section in numbers:
        return NUMBER
    if role == Qt.ItemDataRole.DisplayRole:
        return columns[section][0]
    return columns[section][1] if role == Qt.ItemDataRole.ToolTipRole else None
