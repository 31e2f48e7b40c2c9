"""The window: it puts panels, actions and session together, and decides nothing itself."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QCloseEvent, QPaintEvent
from PySide6.QtWidgets import QMainWindow, QMenu, QScrollArea

from app import layout
from app.actions import ALL, HELP, RUN, SELECT, THEMES, Actions
from app.controls import Controls
from app.error_dialog import ErrorDialog
from app.failure import Failure
from app.help import about_dialog, keys_dialog
from app.icons import app_icon
from app.loader import LoadedSummary
from app.model_flow import ModelFlow, facts_of
from app.panel import Panel
from app.progress_line import progress_text
from app.prompt_dock import PromptPanel
from app.run_control import RunState
from app.session import Session
from app.settings import Preferences, ThemeMode
from app.settings_dock import SettingsPanel
from app.state_words import detail, empty_sentences
from app.status_line import StatusLine
from app.toolbar import ToolBar
from app.views import CURVES, EXITS, SCHEDULER, TOKENS, WHY, Place, Views
from core.progress import Progress
from widgets.palette import DARK, Theme
from widgets.selection import Selection

TITLE = "specee-viewer"
PROMPT = Place("prompt", "Prompt", "panel-prompt", "Ctrl+1", "What the model is asked")
SETTINGS = Place("settings", "Engine", "panel-settings", "Ctrl+2", "What decides a run")
PLACES = (PROMPT, SETTINGS, TOKENS, EXITS, SCHEDULER, CURVES, WHY)


class MainWindow(QMainWindow):
    """Prompt, settings and the views of one session. Closing it ends the session."""

    shown = Signal()
    """After the first paint: from here on heavy work may begin."""
    theme_mode_changed = Signal(object)
    """The `ThemeMode` that the user chose."""

    def __init__(self, session: Session, preferences: Preferences) -> None:
        super().__init__()
        self.session = session
        self.preferences = preferences
        self.theme: Theme = DARK
        self._painted = False
        self.setObjectName("main")
        self.setWindowIcon(app_icon())
        self.commands = Actions(self)
        self.prompt, self.form, self.views = PromptPanel(), SettingsPanel(), Views(self)
        self.panels = self._make_panels()
        self.host = layout.DockHost(self.panels)
        self.setCentralWidget(layout.framed(self.host))
        self.controls = Controls(session, self.commands, self.prompt, self.form, preferences, self)
        self.flow = ModelFlow(session, preferences, self.form, self.commands, self)
        self.status = StatusLine()
        self.setStatusBar(self.status)
        self.tools = ToolBar(self.commands, self.flow.fill(QMenu(self)), self)
        self.addToolBar(self.tools)
        self._make_menus()
        self._connect()
        self._recall()
        self._show_model(session.model)
        self._show_trace(0)
        self._show_state(session.state)

    def apply_theme(self, theme: Theme) -> None:
        """Repaint what the application's stylesheet does not reach."""
        self.theme = self.flow.theme = theme
        self.commands.apply_theme(theme)
        self.tools.apply_theme(theme)
        self.views.apply_theme(theme)
        for panel in self.panels.values():
            panel.apply_theme(theme)

    @Slot()
    def reset_layout(self) -> None:
        """Put every panel back in its first place."""
        self.host.arrange()
        self.prompt.text.setFocus()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._painted:
            self._painted = True
            QTimer.singleShot(0, self.shown.emit)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Remember, vanish at once, then end the engine's thread, which takes up to a layer."""
        layout.remember(self, self.host, self.preferences)
        self.controls.remember()
        self.hide()
        self.session.close()
        event.accept()

    # Making

    def _make_panels(self) -> dict[str, Panel]:
        scroll = QScrollArea()
        scroll.setWidget(self.form)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setMinimumWidth(self.form.minimumSizeHint().width())
        panels = {
            PROMPT.key: Panel(PROMPT.key, PROMPT.title, PROMPT.icon, self.prompt),
            SETTINGS.key: Panel(SETTINGS.key, SETTINGS.title, SETTINGS.icon, scroll),
            **self.views.panels,
        }
        for place in PLACES:
            toggle = panels[place.key].toggleViewAction()
            self.commands.adopt(f"panel_{place.key}", toggle, place.icon, place.shortcut, f"Show or hide: {place.tip}")
        return panels

    def _make_menus(self) -> None:
        bar, commands = self.menuBar(), self.commands
        panel_toggles = [commands[f"panel_{place.key}"] for place in PLACES]
        model = self.flow.fill(bar.addMenu("&Model"))
        model.addSeparator()
        model.addAction(commands["quit"])
        run = bar.addMenu("&Run")
        run.addActions(commands.some(RUN))
        run.addSeparator()
        run.addActions(commands.some(SELECT))
        view = bar.addMenu("&View")
        view.addActions(panel_toggles)
        view.addSeparator()
        view.addAction(commands["reset_layout"])
        view.addMenu("&Theme").addActions(commands.some(THEMES))
        bar.addMenu("&Help").addActions(commands.some(HELP))
        # A key only answers where a visible widget carries its action, and a desktop may take the menus away.
        self.addActions([*commands.some(ALL), *panel_toggles])

    def _connect(self) -> None:
        session, commands = self.session, self.commands
        session.state_changed.connect(self._show_state)
        session.trace_changed.connect(self._show_trace)
        session.selection_changed.connect(self._show_selection)
        session.model_changed.connect(self._show_model)
        session.failed.connect(self._show_failure)
        session.progressed.connect(self._show_progress)
        self.status.progress.cancelled.connect(session.cancel_load)
        self.views.selected.connect(session.select)
        self.views.figures_changed.connect(self._show_figures)
        self.tools.scrubber.moved.connect(self.controls.select_token)
        commands["quit"].triggered.connect(self.close)
        commands["reset_layout"].triggered.connect(self.reset_layout)
        commands["keys"].triggered.connect(self._show_keys)
        commands["about"].triggered.connect(self._show_about)
        for mode in ThemeMode:
            action = commands[f"theme_{mode.value}"]
            action.setChecked(mode is self.preferences.theme)
            action.triggered.connect(self._choose_theme)

    def _recall(self) -> None:
        layout.restore(self, self.host, self.preferences)
        self.prompt.text.setPlainText(self.preferences.prompt)
        self.prompt.template.setChecked(self.preferences.chat_template)
        self.form.set_load_options(self.preferences.load_options)
        self.form.set_values(self.preferences.form)
        if self.preferences.unfolded is not None:
            self.form.set_unfolded(self.preferences.unfolded)
        self.prompt.text.setFocus()

    # Menu

    @Slot()
    def _choose_theme(self) -> None:
        mode = next(mode for mode in ThemeMode if self.commands[f"theme_{mode.value}"].isChecked())
        self.preferences.theme = mode
        self.theme_mode_changed.emit(mode)

    @Slot()
    def _show_keys(self) -> None:
        keys_dialog(self.commands, self).open()

    @Slot()
    def _show_about(self) -> None:
        about_dialog(self).open()

    # What the session says

    @Slot(object)
    def _show_state(self, state: RunState) -> None:
        self.controls.show_state()
        self.panels[SETTINGS.key].set_subtitle("changes apply to the next run" if self.session.is_running else "")
        self._show_figures()

    @Slot(int)
    def _show_trace(self, first: int) -> None:
        self.views.show_trace(self.session.trace, first, self.session.selection)
        self.commands["reset"].setEnabled(self.session.trace is not None)

    @Slot(object)
    def _show_selection(self, selection: Selection) -> None:
        running = self.session.state is RunState.RUNNING
        self.views.show_selection(selection, gently=running and self.session.is_following)
        self._show_position()

    @Slot()
    def _show_figures(self) -> None:
        session = self.session
        self.status.show_state(session.state, detail(session.state, session.trace))
        self.status.show_figures(self.views.figures, session.trace)
        self.views.set_empty(empty_sentences(session.state, session.model is not None, session.trace))
        self._show_position()

    def _show_position(self) -> None:
        self.tools.scrubber.show_tokens(self.controls.token_count, self.session.selection.token)
        self.controls.show_position()

    @Slot(object)
    def _show_model(self, summary: LoadedSummary | None) -> None:
        self.status.show_model(summary.info if summary else None)
        self.tools.show_model(summary.info.name if summary else "No model")
        self.setWindowTitle(f"{summary.info.name} — {TITLE}" if summary else TITLE)
        self.form.set_model(facts_of(summary) if summary else None)
        self.prompt.set_template_available(summary is None or summary.has_chat_template)

    @Slot(object)
    def _show_progress(self, progress: Progress) -> None:
        self.status.progress.show_progress(progress)
        if self.session.trace is None:
            self.panels[TOKENS.key].set_empty(f"{progress_text(progress)}\nWrite a prompt meanwhile.")

    @Slot(object)
    def _show_failure(self, failure: Failure) -> None:
        if not self.flow.take_failure(failure):
            ErrorDialog(failure, self.theme, self).open()
