"""The breakpoints as a list with check boxes and hit counts; by mouse and by keyboard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHeaderView, QWidget

from widgets.row_list import NUMBER, Index, RowList, RowModel

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


class BreakpointModel(RowModel[BreakpointRow]):
    """Rows of `BreakpointRow`."""

    toggled = Signal(int, bool)
    """The user wants a breakpoint to be enabled, or not."""

    columns = (
        ("Stop where", "What a token has to meet; unticked ones are passed over"),
        ("Hits", "Tokens of the run on show that meet it"),
    )
    numbers = frozenset({1})

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
                return NUMBER
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """A tick is only asked for: whoever holds the breakpoints sets it."""
        if role != Qt.ItemDataRole.CheckStateRole or index.column():
            return False
        self.toggled.emit(index.row(), Qt.CheckState(value) is Qt.CheckState.Checked)
        return True


class BreakpointTable(RowList):
    """Space ticks, Enter or a double click edits, Delete removes."""

    toggled = Signal(int, bool)
    edited = Signal(int)
    removed = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Breakpoints", "Space enables or disables, Enter edits, Delete removes.", parent)
        self.rows = BreakpointModel(self)
        self.setModel(self.rows)
        self.rows.toggled.connect(self.toggled)
        header = self.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.doubleClicked.connect(lambda index: self.edited.emit(index.row()))

    def take_key(self, row: int, key: int) -> bool:
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.edited.emit(row)
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.removed.emit(row)
        elif key == Qt.Key.Key_Space:  # in any column, not only in that of the box
            self.toggled.emit(row, not self.rows.rows[row].enabled)
        else:
            return False
        return True
