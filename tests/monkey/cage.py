"""The real window over a tiny real engine, which can be closed and opened again like the program."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QSettings, QSize, QTimer
from PySide6.QtWidgets import QApplication, QDialog
from shiboken6 import isValid

from app.error_dialog import ErrorDialog
from app.failure import Failure
from app.loader import LoadedEngine, ModelMissing, ModelRequest
from app.main_window import MainWindow
from app.question_dialog import QuestionDialog
from app.recorder import Recorder
from app.session import Session
from app.settings import Preferences
from app.theming import Theming
from app.workbench import Workbench
from core.errors import UserError
from core.progress import Cancelled, Progress, Report
from core.training.options import TrainOptions
from resources.paths import SAMPLE
from tests.app.tiny_loader import TinyLoader
from tests.core.recordings import DEPTH
from tests.core.recordings import Recorder as TinyEngine
from tests.monkey.answers import Answers
from tests.monkey.faults import Fault, Faults
from tests.tiny import make_tiny_model
from widgets.selection import Selection
from widgets.why_view import WhyView

PATIENCE = 60.0
"""Seconds of waiting that only a dead window needs."""
BREATH = 1.0
"""Most seconds that one look counts for: a process that was held up meanwhile has not waited."""
PULSE_MS = 5
SIZE = QSize(1280, 800)
MOST_ERRORS = 4
"""Dialogs about errors that may be open at once: more of them is a nuisance to close."""
WAYS_OUT = ("stop", "discard", "reset")
"""Answers that lead back to a window without anything to lose."""


class CagedLoader:
    """Loads the tiny engine, or refuses as the real loader does, by the name that is asked for."""

    def __init__(self, folder: Path) -> None:
        self._load = TinyLoader(TinyEngine(make_tiny_model(folder, depth=DEPTH, context=128)))

    def __call__(self, request: ModelRequest, report: Report, cancel: threading.Event) -> LoadedEngine:
        if request.ref.startswith("missing/") and not request.fetch:
            raise ModelMissing(request.ref, 1000, "apache-2.0")
        if request.ref.startswith("bad/"):
            raise UserError(f"{request.ref} is no model; choose another one.")
        for done in range(5):
            report(Progress("Loading", done, 5))
            if cancel.wait(0.002):
                raise Cancelled
        return self._load(request, report, cancel)


def pretend_training(options: TrainOptions, report: Report, cancel: threading.Event) -> Path:
    """A trainer that only takes a moment."""
    for done in range(20):
        report(Progress("Training the drafter", done, 20))
        if cancel.wait(0.01):
            raise Cancelled
    return Path("parts")


class Cage:
    """One window at a time."""

    def __init__(self, application: QApplication, folder: Path, answers: Answers, faults: Faults) -> None:
        self.application, self.answers, self.faults = application, answers, faults
        self._loader = CagedLoader(folder / "tiny")
        self._theming = Theming(application, Preferences().theme)
        self.openings = 0
        self._opened: Path | None = None
        self._pulse = QTimer(application, interval=PULSE_MS)  # so that waiting for events never waits for long
        self._pulse.start()
        self.open()

    def open(self) -> None:
        """Open the window as a launch does, with the tiny model."""
        self.openings += 1
        self.session = Session(self._loader, Recorder())
        self.window = MainWindow(Preferences(QSettings()))
        self._theming.attach(self.window)
        self.window.recall()
        self.work = Workbench(self.session, self.window)
        for _ in self.work.build():
            pass
        self.work.training.trainer = pretend_training
        self.session.failed.connect(self._hear)
        self.work.files.opened.connect(self._note_opened)
        self.window.show()
        self.window.activateWindow()
        self.work.recovery.look()
        self.work.flow.open("tiny")

    def reopen(self) -> None:
        """Let go of a window that was closed, and open another."""
        self.shut()
        self.open()

    def shut(self) -> None:
        """Close the window and all that belongs to it."""
        self.window.close()
        self.window.deleteLater()
        self.session.deleteLater()
        del self.work
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        self.answer_events()

    def look(self) -> None:
        """Raises `Fault` where anything is wrong now."""
        errors = [dialog for dialog in self.window.findChildren(ErrorDialog) if dialog.isVisible()]
        for dialog in errors:
            if dialog.windowTitle() == "Something went wrong":
                self.faults.note(f"an error dialog: {dialog.details.toPlainText()}")
                dialog.close()
        if len(errors) > MOST_ERRORS:
            self.faults.note(f"{len(errors)} error dialogs at once: {[one.sentence.text() for one in errors]}")
        self.faults.raise_any()

    def answer_events(self) -> None:
        """Let the window do what is waiting."""
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        if QApplication.activeWindow() is None and isValid(
            self.window
        ):  # a desktop gives the focus back to a window that is left
            (QApplication.activeModalWidget() or self.window).activateWindow()

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Go on answering until something is so; raises `Fault` where it never is."""
        waited, last = 0.0, monotonic()
        while not condition():
            if waited > PATIENCE:
                raise Fault(f"dead: {what} never came about")
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
            self.answer_events()
            waited, last = waited + min(monotonic() - last, BREATH), monotonic()

    # The way home

    def come_home(self) -> None:
        """From whatever state to the sample session with its first token explained; raises `Fault` where that fails."""
        self.until(self._no_dialogs, "a window without dialogs")
        if not self.window.isVisible():
            self.reopen()
        self.session.cancel_load()
        self.session.stop()
        self.until(self._at_rest, "an engine at rest")
        self._opened = None
        self.work.files.open_sample()
        self.until(self._shows_sample, "the sample session")
        self.session.select(Selection(1))
        panel = self.window.panels["why"]
        panel.show()
        panel.raise_()  # it may lie behind others
        why = panel.findChild(WhyView)
        assert why is not None
        self.until(lambda: bool(why.text()), f"a paragraph in the panel Why ({self.session.selection})")
        self.look()

    def tidy(self) -> None:
        """Lay out and size the window as at first, so that what it takes of memory can be compared."""
        self.window.showNormal()
        self.window.resize(SIZE)
        for name in ("zoom_reset", "reset_layout"):
            self.window.commands[name].trigger()
        self.answer_events()
        self.look()

    def _at_rest(self) -> bool:
        busy = self.session.is_running or self.session.is_loading or self.work.files.is_busy
        return self._no_dialogs() and not busy and not self.work.exporting.is_busy

    def _shows_sample(self) -> bool:
        return self._no_dialogs() and self._opened == SAMPLE and self.session.trace is not None

    def _no_dialogs(self) -> bool:
        """Leave one dialog or menu, whatever it asks; whether there was none."""
        popup, modal = QApplication.activePopupWidget(), QApplication.activeModalWidget()
        if popup is not None:
            popup.close()
        elif isinstance(modal, QuestionDialog):
            button = next((modal.buttons[key] for key in WAYS_OUT if key in modal.buttons), None)
            button.click() if button is not None else modal.reject()
        elif isinstance(modal, QDialog):
            modal.reject()
        elif modal is not None:
            modal.close()
        else:
            return not any(leave(one) for one in QApplication.topLevelWidgets())
        return False

    def _hear(self, failure: Failure) -> None:
        if not failure.user_error:
            self.faults.note(f"failed: {failure.details}")

    def _note_opened(self, path: Path) -> None:
        self._opened = path


def leave(widget: object) -> bool:
    """Close a dialog that is open beside the window; whether it was one."""
    if isinstance(widget, QDialog) and widget.isVisible():
        widget.reject()
        return True
    return False
