"""The command palette: every action found by a few letters of its name, and triggered by Enter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFont, QFontMetrics, QIcon, QKeyEvent, QPainter, QPaintEvent, QPalette, QShowEvent
from PySide6.QtWidgets import (
    QDialog,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from app.command_list import Command
from app.command_search import ranked
from app.forms import Note, labelled, named
from widgets.palette import Theme
from widgets.theme import RADIUS, SMALL, mixed

Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()
LONGEST_TOLD = 60
"""Characters of a question without an answer that are repeated."""
SIZE = QSize(620, 420)
TOP = 64
"""Pixels below the window's upper edge."""
COMMAND = Qt.ItemDataRole.UserRole
PADDING, GAP, ICON = 12, 14, 16
PAGE = 8
MOVES = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -PAGE, Qt.Key.Key_PageDown: PAGE}
"""Rows that a key moves the choice by."""


class CommandModel(QAbstractListModel):
    """The commands that answer to the query, the best first."""

    def __init__(self, commands: Sequence[Command], recent: Sequence[str], parent: QWidget) -> None:
        super().__init__(parent)
        self._commands, self._recent = commands, recent
        self._entries = [(one.key, one.title, f"{one.path} {one.action.statusTip()}") for one in commands]
        self.shown = ranked("", self._entries, recent)

    def set_query(self, query: str) -> None:
        self.beginResetModel()
        self.shown = ranked(query, self._entries, self._recent)
        self.endResetModel()

    def command(self, row: int) -> Command:
        return self._commands[self.shown[row]]

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.shown)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        command = self.command(index.row())
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return command.title
            case Qt.ItemDataRole.AccessibleTextRole:
                return spoken(command)
            case Qt.ItemDataRole.ToolTipRole:
                return command.action.toolTip()
        return command if role == COMMAND else None


def spoken(command: Command) -> str:
    """A row in words."""
    parts = (command.title, command.path, command.shortcut, command.reason and f"not now: {command.reason}")
    return ", ".join(part for part in parts if part)


