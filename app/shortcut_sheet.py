"""The sheet of keys: every action with the menus that lead to it and its key, which can be changed by pressing it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import (
    QEvent,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtGui import QFont, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QPushButton,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from app.command_list import Command
from app.forms import Note, labelled, named
from app.shortcut_keys import Keys
from widgets.plain_table import keep_rows_high, make_heading_plain, make_plain
from widgets.row_list import Index, RowModel

SIZE = (720, 560)
SEE_ALSO = "Always: Ctrl+Enter runs the prompt being written; in a view ← → go by token, ↑ ↓ by layer."
WAITING = "Press the new key; Esc leaves it as it is"
_MODIFIERS = (Qt.Key.Key_Control, Qt.Key.Key_Shift, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr)


class KeyModel(RowModel[Command]):
    """One row an action."""

    columns = (("Action", ""), ("Menu", ""), ("Key", ""))

    def __init__(self, commands: Sequence[Command], keys: Keys, parent: QWidget) -> None:
        super().__init__(parent)
        self._keys = keys
        self.set_rows(commands)

    def name(self, row: int) -> str:
        return self.rows[row].action.objectName()

    def tell_changed(self) -> None:
        """The keys are other ones now."""
        self.dataChanged.emit(self.index(0, 0), self.index(self.rowCount() - 1, len(self.columns) - 1))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        command = self.rows[index.row()]
        changed = self._keys.is_changed(self.name(index.row()))
        match role:
            case Qt.ItemDataRole.DisplayRole:
                key = f"{command.shortcut}  ✎" if changed else command.shortcut
                return (command.title, command.path, key)[index.column()]
            case Qt.ItemDataRole.ToolTipRole:
                return "You chose this key" if changed and index.column() == 2 else command.action.statusTip()
            case Qt.ItemDataRole.FontRole if changed and index.column() == 2:
                font = QFont()
                font.setBold(True)
                return font
        return None


class KeyCatcher(QLineEdit):
    """Takes the next key as a whole; Tab and Esc keep their meaning, so that nobody is caught in it."""

    pressed = Signal(object)
    """The `QKeySequence`; an empty one where the user left."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        named(self, "New key", WAITING)
        self.setReadOnly(True)
        self.setPlaceholderText(WAITING)

    def event(self, event: QEvent) -> bool:
        """No action may take the key before."""
        if event.type() is QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _MODIFIERS:
            return
        left = event.key() == Qt.Key.Key_Escape and not event.modifiers()
        self.pressed.emit(QKeySequence() if left else QKeySequence(event.keyCombination()))


class ShortcutSheet(QDialog):
    """Looks keys up and changes them; `changed` says that something is to be remembered."""

    changed = Signal()

    def __init__(self, commands: Sequence[Command], keys: Keys, parent: QWidget) -> None:
        """`commands` of the registry only: each has an action with a name."""
        super().__init__(parent)
        self.setWindowTitle("Keyboard shortcuts")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.keys = keys
        self.rows = KeyModel(commands, keys, self)
        self.filter = named(QLineEdit(), "Filter", "Show only actions, menus and keys that contain this")
        self.filter.setPlaceholderText("Filter by action, menu or key")
        self.table = self._make_table()
        self.catcher, self.note = KeyCatcher(), Note()
        self._make_buttons()
        self._lay_out()
        self._connect()
        self.resize(*SIZE)
        self.table.selectRow(0)
        self._finish()

    @property
    def name(self) -> str:
        """The action that is chosen; "" for none."""
        index = self.table.currentIndex()
        return self.rows.name(self._shown.mapToSource(index).row()) if index.isValid() else ""

    def choose(self, name: str) -> None:
        """Choose the row of this action."""
        row = next(row for row in range(self.rows.rowCount()) if self.rows.name(row) == name)
        self.table.setCurrentIndex(self._shown.mapFromSource(self.rows.index(row, 0)))

    def catch(self) -> None:
        """Wait for the chosen action's new key."""
        if self.name:
            self.note.clear()
            self.catcher.show()
            self.catcher.setFocus()

    def _take(self, key: QKeySequence) -> None:
        problem = self.keys.change(self.name, key) if key.count() else ""
        if problem:
            self.note.show_error(problem)
            return
        self._finish(told=bool(key.count()))
        self.table.setFocus()

    def _reset(self) -> None:
        if problem := self.keys.reset(self.name) if self.name else "":
            self.note.show_error(problem)
        else:
            self._finish(told=True)

    def _reset_all(self) -> None:
        self.keys.reset_all()
        self._finish(told=True)

    def _finish(self, *, told: bool = False) -> None:
        self.catcher.hide()
        self.note.clear()
        if told:
            self.rows.tell_changed()
            self.changed.emit()
        self._show_buttons()

    def _show_buttons(self) -> None:
        self.change.setEnabled(bool(self.name))
        self.reset.setEnabled(bool(self.name) and self.keys.is_changed(self.name))
        self.reset_all.setEnabled(bool(self.keys.chosen()))

    def _chosen_row_changed(self) -> None:
        self._finish()

    def _search(self, text: str) -> None:
        self._shown.setFilterFixedString(text)
        self.table.selectRow(0)
        self._finish()

    def _make_table(self) -> QTableView:
        self._shown = QSortFilterProxyModel(self)
        self._shown.setSourceModel(self.rows)
        self._shown.setFilterKeyColumn(-1)
        self._shown.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        table = named(QTableView(), "Keys", "Enter changes the chosen action’s key")
        table.setModel(self._shown)
        make_plain(table)
        make_heading_plain(table)
        keep_rows_high(table, 10)
        table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        header = table.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column in (1, 2):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        return table

    def _make_buttons(self) -> None:
        self.change = named(QPushButton("&Change key"), "Change key", "Press a new key for the chosen action (Enter)")
        self.reset = named(QPushButton("&Reset key"), "Reset key", "Give the chosen action its first key back")
        self.reset_all = named(QPushButton("Reset &all"), "Reset all", "Give every action its first key back")
        self.close_button = named(QPushButton("Close"), "Close", "Close this sheet (Esc)")
        for button in (self.change, self.reset, self.reset_all, self.close_button):
            button.setAutoDefault(False)

    def _lay_out(self) -> None:
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        for button in (self.change, self.reset, self.reset_all):
            buttons.addWidget(button)
        buttons.addStretch(1)
        buttons.addWidget(self.close_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 16, 18, 14)
        column.setSpacing(10)
        column.addWidget(self.filter)
        column.addWidget(self.table, 1)
        column.addWidget(self.catcher)
        column.addWidget(self.note)
        column.addWidget(labelled(SEE_ALSO, "muted"))
        column.addLayout(buttons)

    def _connect(self) -> None:
        self.filter.textChanged.connect(self._search)
        self.table.activated.connect(self.catch)
        self.table.selectionModel().currentRowChanged.connect(self._chosen_row_changed)
        self.catcher.pressed.connect(self._take)
        self.change.clicked.connect(self.catch)
        self.reset.clicked.connect(self._reset)
        self.reset_all.clicked.connect(self._reset_all)
        self.close_button.clicked.connect(self.reject)
