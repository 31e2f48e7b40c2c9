"""All that can be chosen in the menus, as one list: for the command palette and the sheet of keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

ARROW = " ▸ "


@dataclass(frozen=True, slots=True)
class Command:
    """One entry of a menu."""

    action: QAction
    title: str
    """Without mnemonic and dots."""
    path: str
    """The menus that lead to it: "View ▸ Theme"."""

    @property
    def key(self) -> str:
        """What it is remembered by: an action's name, or where it is found."""
        return self.action.objectName() or f"{self.path}{ARROW}{self.title}"

    @property
    def shortcut(self) -> str:
        return self.action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)

    @property
    def reason(self) -> str:
        """Why it cannot be chosen now, as far as somebody has said so."""
        if self.action.isEnabled():
            return ""
        return str(self.action.property("reason") or "cannot be used now")


def commands_of(bar: QMenuBar) -> list[Command]:
    """The entries of all menus, in their order; menus that are filled when they open are filled first."""
    _fill(bar)  # before any is looked at: one that is filled may empty another
    found: dict[int, Command] = {}
    for action in bar.actions():
        menu = _menu(action)
        if menu is not None:
            for command in _entries(menu, words(menu.title())):
                found.setdefault(id(command.action), command)
    return list(found.values())


def words(text: str) -> str:
    """A menu's or an action's text without its mnemonic and the dots that say that a question follows."""
    return text.replace("&&", "\0").replace("&", "").replace("\0", "&").rstrip("…")


def _menu(action: QAction) -> QMenu | None:
    menu: QWidget | None = action.menu()  # type: ignore[assignment]
    return menu if isinstance(menu, QMenu) else None


def _fill(menus: QMenuBar | QMenu) -> None:
    for action in menus.actions():
        if (menu := _menu(action)) is not None:
            menu.aboutToShow.emit()
            _fill(menu)


def _entries(menu: QMenu, path: str) -> Iterator[Command]:
    for action in menu.actions():
        below = _menu(action)
        if below is not None:
            yield from _entries(below, f"{path}{ARROW}{words(below.title())}")
        elif not action.isSeparator() and (action.objectName() or action.isEnabled()):
            yield Command(action, words(action.text()), path)