class CommandRow(QStyledItemDelegate):
    """Paints a row: icon, name, then the menus that lead there or why it cannot be chosen, and the key at the end."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, option.fontMetrics.height() + 14)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        command: Command = index.data(COMMAND)
        state: QStyle.StateFlag = option.state
        area: QRect = option.rect
        painter.save()
        if state & QStyle.StateFlag.State_Selected:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._theme.selection))
            painter.drawRoundedRect(area.adjusted(2, 1, -2, -1), RADIUS - 2, RADIUS - 2)
        self._paint_words(painter, area.adjusted(PADDING, 0, -PADDING, 0), command, option.font)
        painter.restore()

    def _paint_words(self, painter: QPainter, area: QRect, command: Command, font: QFont) -> None:
        usable = command.action.isEnabled()
        mode = QIcon.Mode.Normal if usable else QIcon.Mode.Disabled
        place = QRect(area.left(), area.center().y() - ICON // 2 + 1, ICON, ICON)
        command.action.icon().paint(painter, place, Qt.AlignmentFlag.AlignCenter, mode)
        painter.setFont(font)
        faint = QColor(mixed(self._theme.muted, self._theme.surface, 0.35))
        painter.setPen(QColor(self._theme.text) if usable else faint)
        left = area.left() + ICON + PADDING - 2
        line = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
        painter.drawText(area.adjusted(left - area.left(), 0, 0, 0), line, command.title)
        left += QFontMetrics(font).horizontalAdvance(command.title) + GAP
        small = QFont(font)
        small.setPointSizeF(font.pointSizeF() * SMALL)
        painter.setFont(small)
        painter.setPen(QColor(self._theme.muted))
        painter.drawText(area, line | Qt.AlignmentFlag.AlignRight, command.shortcut)
        metrics = QFontMetrics(small)
        room = area.right() - metrics.horizontalAdvance(command.shortcut) - GAP - left
        note = command.path if usable else command.reason
        shown = metrics.elidedText(note, Qt.TextElideMode.ElideRight, max(0, room))
        painter.drawText(QRect(left, area.top(), max(0, room), area.height()), line, shown)


class CommandPalette(QDialog):
    """A list of commands under a line to type in. It only tells what was chosen, once it is gone."""

    chosen = Signal(object)
    """The `Command` to trigger."""

    def __init__(self, commands: Sequence[Command], recent: Sequence[str], theme: Theme, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.FramelessWindowHint | Qt.WindowType.Dialog)
        self.setWindowTitle("Command palette")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._theme, self._over = theme, parent.window()
        self.query = named(QLineEdit(), "Command", "Type a part of an action’s name, or of its menu’s")
        self.query.setPlaceholderText("Type what you want to do")
        self.rows = CommandModel(commands, recent, self)
        self.list = named(QListView(), "Commands", "The arrow keys choose, Enter does it, Esc leaves")
        self.list.setModel(self.rows)
        self.list.setItemDelegate(CommandRow(theme, self.list))
        self.list.setMouseTracking(True)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the line keeps it, and moves the choice
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.note = Note()
        self._lay_out()
        self.query.installEventFilter(self)
        self.query.textChanged.connect(self._search)
        self.query.returnPressed.connect(self.choose)
        self.list.clicked.connect(self._clicked)
        self._search("")

    def showEvent(self, event: QShowEvent) -> None:
        """In the middle of the window, below its toolbar."""
        super().showEvent(event)
        over = self._over
        self.resize(min(SIZE.width(), over.width() - 40), min(SIZE.height(), over.height() - 2 * TOP))
        self.move(over.mapToGlobal(QPoint((over.width() - self.width()) // 2, TOP)))
        self.query.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The keys that move the choice do so while the line keeps the focus."""
        if event.type() is QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and event.key() in MOVES:
            self._move(MOVES[Qt.Key(event.key())])
            return True
        return super().eventFilter(watched, event)

    def changeEvent(self, event: QEvent) -> None:
        """Gone as soon as the user turns to something else."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.ActivationChange and self.isVisible() and not self.isActiveWindow():
            self.reject()

    def choose(self) -> None:
        """Close and tell the chosen command; one that cannot be used says why."""
        index = self.list.currentIndex()
        if not index.isValid():
            return
        command = self.rows.command(index.row())
        if not command.action.isEnabled():
            self.note.show_caution(f"{command.title}: {command.reason}.")
            return
        self.accept()
        self.chosen.emit(command)

    def paintEvent(self, event: QPaintEvent) -> None:
        """A card; off a compositor its corners stay square."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), self.palette().color(QPalette.ColorRole.Base))
        painter.setPen(QColor(mixed(self._theme.line, self._theme.muted, 0.35)))
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 10)
        column.setSpacing(8)
        column.addWidget(self.query)
        column.addWidget(self.list, 1)
        column.addWidget(self.note)
        self.hint = labelled("↑ ↓ choose · Enter does it · Esc leaves", "muted")
        column.addWidget(self.hint)

    def _search(self, query: str) -> None:
        self.note.clear()
        self.rows.set_query(query)
        if self.rows.rowCount():
            self.list.setCurrentIndex(self.rows.index(0, 0))
        else:
            asked = query.strip()
            shown = asked if len(asked) <= LONGEST_TOLD else f"{asked[:LONGEST_TOLD]}…"
            self.note.show_remark(f"No action answers to “{shown}”.")

    def _move(self, by: int) -> None:
        count = self.rows.rowCount()
        if count:
            self.note.clear()
            row = min(count - 1, max(0, self.list.currentIndex().row() + by))
            self.list.setCurrentIndex(self.rows.index(row, 0))

    def _clicked(self, index: QModelIndex) -> None:
        self.list.setCurrentIndex(index)
        self.choose()
