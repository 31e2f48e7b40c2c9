"""How the user trains parts: the dialog, the thread behind it, and the model that then runs with the new parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, QTimer, Slot

from app.error_dialog import ErrorDialog
from app.failure import Failure
from app.loader import LoadedSummary
from app.main_window import MainWindow
from app.session import Session
from app.training_dialog import TrainingDialog
from app.training_form import TrainingSubject
from app.training_thread import Trainer, TrainingThread, train_parts
from core.training.options import TrainOptions

FRAME_MS = 50
"""Between two looks at the trainer's reports."""


class TrainingFlow(QObject):
    """Opens the dialog for the session's model. Call `close` before letting go of it."""

    def __init__(
        self, session: Session, window: MainWindow, use_parts: Callable[[Path], object], trainer: Trainer = train_parts
    ) -> None:
        """`use_parts` loads the present model anew with the parts of a folder."""
        super().__init__(window)
        self._session, self._window = session, window
        self._use_parts = use_parts
        self.trainer = trainer
        self.dialog: TrainingDialog | None = None
        self._thread: TrainingThread | None = None
        self._trained: Path | None = None
        self._frame = QTimer(self, singleShot=True, interval=FRAME_MS)
        self._frame.timeout.connect(self._show_reports)
        window.commands["train"].triggered.connect(self.show)
        window.closed.connect(self.close)
        session.model_changed.connect(self._loaded)
        application = QCoreApplication.instance()
        if application is not None:
            application.aboutToQuit.connect(self.close)

    @Slot()
    def show(self) -> None:
        """Open the dialog; one that is open stays."""
        if self.dialog is not None:
            return
        model = self._session.model
        self.dialog = TrainingDialog(_subject(model) if model else None, self._window.theme, self._window)
        self.dialog.start_requested.connect(self._start)
        self.dialog.stop_requested.connect(self._stop)
        self.dialog.finished.connect(self._forget_dialog)
        self.dialog.open()

    @Slot()
    def close(self) -> None:
        """Stop training and wait until what is done is saved; at any time, and more than once."""
        self._frame.stop()
        if self._thread is not None:
            self._thread.stop()
            self._thread.wait()

    @Slot(object)
    def _start(self, options: TrainOptions) -> None:
        self._session.stop()
        self._trained = None
        self._thread = TrainingThread(self.trainer, options, self)
        self._thread.told.connect(self._show_reports_soon)
        self._thread.over.connect(self._over)
        self._thread.start()

    @Slot()
    def _stop(self) -> None:
        if self._thread is not None:
            self._thread.stop()

    @Slot()
    def _show_reports_soon(self) -> None:
        self._frame.start()

    @Slot()
    def _show_reports(self) -> None:
        if self._thread is not None and self.dialog is not None:
            self.dialog.show_progress(self._thread.take())

    @Slot(object)
    def _over(self, outcome: Path | Failure | None) -> None:
        self._show_reports()
        self._thread = None
        dialog = self.dialog
        if dialog is None:
            return
        if isinstance(outcome, Path):
            self._trained = outcome
            dialog.show_trained(str(outcome))
            self._use_parts(outcome)
        elif outcome is None:
            dialog.show_stopped()
        else:
            dialog.show_failure(outcome)
            if outcome.details:
                ErrorDialog(outcome, self._window.theme, self._window, self._window.desk.report).open()

    @Slot(object)
    def _loaded(self, summary: LoadedSummary) -> None:
        if self.dialog is not None and self._trained is not None and summary.has_parts:
            self.dialog.show_trained(str(self._trained), loaded=True)

    @Slot()
    def _forget_dialog(self) -> None:
        self.dialog = None


def _subject(model: LoadedSummary) -> TrainingSubject:
    from core.exits.parts_folder import user_parts

    return TrainingSubject(model.info.name, model.request.ref, user_parts() / model.info.name)
