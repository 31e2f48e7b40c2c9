"""The breakpoints as a list with check boxes and hit counts; by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()
_COLUMNS = (
    ("Stop where", "What a token has to meet; unticked ones are passed over"),
    ("Hits", "Tokens of the run on show that meet it"),
)
UNKNOWN = "–"
"""Stands for a number of hits that the run cannot tell."""


@dataclass(frozen=True, slots=True)
class BreakpointRow:
    """One breakpoint as the list shows it."""

    label: str
    enabled: bool
    hits: int | None
    """None where the run on show cannot tell."""
    tip: str = ""
    """A sentence on why not, or on what is wrong with it."""


class BreakpointModel(QAbstractTableModel):
    """Rows of `BreakpointRow`."""

    toggled = Signal(int, bool)
    """The user wants a breakpoint to be enabled, or not."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows: tuple[BreakpointRow, ...] = ()

    def set_rows(self, rows: Sequence[BreakpointRow]) -> None:
        """Show these; where there are as many as before, the cursor stays in its row."""
        same = len(rows) == len(self.rows)
        if same and tuple(rows) == self.rows:
            return
        if not same:
            self.beginResetModel()
        self.rows = tuple(rows)
        if same:
            self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, len(_COLUMNS) - 1))
        else:
            self.endResetModel()

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(_COLUMNS)

    def flags(self, index: Index) -> Qt.ItemFlag:
        checkable = Qt.ItemFlag.ItemIsUserCheckable if index.column() == 0 else Qt.ItemFlag.NoItemFlags
        return super().flags(index) | checkable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row, first = self.rows[index.row()], index.column() == 0
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return row.label if first else UNKNOWN if row.hits is None else f"{row.hits}"
            case Qt.ItemDataRole.CheckStateRole if first:
                return Qt.CheckState.Checked if row.enabled else Qt.CheckState.Unchecked
            case Qt.ItemDataRole.ToolTipRole | Qt.ItemDataRole.AccessibleDescriptionRole:
                return row.tip or row.label
            case Qt.ItemDataRole.TextAlignmentRole if not first:
                return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """A tick is only asked for: whoever holds the breakpoints sets it."""
        if role != Qt.ItemDataRole.CheckStateRole or index.column():
            return False
        self.toggled.emit(index.row(), Qt.CheckState(value) is Qt.CheckState.Checked)
        return True

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(_COLUMNS):
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole and section:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.DisplayRole:
            return _COLUMNS[section][0]
        return _COLUMNS[section][1] if role == Qt.ItemDataRole.ToolTipRole else None


class BreakpointTable(QTableView):
    """Space ticks, Enter or a double click edits, Delete removes."""

    toggled = Signal(int, bool)
    edited = Signal(int)
    removed = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows = BreakpointModel(self)
        self.setModel(self.rows)
        self.rows.toggled.connect(self.toggled)
        self.setAccessibleName("Breakpoints")
        self.setAccessibleDescription("Space enables or disables, Enter edits, Delete removes.")
        plain_table(self)
        header = self.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.doubleClicked.connect(lambda index: self.edited.emit(index.row()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row, key = self.currentIndex().row(), event.key()
        if row < 0 or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            super().keyPressEvent(event)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.edited.emit(row)
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.removed.emit(row)
        elif key == Qt.Key.Key_Space:  # in any column, not only in that of the box
            self.toggled.emit(row, not self.rows.rows[row].enabled)
        else:
            super().keyPressEvent(event)

    def choose(self, row: int) -> None:
        """Put the cursor into this row, or the last one where there are fewer."""
        if self.rows.rowCount():
            self.setCurrentIndex(self.rows.index(min(row, self.rows.rowCount() - 1), 0))


def plain_table(table: QTableView) -> None:
    """A list of rows: chosen as a whole, read and not typed into, with Tab leading out of it."""
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.setTabKeyNavigation(False)
    table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(table.fontMetrics().height() + 8)
    table.horizontalHeader().setHighlightSections(False)
    table.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
