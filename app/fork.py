"""Leaving a recorded run at one of its tokens: asks how, then has the engine generate the branch."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.actions import explain
from app.failure import describe
from app.fork_dialog import ForkAnswer, ForkDialog, ForkQuestion
from app.main_window import MainWindow
from app.session import Session
from core.analysis.forks import alternatives, fork_at, may_rerun, setting_changes
from core.analysis.texts import visible
from core.config import RunSettings
from core.errors import UserError
from core.trace.events import RunStarted
from core.trace.reading import ReadableTrace

SHOWN_BEFORE = 8
"""Tokens of the text before the fork that the dialog shows."""
OWN_CODE = "Its policy is a file of somebody’s own, which is code; choose it in the Engine panel to run it."


class Forks(QObject):
    """The action that forks, and the dialog behind it."""

    def __init__(self, session: Session, window: MainWindow) -> None:
        super().__init__(window)
        self._session, self._window, self._action = session, window, window.commands["fork"]
        self._action.triggered.connect(self.ask)
        self.dialog: ForkDialog | None = None
        """The question that is open."""

    def show_state(self) -> None:
        """Enable what can be done now."""
        why = self._why_not()
        explain(self._action, not why, why)

    @Slot()
    def ask(self) -> None:
        """Ask how to leave the run on show at the selected token."""
        trace, token = self._session.trace, self._session.selection.token
        if trace is None or trace.started is None or token is None or self.dialog is not None:
            return
        started = trace.started
        dialog = self.dialog = ForkDialog(self._question(trace, started, token), self._window)
        dialog.answered.connect(lambda answer: self._fork(trace, token, answer))
        dialog.finished.connect(self._forget)
        dialog.open()

    def _question(self, trace: ReadableTrace, started: RunStarted, token: int) -> ForkQuestion:
        panel, problem = self._panel()
        return ForkQuestion(
            run=started.run,
            token=token,
            before="".join(map(visible, trace.overview.texts[max(0, token - SHOWN_BEFORE) : token])),
            alternatives=alternatives(trace, token),
            changes=setting_changes(started.settings, panel) if panel else (),
            no_own=_no_own(started.settings, token),
            no_panel=problem or _no_more(panel, token),
        )

    def _panel(self) -> tuple[RunSettings | None, str]:
        """The Engine panel's settings, or why there are none."""
        try:
            return self._window.form.settings(self._window.prompt.use_template()), ""
        except UserError as error:
            return None, str(error)

    def _fork(self, trace: ReadableTrace, token: int, answer: ForkAnswer) -> None:
        assert trace.started is not None, "only a run that began is asked about"
        settings = self._panel()[0] if answer.panel else trace.started.settings
        if settings is None:
            return
        try:
            fork = fork_at(trace, token, settings, choice=answer.choice, text=answer.text)
        except UserError as error:
            self._session.failed.emit(describe(error))
            return
        self._session.run(trace.started.prompt, settings, fork=fork)

    def _why_not(self) -> str:
        session = self._session
        trace, token = session.trace, session.selection.token
        if trace is None or trace.started is None or token is None or token >= trace.emitted_count:
            return "no token is selected"
        if session.is_loading:
            return "a model is being loaded"
        if session.model is None:
            return "no model is loaded"
        if trace.started.run < 0:
            return "the run belongs to another file"
        return "" if session.model.info.fingerprint == trace.started.model.fingerprint else "another model made the run"

    @Slot()
    def _forget(self) -> None:
        self.dialog = None


def _no_own(settings: RunSettings, token: int) -> str:
    """Why a run's own settings cannot be used to go on after a token."""
    if not may_rerun(settings):
        return OWN_CODE
    return _no_more(settings, token)


def _no_more(settings: RunSettings | None, token: int) -> str:
    """Why nothing may follow a token."""
    if settings is None or settings.max_new_tokens > token + 1:
        return ""
    return (
        f"The run would end there, after {settings.max_new_tokens} tokens; choose a higher number in the Engine panel."
    )
