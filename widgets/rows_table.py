"""A plain table of texts that are made when they are looked at, with its rows to choose from and to copy as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QItemSelectionModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QAction, QColor, QFont, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QWidget

from widgets.palette import DARK, Theme
from widgets.small_table import SmallTable

Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


@dataclass(frozen=True, slots=True)
class Column:
    """How a column is headed."""

    name: str
    tip: str
    letters: int
    """Room at first for so many; a heading that is longer gets what it needs."""
    number: bool = False
    """Numbers stand at the right."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row's texts, a column each."""

    cells: tuple[str, ...]
    ink: str = "text"
    """The theme's role that the first cell is painted in, beside the mark that it holds."""
    tip: str = ""
    faint: bool = False
    """Whether the whole row steps back."""


class RowsModel(QAbstractTableModel):
    """Asks for a row's texts when they are painted: any number of rows costs nothing."""

    def __init__(self, columns: Sequence[Column], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.columns = tuple(columns)
        self.theme: Theme = DARK
        self._count = 0
        self._row_of: Callable[[int], Row] = lambda _: Row(())

    def set_rows(self, count: int, row_of: Callable[[int], Row]) -> None:
        """Show so many rows; `row_of` gives each."""
        self.beginResetModel()
        self._count, self._row_of = count, row_of
        self.endResetModel()

    def row(self, at: int) -> Row:
        return self._row_of(at)

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else self._count

    def columnCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.row(index.row()).cells[index.column()]
            case Qt.ItemDataRole.ToolTipRole | Qt.ItemDataRole.AccessibleDescriptionRole:
                return self.row(index.row()).tip or None
            case Qt.ItemDataRole.TextAlignmentRole if self.columns[index.column()].number:
                return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            case Qt.ItemDataRole.ForegroundRole:
                return self._ink(self.row(index.row()), index.column())
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(self.columns):
            return None
        column = self.columns[section]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return column.name
            case Qt.ItemDataRole.ToolTipRole:
                return column.tip
            case Qt.ItemDataRole.TextAlignmentRole if column.number:
                return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def as_csv(self) -> str:
        """Headings and all rows, as RFC 4180 has them."""
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow([column.name for column in self.columns])
        writer.writerows(self.row(at).cells for at in range(self._count))
        return out.getvalue()

    def _ink(self, row: Row, column: int) -> QColor:
        return QColor(getattr(self.theme, "muted" if row.faint else row.ink if column == 0 else "text"))


class RowsTable(SmallTable):
    """Shows the rows of its model, of which one may be marked."""

    chosen = Signal(int)
    """The user moved to this row, or clicked it."""
    entered = Signal(int)
    """The user pressed Enter on this row."""
    escaped = Signal()
    """The user pressed Escape."""

    def __init__(
        self,
        name: str,
        columns: Sequence[Column],
        parent: QWidget | None = None,
        *,
        rows: RowsModel | None = None,
        elastic: int | None = None,
    ) -> None:
        """Make an empty table.

        Args:
            name: for screen readers.
            columns: their headings, and how wide they are.
            parent: as Qt has it.
            rows: the model, where it is to be another one than a `RowsModel` of these columns.
            elastic: the column that takes what room is left; None for the last one.
        """
        self._telling = False
        self.rows = rows or RowsModel(columns)
        super().__init__(name, self.rows, parent, spare=8)
        self.rows.setParent(self)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.fit(["n" * column.letters for column in columns], elastic)
        self.copy_action = QAction("Copy as CSV", self)
        self.copy_action.triggered.connect(self.copy)
        self.addAction(self.copy_action)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.clicked.connect(self._clicked)
        self._telling = True

    def set_rows(self, count: int, row_of: Callable[[int], Row]) -> None:
        """Show these rows, none of them marked; emits nothing."""
        self._telling = False
        self.rows.set_rows(count, row_of)
        self._telling = True

    def mark(self, at: int | None) -> None:
        """Put the cursor on this row, and bring it into sight; emits nothing."""
        self._telling = False
        if at is None or not 0 <= at < self.rows.rowCount():
            self.selectionModel().clear()
        elif at != self.currentIndex().row():
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            self.selectionModel().setCurrentIndex(self.rows.index(at, 0), flags)
            self.scrollTo(self.rows.index(at, 0))
        self._telling = True

    def apply_theme(self, theme: Theme) -> None:
        self.rows.theme = theme
        self.viewport().update()

    def copy(self) -> None:
        """Put all rows into the clipboard, as CSV."""
        QGuiApplication.clipboard().setText(self.rows.as_csv())

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        if self._telling and current.isValid() and current.row() != previous.row():
            self.chosen.emit(current.row())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.entered.emit(self.currentIndex().row())
            return
        if event.key() == Qt.Key.Key_Escape:
            self.escaped.emit()
            return
        super().keyPressEvent(event)

    def _clicked(self, index: QModelIndex) -> None:
        """A click on the row that has the cursor chooses it again: the selection may be elsewhere by now."""
        self.chosen.emit(index.row())

    def restyle(self, small: QFont) -> None:
        """Room for two rows at least."""
        row = self.fontMetrics().height() + 8
        self.setMinimumHeight(self.horizontalHeader().sizeHint().height() + 2 * row)
