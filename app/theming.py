"""Light or dark, type and colours as the user or the desktop wants them, and at once when either changes their mind."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QApplication

from app import icons
from app.look import Look
from app.main_window import MainWindow
from app.settings import ThemeMode
from app.wardrobe import Wardrobe
from widgets import motion
from widgets import theme as looks
from widgets.palette import DARK, LIGHT, Theme, system_theme, use_exit_palette

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
        self.wardrobe: Wardrobe | None = None
        """Of the window that is attached."""
        self._mode = mode
        self._look: Look | None = None
        self.theme: Theme | None = None
        hints = application.styleHints()
        hints.setColorScheme(_SCHEMES[mode])  # so that title bars and native dialogs follow too
        hints.colorSchemeChanged.connect(self._refresh)
        application.screenAdded.connect(self.follow_screens)
        self._refresh()

    def attach(self, window: MainWindow) -> None:
        """Dress this window from now on, and follow its Theme menu and its settings."""
        window.theme_mode_changed.connect(self.choose)
        window.look_changed.connect(self.take_look)
        window.shown.connect(self._follow_window)
        window.destroyed.connect(self._detach)
        self.take_look(window.preferences.desk.look)
        self._window, self.wardrobe = window, Wardrobe(window)
        self._dress()

    @Slot(object)
    def choose(self, mode: ThemeMode) -> None:
        """Use this mode from now on."""
        self._mode = mode
        self._application.styleHints().setColorScheme(_SCHEMES[mode])
        self._refresh()

    @Slot(object)
    def take_look(self, look: Look) -> None:
        """Take over size of type, colours of exit layers and stillness."""
        before, self._look = self._look or Look(), look
        use_exit_palette(look.exits)
        motion.keep_still(look.still)
        if look.scale != before.scale:
            looks.scale(self._application, look.scale)
            self._dress()
        elif look.exits is not before.exits and self._window is not None and self.theme is not None:
            self._window.theme_changed.emit(self.theme)  # only views have these colours

    @Slot()
    def _refresh(self) -> None:
        theme = {ThemeMode.DARK: DARK, ThemeMode.LIGHT: LIGHT}.get(self._mode) or system_theme()
        if theme is not self.theme:
            self.theme = theme
            self._dress()

    def _dress(self) -> None:
        if self.theme is None:
            return
        if self.wardrobe is not None:
            self.wardrobe.hold()
        looks.apply(self._application, self.theme)
        if self._window is not None and self.wardrobe is not None:
            self.wardrobe.dress(looks.stylesheet(self.theme, self._application.font().pointSizeF()))
            self._window.apply_theme(self.theme)

    @Slot()
    def _follow_window(self) -> None:
        if self._window is not None and (handle := self._window.windowHandle()) is not None:
            handle.screenChanged.connect(self.follow_screens)

    @Slot()
    def follow_screens(self) -> None:
        """Paint icons anew where a screen has come whose pixels are of another size."""
        if icons.follow_screens() and self._window is not None:
            self._window.paint_signs()

    @Slot()
    def _detach(self) -> None:
        self._window = self.wardrobe = None
