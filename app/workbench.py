"""The session at work in its window: what the user does reaches it, and what it says is shown."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QObject, Slot

from app.action_table import EDIT, EXPORT, MODEL
from app.controls import Controls
from app.error_dialog import ErrorDialog
from app.exporting import Exporting
from app.failure import Failure
from app.fork import Forks
from app.loader import LoadedSummary
from app.main_window import MainWindow
from app.model_flow import ModelFlow, facts_of
from app.places import SETTINGS, TOKENS
from app.progress_line import progress_text
from app.recovery_offer import RecoveryOffer
from app.run_state import RunState
from app.session import Session
from app.session_files import SessionFiles
from app.session_menus import SessionMenus
from app.state_words import detail, empty_sentences
from app.tidy import Tidy
from app.tools.debugging import Debugging
from app.tools.guessing import Guessing
from app.tools.log_book import LogBook
from app.tools.rack import ToolRack
from app.tour import Tour
from app.training_flow import TrainingFlow
from app.travel import Travel
from app.views import Views
from core.progress import Progress
from widgets.palette import Theme
from widgets.selection import Selection


class Workbench(QObject):
    """Views, controls and model flow of one session in one window. Exhaust `build` before anything else."""

    def __init__(self, session: Session, window: MainWindow) -> None:
        super().__init__(window)
        self.session = session
        self.window = window
        self.views = Views(window.panels, self)
        self.travel = Travel(session, window)
        self.controls = Controls(session, window, self.travel)
        self.forks = Forks(session, window)
        self.flow = ModelFlow(session, window)
        self.training = TrainingFlow(session, window, self.flow.use_parts)
        self.files = SessionFiles(session, window)
        self.recovery = RecoveryOffer(self.files, window.preferences.desk.recoveries)
        self.menus = SessionMenus(session, self.files, window)
        self.log = window.desk.log = LogBook(session, self.files, self)
        self.exporting = Exporting(session, self.files, window)
        self.debugging = Debugging(self)
        self.guessing = Guessing(self)
        self.rack = ToolRack(self, self.views.throttle)
        self.tour = Tour(self)
        self.tidy = Tidy(self._is_quiet, self)
        self._scrubbing = False

    def build(self) -> Iterator[None]:
        """Make what the window still lacks, in steps that are short enough to come between two frames."""
        yield from self.views.build(self.window.theme)
        self._connect()
        for action in self.window.commands.some((*EXPORT, *EDIT, *MODEL)):
            action.setEnabled(True)
        self.debugging.enable()
        self.controls.gate = self.guessing.may_step
        self._show_model(self.session.model)
        self._show_trace(0)
        self._show_state(self.session.state)
        self.rack.begin()

    @Slot()
    def close(self) -> None:
        """End the session, and wait for the engine's thread and for what is being saved."""
        self.tidy.close()
        self.exporting.close()
        self.rack.close()
        self.debugging.close()
        self.training.close()
        self.session.close()
        self.recovery.close()
        self.files.close()
        self.log.close()

    def _is_quiet(self) -> bool:
        return self.session.state is not RunState.RUNNING and not self.session.is_loading and self.views.is_idle

    def _connect(self) -> None:
        session, window = self.session, self.window
        session.state_changed.connect(self._show_state)
        session.trace_changed.connect(self._show_trace)
        session.selection_changed.connect(self._show_selection)
        session.model_changed.connect(self._show_model)
        session.failed.connect(self._show_failure)
        session.progressed.connect(self._show_progress)
        window.status.progress.cancelled.connect(session.cancel_load)
        window.tools.scrubber.moved.connect(self._scrub)
        window.theme_changed.connect(self._apply_theme)
        window.closed.connect(self.close)
        window.desk.keys_changed.connect(self.guessing.changed)
        self.views.selected.connect(session.select)
        self.views.figures_changed.connect(self._show_figures)

    @Slot(object)
    def _apply_theme(self, theme: Theme) -> None:
        self.views.apply_theme(theme)
        self.rack.apply_theme(theme)

    @Slot(int)
    def _scrub(self, token: int) -> None:
        """Select a token on the way to another one."""
        self._scrubbing = True
        try:
            self.controls.select_token(token)
        finally:
            self._scrubbing = False

    # What the session says

    @Slot(object)
    def _show_state(self, state: RunState) -> None:
        self.views.set_calm(state is RunState.RUNNING)
        self.controls.show_state()
        self.tour.show_state()
        self.guessing.look()
        subtitle = "changes apply to the next run" if self.session.is_running else ""
        self.window.panels[SETTINGS.key].set_subtitle(subtitle)
        self._show_figures()

    @Slot(int)
    def _show_trace(self, first: int) -> None:
        trace = self.session.trace
        if self.session.model is None and trace is not None and trace.started is not None:
            self.window.status.show_model(trace.started.model)
        self.views.show_trace(self.guessing.veiled(trace), first, self.session.selection)
        self.rack.show_trace(first)
        self.guessing.look()
        self.window.commands["reset"].setEnabled(self.session.trace is not None)

    @Slot(object)
    def _show_selection(self, selection: Selection) -> None:
        follows = self.session.state is RunState.RUNNING and self.session.is_following
        self.guessing.lift()
        self.views.show_selection(selection, gently=self.travel.is_playing or follows, hurried=self._scrubbing)
        self.rack.show_selection(gently=follows)
        self.guessing.look()
        if not follows:  # else the figures, which each token renews in their turn, bring it with them
            self._show_position()

    @Slot()
    def _show_figures(self) -> None:
        session, status = self.session, self.window.status
        status.show_state(session.state, self.debugging.detail() or detail(session.state, session.trace))
        status.show_figures(self.views.figures, session.trace)
        self.views.set_empty(empty_sentences(session.state, session.model is not None, session.trace))
        self._show_position()

    def _show_position(self) -> None:
        self.window.tools.scrubber.show_tokens(self.controls.token_count, self.session.selection)
        self.controls.show_position()
        self.forks.show_state()

    @Slot(object)
    def _show_model(self, summary: LoadedSummary | None) -> None:
        window = self.window
        window.show_model(summary.info.name if summary else None)
        window.status.show_model(summary.info if summary else None)
        window.form.set_model(facts_of(summary) if summary else None)
        window.prompt.set_template_available(summary is None or summary.has_chat_template)

    @Slot(object)
    def _show_progress(self, progress: Progress) -> None:
        self.window.status.progress.show_progress(progress)
        if self.session.trace is None:
            self.window.panels[TOKENS.key].set_empty(f"{progress_text(progress)}\nWrite a prompt meanwhile.")

    @Slot(object)
    def _show_failure(self, failure: Failure) -> None:
        if not self.flow.take_failure(failure) and not self._is_told(failure):
            ErrorDialog(failure, self.window.theme, self.window, self.window.desk.report).open()

    def _is_told(self, failure: Failure) -> bool:
        """Whether a dialog that is open says so already."""
        dialogs = self.window.findChildren(ErrorDialog)
        return any(one.isVisible() and one.accessibleDescription() == failure.sentence for one in dialogs)
