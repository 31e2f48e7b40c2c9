"""What happened, line by line: the time, what kind of thing it is, and a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QAction, QColor, QGuiApplication
from PySide6.QtWidgets import QHeaderView, QTableView, QWidget

from widgets.palette import DARK, Theme
from widgets.plain_table import make_heading_plain, make_plain

Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()
HEADS = ("Time", "Kind", "What happened")


class Kind(Enum):
    """How much a line wants to be seen: a sign beside the word, so that its colour need not be."""

    NOTE = "· note"
    WARNING = "▲ warning"
    ERROR = "✕ error"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line."""

    time: datetime
    kind: Kind
    text: str
    details: str = ""
    """Such as a traceback; shown as the tooltip, and copied."""

    @property
    def line(self) -> str:
        """As plain text, without its details."""
        return f"{self.time:%H:%M:%S} {self.kind.value[2:]}: {self.text}"


class LogModel(QAbstractTableModel):
    """At most `most` entries, the newest last; the oldest make room."""

    def __init__(self, most: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._most = most
        self._entries: list[LogEntry] = []
        self._theme: Theme = DARK

    @property
    def entries(self) -> list[LogEntry]:
        return list(self._entries)

    def add(self, entries: Sequence[LogEntry]) -> None:
        """Put these at the end."""
        entries = entries[-self._most :]
        if not entries:
            return
        surplus = len(self._entries) + len(entries) - self._most
        if surplus > 0:
            self.beginRemoveRows(_NOWHERE, 0, surplus - 1)
            del self._entries[:surplus]
            self.endRemoveRows()
        first = len(self._entries)
        self.beginInsertRows(_NOWHERE, first, first + len(entries) - 1)
        self._entries += entries
        self.endInsertRows()

    def clear(self) -> None:
        self.beginResetModel()
        self._entries.clear()
        self.endResetModel()

    def apply_theme(self, theme: Theme) -> None:
        self._theme = theme
        if self._entries:
            self.dataChanged.emit(self.index(0, 0), self.index(self.rowCount() - 1, len(HEADS) - 1))

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._entries)

    def columnCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(HEADS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return HEADS[section]
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        entry = self._entries[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return (f"{entry.time:%H:%M:%S}", entry.kind.value, entry.text)[index.column()]
            case Qt.ItemDataRole.ToolTipRole:
                return entry.details or entry.text
            case Qt.ItemDataRole.ForegroundRole if index.column() < 2:
                colours = {Kind.WARNING: self._theme.caution, Kind.ERROR: self._theme.wrong}
                return QColor(colours.get(entry.kind, self._theme.muted))
        return None


class LogView(QTableView):
    """Shows a `LogModel` and stays at its end until the user scrolls away.

    `copy_action` and `clear_action` are for the header of the panel that shows this.
    """

    def __init__(self, rows: LogModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows = rows
        self.setModel(rows)
        self.setAccessibleName("Log")
        self.setAccessibleDescription("What happened, the newest last")
        self._set_up()
        self.copy_action = QAction("Copy", self)
        self.copy_action.setToolTip("Copy the selected lines, or all, with their details")
        self.copy_action.triggered.connect(self.copy)
        self.clear_action = QAction("Clear", self)
        self.clear_action.setToolTip("Forget what has happened so far")
        self.clear_action.triggered.connect(rows.clear)
        self._at_end = True
        rows.rowsAboutToBeInserted.connect(self._note_place)
        rows.rowsInserted.connect(self._follow)

    def copy(self) -> None:
        """Put the selected lines, or all, on the clipboard."""
        chosen = sorted({index.row() for index in self.selectedIndexes()})
        entries = self.rows.entries
        taken = [entries[row] for row in chosen] or entries
        text = "\n".join(f"{one.line}\n{one.details}".rstrip() for one in taken)
        QGuiApplication.clipboard().setText(text)

    def apply_theme(self, theme: Theme) -> None:
        self.rows.apply_theme(theme)
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 8)
        self._fit_columns()

    def _note_place(self) -> None:
        bar = self.verticalScrollBar()
        self._at_end = bar.value() >= bar.maximum()

    def _follow(self) -> None:
        if self._at_end:
            self.scrollToBottom()

    def _set_up(self) -> None:
        make_plain(self, several=True)
        make_heading_plain(self)
        self.setWordWrap(False)
        header = self.horizontalHeader()
        header.setStretchLastSection(True)
        for column in range(2):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Interactive)
        self._fit_columns()

    def _fit_columns(self) -> None:
        for column, example in enumerate(("00:00:00", Kind.WARNING.value)):
            self.horizontalHeader().resizeSection(column, self.fontMetrics().horizontalAdvance(example) + 28)
