"""The menu bar: every action of the table has its place here, and none is anywhere else only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMenu

from app.action_table import (
    ALL,
    BREAKPOINTS,
    COMPARE,
    EDIT,
    ENGINE_SETTINGS,
    EXPORT,
    FIND,
    HELP,
    LOOKS,
    MARKS,
    RUN,
    SELECT,
    THEMES,
    TRAVEL,
    WHAT_IF,
)
from app.places import PLACES

if TYPE_CHECKING:
    from app.main_window import MainWindow


def fill_menu_bar(window: MainWindow) -> None:
    """Make the menus of a window that has its actions, its recent menus and its panels."""
    bar = window.menuBar()
    _fill_file(window, bar.addMenu("&File"))
    bar.addMenu("Edit").addActions(window.commands.some(EDIT))
    fill_model_menu(window, bar.addMenu("&Model"))
    _fill_run(window, bar.addMenu("&Run"))
    _fill_debug(window, bar.addMenu("De&bug"))
    _fill_view(window, bar.addMenu("&View"))
    bar.addMenu("&Help").addActions(window.commands.some(HELP))
    # A key only answers where a visible widget carries its action, and a desktop may take the menus away.
    window.addActions([*window.commands.some(ALL), *(window.commands[f"panel_{place.key}"] for place in PLACES)])


def fill_model_menu(window: MainWindow, menu: QMenu) -> QMenu:
    """Put the models' actions in a menu, which the toolbar shows too."""
    commands = window.commands
    menu.addAction(commands["default_model"])
    menu.addActions([commands["open_folder"], commands["open_gguf"], commands["open_hub"]])
    menu.addMenu(window.recent)
    menu.addSeparator()
    menu.addActions([commands["reload"], commands["parts"], commands["train"]])
    return menu


def _fill_file(window: MainWindow, menu: QMenu) -> None:
    commands = window.commands
    menu.addActions([commands["new_session"], commands["open_session"]])
    menu.addMenu(window.recent_sessions)
    menu.addActions([commands["save_session"], commands["save_session_as"]])
    export = menu.addMenu("&Export")
    export.addActions(commands.some(EXPORT))
    menu.addSeparator()
    menu.addMenu("Engine se&ttings").addActions(commands.some(ENGINE_SETTINGS))
    menu.addAction(commands["settings"])
    menu.addSeparator()
    menu.addAction(commands["quit"])


def _fill_run(window: MainWindow, menu: QMenu) -> None:
    menu.addActions(window.commands.some(RUN))
    menu.addSeparator()
    menu.addActions(window.commands.some(TRAVEL))
    menu.addSeparator()
    menu.addActions(window.commands.some(SELECT))
    menu.addSeparator()
    menu.addMenu(window.runs)
    menu.addMenu("Co&mpare").addActions(window.commands.some(COMPARE))


def _fill_debug(window: MainWindow, menu: QMenu) -> None:
    for part in (BREAKPOINTS, MARKS, FIND, WHAT_IF):
        menu.addActions(window.commands.some(part))
        menu.addSeparator()


def _fill_view(window: MainWindow, menu: QMenu) -> None:
    commands = window.commands
    menu.addActions([commands[f"panel_{place.key}"] for place in PLACES])
    menu.addSeparator()
    menu.addMenu(window.desk.layouts.menu)
    menu.addAction(commands["maximise"])
    menu.addMenu("&Theme").addActions(commands.some(THEMES))
    menu.addMenu("T&ype").addActions(commands.some(LOOKS))
