"""The Layout menu: the named layouts, the user's own, and the panel that has all the room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from app import layout
from app.action_table import LAYOUTS
from app.actions import explain
from app.desk_settings import LONGEST_NAME, MOST_LAYOUTS
from app.layouts import NAMED
from app.panel import Panel
from app.panel_keys import focus_in
from app.places import PROMPT, TOKENS
from app.text_dialog import TextDialog

if TYPE_CHECKING:
    from app.main_window import MainWindow

TOO_MANY = f"There are {MOST_LAYOUTS} layouts; forget one first"


class LayoutsMenu(QObject):
    """Arranges the panels as the user asks, and keeps the user's own layouts."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._settings = window, window.preferences.desk
        self.focused = TOKENS.key
        """The panel that had the focus last."""
        self.menu = QMenu("&Layout", window)
        self.own, self.forget = QMenu("&Own layouts", window), QMenu("&Forget layout", window)
        self._fill()
        for key in NAMED:
            window.commands[f"layout_{key}"].triggered.connect(self._arrange)
        window.commands["save_layout"].triggered.connect(self.ask_name)
        window.commands["maximise"].triggered.connect(self._maximise)
        window.host.maximised_changed.connect(window.commands["maximise"].setChecked)
        for panel in window.panels.values():
            panel.maximise_wanted.connect(self._maximise_panel)
        self._follow_the_application()

    def save(self, name: str) -> None:
        """Keep where the panels are under this name, over what was kept under it before."""
        name = " ".join(name.split())[:LONGEST_NAME]
        kept = self._settings.layouts
        if name and (name in kept or len(kept) < MOST_LAYOUTS):
            self._settings.layouts = {**kept, name: self._window.host.state()}
            self._show()

    @Slot()
    def ask_name(self) -> None:
        """Ask what to call the present layout."""
        dialog = TextDialog("Save layout", "Name of this layout", ("&Save", "Keep this layout"), self._window)
        dialog.text.setMaxLength(LONGEST_NAME)
        dialog.given.connect(self.save)
        dialog.open()

    def _fill(self) -> None:
        commands, menu = self._window.commands, self.menu
        menu.addActions(commands.some(LAYOUTS))
        menu.addSeparator()
        menu.addMenu(self.own)
        menu.addActions([commands["save_layout"]])
        menu.addMenu(self.forget)
        menu.addSeparator()
        menu.addAction(commands["reset_layout"])
        for own in (self.own, self.forget):
            own.aboutToShow.connect(self._show)
        self.own.triggered.connect(self._take_own)
        self.forget.triggered.connect(self._forget)
        self._show()

    @Slot()
    def _show(self) -> None:
        names = list(self._settings.layouts)
        for menu in (self.own, self.forget):
            menu.clear()
            for name in names:
                menu.addAction(name.replace("&", "&&")).setData(name)
            menu.menuAction().setEnabled(bool(names))
        explain(self._window.commands["save_layout"], len(names) < MOST_LAYOUTS, TOO_MANY)

    @Slot()
    def _arrange(self) -> None:
        action = self.sender()
        self._window.host.arrange(NAMED[action.objectName().removeprefix("layout_")])
        QTimer.singleShot(0, self, self._keep_focus)  # once the panels are where they go

    @Slot(QAction)
    def _take_own(self, action: QAction) -> None:
        state = self._settings.layouts.get(str(action.data()))
        if state is not None and not self._window.host.restore(state):
            self._forget(action)
        QTimer.singleShot(0, self, self._keep_focus)

    @Slot()
    def _keep_focus(self) -> None:
        """A panel that went took the focus along: the one that had it gets it back, else the tokens or the prompt."""
        panels = self._window.panels
        for key in (self.focused, TOKENS.key, PROMPT.key):
            has_it = QApplication.focusWidget() is not None
            if has_it or (not panels[key].visibleRegion().isEmpty() and focus_in(panels[key])):
                return

    @Slot(QAction)
    def _forget(self, action: QAction) -> None:
        self._settings.layouts = {name: kept for name, kept in self._settings.layouts.items() if name != action.data()}
        self._show()

    # One panel over all

    @Slot()
    def _maximise(self) -> None:
        """The panel with the focus, unless a new layout has put it out of sight."""
        panels = self._window.panels
        in_sight = (key for key in (self.focused, TOKENS.key, *panels) if not panels[key].visibleRegion().isEmpty())
        self._window.host.maximise(next(in_sight, self.focused))

    @Slot()
    def _maximise_panel(self) -> None:
        panel = self.sender()
        assert isinstance(panel, Panel), "only panels ask"
        self._window.host.maximise(panel.objectName())

    # What goes on around the window

    def _follow_the_application(self) -> None:
        application = QApplication.instance()
        assert isinstance(application, QApplication), "widgets have one"
        application.focusChanged.connect(self._note_focus)
        application.screenRemoved.connect(self._bring_back)

    @Slot(QWidget, QWidget)
    def _note_focus(self, _before: QWidget | None, now: QWidget | None) -> None:
        while now is not None and not isinstance(now, Panel):
            now = now.parentWidget()
        if now is not None and now is self._window.panels.get(now.objectName()):
            self.focused = now.objectName()

    @Slot()
    def _bring_back(self) -> None:
        """A screen was taken away: what was on it comes to one that is left."""
        if QGuiApplication.primaryScreen() is not None:
            layout.bring_back(self._window, self._window.host)
