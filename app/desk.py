"""What the window offers as a program, whatever it shows: actions by name and key, layouts, settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.appearance import Appearance
from app.command_list import Command, commands_of
from app.layouts_menu import LayoutsMenu
from app.named_keys import say_again, use_keys
from app.panel_keys import PanelKeys
from app.shortcut_keys import Keys

if TYPE_CHECKING:
    from app.failure import Failure
    from app.main_window import MainWindow
    from app.tools.log_book import LogBook


class Desk(QObject):
    """Connects the actions that need no session. Dialogs are imported when they are asked for."""

    keys_changed = Signal()
    """Sentences that name keys name others now."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._settings = window, window.preferences.desk
        self.keys = Keys(window.commands)
        self.layouts = LayoutsMenu(window)
        self.panels = PanelKeys(window.panels, self)
        self.appearance = Appearance(window)
        self.log: LogBook | None = None
        """Once there is a session to tell of."""
        window.commands["palette"].triggered.connect(self.show_palette)
        window.commands["keys"].triggered.connect(self.show_keys)

    def recall(self) -> None:
        """Be as the user left it."""
        self.keys.recall(self._settings.keys)
        self.tell_keys()
        self.appearance.show_look()

    def report(self, failure: Failure) -> str:
        """What a report of this fault says."""
        from app.bug_report import bug_report

        lines = self.log.lines if self.log is not None else []
        return bug_report(failure, self._window.status.model.text(), self._window.form.values(), lines)

    @property
    def commands(self) -> list[Command]:
        """Everything that the menus offer now, with its icons."""
        self._window.commands.paint_icons()
        return commands_of(self._window.menuBar())

    @Slot()
    def show_palette(self) -> None:
        """Offer every action by its name."""
        from app.command_palette import CommandPalette

        window = self._window
        palette = CommandPalette(self.commands, self._settings.recent_commands, window.theme, window)
        # Queued, so that the focus is back where it was: some actions mean the panel that has it.
        palette.chosen.connect(self._trigger, Qt.ConnectionType.QueuedConnection)
        palette.open()

    @Slot()
    def show_keys(self) -> None:
        """Show every action's key, and let them be changed."""
        from app.shortcut_sheet import ShortcutSheet

        named = [command for command in self.commands if command.action.objectName()]
        sheet = ShortcutSheet(named, self.keys, self._window)
        sheet.changed.connect(self._remember_keys)
        sheet.open()

    @Slot(object)
    def _trigger(self, command: Command) -> None:
        self._settings.remember_command(command.key)
        command.action.trigger()

    def tell_keys(self) -> None:
        """Have everything name the keys that actions have now."""
        use_keys(self.keys.now())
        say_again(self._window)
        self.keys_changed.emit()

    @Slot()
    def _remember_keys(self) -> None:
        self._settings.keys = self.keys.chosen()
        self.tell_keys()
