"""The window: panels, forms, actions and menus, before there is anything to show in them.

It knows no session and imports nothing that is slow, so that it is painted early. A `Workbench` then brings it to
life.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QChildEvent, QEvent, QMimeData, Qt, Signal, Slot
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QMainWindow, QMenu, QScrollArea, QWidget

from app import layout
from app.action_table import BREAKPOINTS, COMPARE, EDIT, EXPORT, FILE, FIND, MARKS, MODEL, RUN, SELECT, TRAVEL, WHAT_IF
from app.actions import Actions, explain
from app.desk import Desk
from app.explanations_desk import Explainer
from app.first_paint import FirstPaint
from app.forms import Rows, named
from app.help import about_dialog
from app.icons import app_icon
from app.menus import fill_menu_bar, fill_model_menu
from app.panel import Panel
from app.places import PLACES, PROMPT, SETTINGS
from app.prompt_dock import PromptPanel
from app.run_state import RunState
from app.settings import Preferences, ThemeMode
from app.settings_dock import SettingsPanel
from app.state_words import empty_sentences
from app.status_line import StatusLine
from app.toolbar import ToolBar
from widgets.palette import DARK, Theme

TITLE = "specee-viewer"


class MainWindow(QMainWindow):
    """Prompt, settings and the panels of one session. Call `apply_theme`, then `recall`, before it is shown."""

    shown = Signal()
    """After the first paint: from here on heavy work may begin."""
    closed = Signal()
    """It has vanished: what goes on behind it has to end."""
    close_asked = Signal()
    """The user wants to leave; only after `guard_closing`, else the window closes by itself."""
    file_dropped = Signal(object)
    """The path of a session that was dragged here."""
    theme_mode_changed = Signal(object)
    """The `ThemeMode` that the user chose."""
    look_changed = Signal(object)
    """The `Look` that the user chose."""
    theme_changed = Signal(object)
    """The `Theme` that the window has taken over."""
    child_polished = Signal(object)
    """A widget that lies in it will be seen for the first time: a dialog, a menu."""

    def __init__(self, preferences: Preferences) -> None:
        super().__init__()
        self.preferences = preferences
        self.theme: Theme = DARK
        self._guarded = False
        self._names = ("", "")
        """Of the session and of the model."""
        self.setObjectName("main")
        self.setAcceptDrops(True)
        self.setWindowIcon(app_icon())
        self.setWindowTitle(TITLE)
        self.commands = Actions(self)
        self.prompt, self.form = PromptPanel(), SettingsPanel()
        self._form_area = _scrolled(self.form)
        self.panels = self._make_panels()
        self.host = layout.DockHost(self.panels)
        self.setCentralWidget(layout.framed(self.host))
        self.status = StatusLine()
        self.setStatusBar(self.status)
        self.recent = QMenu("Recent models", self)
        self.recent_sessions = QMenu("&Recent sessions", self)
        self.runs = QMenu("Runs of this &session", self)
        self.tools = ToolBar(self.commands, fill_model_menu(self, QMenu(self)), self)
        self.addToolBar(self.tools)
        self.desk = Desk(self)
        self.explainer = Explainer(self)
        fill_menu_bar(self)
        FirstPaint(self, self.shown.emit)
        self._connect()
        self._await_session()

    def apply_theme(self, theme: Theme) -> None:
        """Repaint what the application's stylesheet does not reach."""
        self.theme = theme
        self.paint_signs()
        if self.isVisible():
            self.fit_form()  # else `recall` does
        self.theme_changed.emit(theme)

    def paint_signs(self) -> None:
        """Paint the icons of actions, bars and panels, in the colours of the theme and in the pixels of the screens."""
        self.commands.apply_theme(self.theme)
        self.tools.apply_theme(self.theme)
        for panel in self.panels.values():
            panel.apply_theme(self.theme)

    def recall(self) -> None:
        """Be as the window was left: its place, its panels, and what was entered. Sizes need the theme's fonts."""
        preferences, form = self.preferences, self.form
        self.desk.recall()
        self.fit_form()
        layout.restore(self, self.host, preferences)
        self.prompt.text.setPlainText(preferences.prompt)
        self.prompt.template.setChecked(preferences.chat_template)
        form.set_load_options(preferences.load_options)
        form.set_values(self.desk.appearance.first_form(preferences.form))
        if preferences.unfolded is not None:
            form.set_unfolded(preferences.unfolded)
        self.prompt.text.setFocus()

    def fit_form(self) -> None:
        """Type of another size needs another width."""
        for rows in self.findChildren(Rows):
            rows.fit()
        self._form_area.setMinimumWidth(self.form.minimumSizeHint().width())
        self.tools.fit()

    @Slot()
    def reset_layout(self) -> None:
        """Put every panel back in its first place."""
        self.host.arrange()
        self.prompt.text.setFocus()

    def show_model(self, name: str | None) -> None:
        """Name the loaded model in title and toolbar."""
        self.tools.show_model(name or "No model")
        self._show_title(self._names[0], name or "")

    def show_session(self, path: Path | None, *, unsaved: bool, busy: bool) -> None:
        """Name the session in the title, and offer what can be done with it."""
        self._show_title(path.name if path else "", self._names[1])
        self.setWindowModified(unsaved and path is not None)
        for action in (*self.commands.some(FILE), self.commands["sample"]):
            explain(action, not busy, "a session is being opened or saved")
        explain(self.commands["save_session"], unsaved and not busy, "nothing is unsaved")

    def guard_closing(self) -> None:
        """From now on, ask through `close_asked` before the user's own closing; `close` itself still closes."""
        self._guarded = True

    def closeEvent(self, event: QCloseEvent) -> None:
        """Remember and vanish at once; what ends afterwards, such as the engine's thread, takes up to a layer."""
        if self._guarded and event.spontaneous():
            event.ignore()
            self.close_asked.emit()
            return
        layout.remember(self, self.host, self.preferences)
        self.remember_inputs()
        self.hide()
        self.closed.emit()
        event.accept()

    def childEvent(self, event: QChildEvent) -> None:
        """Unlike an event filter this is only called for its own kind, and takes no time from painting."""
        super().childEvent(event)
        if event.type() is QEvent.Type.ChildPolished and isinstance(child := event.child(), QWidget):
            self.child_polished.emit(child)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take a session; anything else goes on to whoever wants it."""
        event.setAccepted(self._guarded and dropped_session(event.mimeData()) is not None)

    def dropEvent(self, event: QDropEvent) -> None:
        if (path := dropped_session(event.mimeData())) is not None:
            event.acceptProposedAction()
            self.file_dropped.emit(path)

    def remember_inputs(self) -> None:
        """Keep what is entered for the next launch."""
        preferences, form = self.preferences, self.form
        preferences.form = form.values()
        preferences.unfolded = form.unfolded()
        preferences.load_options = form.load_options()
        preferences.prompt = self.prompt.text.toPlainText()
        preferences.chat_template = self.prompt.template.isChecked()

    # Making

    def _make_panels(self) -> dict[str, Panel]:
        panels = {place.key: Panel(place) for place in PLACES}
        panels[PROMPT.key].show_view(self.prompt)
        panels[SETTINGS.key].show_view(self._form_area)
        for place in PLACES:
            toggle = panels[place.key].toggleViewAction()
            self.commands.adopt(f"panel_{place.key}", toggle, place.icon, place.shortcut, f"Show or hide: {place.tip}")
        return panels

    def _connect(self) -> None:
        commands = self.commands
        commands["quit"].triggered.connect(self._leave)
        commands["reset_layout"].triggered.connect(self.reset_layout)
        commands["about"].triggered.connect(self._show_about)
        for mode in ThemeMode:
            action = commands[f"theme_{mode.value}"]
            action.setChecked(mode is self.preferences.theme)
            action.triggered.connect(self._choose_theme)

    def _show_title(self, session: str, model: str) -> None:
        self._names = (session, model)
        # Qt puts its sign for what is unsaved where the star stands.
        self.setWindowTitle(" — ".join(name for name in (f"{session}[*]" if session else "", model, TITLE) if name))

    def _await_session(self) -> None:
        """Look as while a model is loaded, which is what comes next, and offer nothing that needs a session."""
        unmade = (*FILE, *EXPORT, *EDIT, *RUN, *TRAVEL, *SELECT, *BREAKPOINTS, *MARKS, *FIND, *COMPARE, *MODEL)
        for action in (*self.commands.some(unmade), self.commands["sample"], self.commands["tour"]):
            explain(action, action is self.commands["quit"], "the window is still being made")
        for action in self.commands.some(WHAT_IF):
            explain(action, False, "nothing is on show in the panel What if")
        self.prompt.set_runnable(False)
        self.show_model(None)
        self.status.show_state(RunState.LOADING)
        for key, sentence in (empty_sentences(RunState.LOADING, False, None) or {}).items():
            self.panels[key].set_empty(sentence)

    # Menu

    @Slot()
    def _leave(self) -> None:
        if self._guarded:
            self.close_asked.emit()
        else:
            self.close()

    @Slot()
    def _choose_theme(self) -> None:
        mode = next(mode for mode in ThemeMode if self.commands[f"theme_{mode.value}"].isChecked())
        self.preferences.theme = mode
        self.theme_mode_changed.emit(mode)

    @Slot()
    def _show_about(self) -> None:
        about_dialog(self).open()


def dropped_session(data: QMimeData) -> Path | None:
    """The one session file that is being dragged; None for anything else."""
    paths = [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]
    return paths[0] if len(paths) == 1 and paths[0].suffix == ".specee" else None


def _scrolled(form: SettingsPanel) -> QScrollArea:
    area = named(QScrollArea(), "Engine settings", "")
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its inputs take the focus, and it brings them into sight
    area.setWidget(form)
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    return area
