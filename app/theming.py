"""Light or dark, as the user or the desktop wants it, and at once when either changes their mind."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QApplication

from app.main_window import MainWindow
from app.settings import ThemeMode
from widgets import theme as looks
from widgets.palette import DARK, LIGHT, Theme, system_theme

_SCHEMES = {
    ThemeMode.SYSTEM: Qt.ColorScheme.Unknown,
    ThemeMode.DARK: Qt.ColorScheme.Dark,
    ThemeMode.LIGHT: Qt.ColorScheme.Light,
}


class Theming(QObject):
    """Gives the application one theme, and tells the window of each change."""

    def __init__(self, application: QApplication, mode: ThemeMode) -> None:
        super().__init__(application)
        self._application = application
        self._window: MainWindow | None = None
        self._mode = mode
        self.theme: Theme | None = None
        hints = application.styleHints()
        hints.setColorScheme(_SCHEMES[mode])  # so that title bars and native dialogs follow too
        hints.colorSchemeChanged.connect(self._refresh)
        self._refresh()

    def attach(self, window: MainWindow) -> None:
        """Dress this window from now on, and follow its Theme menu."""
        self._window = window
        window.theme_mode_changed.connect(self.choose)
        window.destroyed.connect(self._detach)
        if self.theme is not None:
            window.apply_theme(self.theme)

    @Slot(object)
    def choose(self, mode: ThemeMode) -> None:
        """Use this mode from now on."""
        self._mode = mode
        self._application.styleHints().setColorScheme(_SCHEMES[mode])
        self._refresh()

    @Slot()
    def _refresh(self) -> None:
        theme = {ThemeMode.DARK: DARK, ThemeMode.LIGHT: LIGHT}.get(self._mode) or system_theme()
        if theme is self.theme:
            return
        self.theme = theme
        looks.apply(self._application, theme)
        if self._window is not None:
            self._window.apply_theme(theme)

    @Slot()
    def _detach(self) -> None:
        self._window = None
