"""The dialog that makes trained parts for the loaded model."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from app import training_words as words
from app.failure import Failure
from app.forms import Note, labelled, named
from app.question_dialog import Answer, QuestionDialog
from app.stage_table import StageTable
from app.training_course import TrainingCourse
from app.training_form import TrainingForm, TrainingSubject
from core.errors import UserError
from core.progress import Progress
from core.training.options import Stage
from widgets.palette import Theme

SIZE = (860, 560)
ANSWERS = (
    Answer("stop", "&Stop and close", "Keep what is done, and close"),
    Answer("go on", "&Go on training", "Keep the dialog open (Esc)"),
)


class TrainingDialog(QDialog):
    """Asks through its signals and shows what it is told; it trains nothing itself."""

    start_requested = Signal(object)
    """The `TrainOptions` that were entered."""
    stop_requested = Signal()

    def __init__(self, subject: TrainingSubject | None, theme: Theme, parent: QWidget | None = None) -> None:
        """`subject` is None where no model is open."""
        super().__init__(parent)
        self.setWindowTitle("Train parts")
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._theme = theme
        self.is_running = self._closing = False
        self.question: QuestionDialog | None = None
        self.form = TrainingForm(subject) if subject else None
        self.course, self.stages, self.note = TrainingCourse(theme), StageTable(), Note()
        self._make_buttons()
        self._lay_out(subject)
        self.stages.chosen.connect(self._show_curves)
        if self.form is None:
            self.note.show_remark(words.NO_MODEL)
            self.start.hide()
            self.setMinimumWidth(SIZE[0] // 2)
            return
        self.form.changed.connect(self._show_budget)
        self._show_budget()
        self.resize(*SIZE)

    # What it is told

    def show_progress(self, reports: list[Progress]) -> None:
        """Show how far the run is."""
        self.course.take(reports)
        if self.course.stage is not self.stages.current:
            self.stages.show_stage(self.course.stage)
            self.course.show_stage(self.stages.shown)

    def show_trained(self, folder: str, *, loaded: bool = False) -> None:
        """The parts are made; `loaded` says that the model runs with them."""
        self._rest(on_form=False)
        self.course.finish()
        self.course.say(words.trained(folder, loaded))
        self.stages.show_all_done()
        self.start.hide()
        self.close_button.setFocus()
        self._close_if_wanted()

    def show_stopped(self) -> None:
        """The run was stopped as asked."""
        self._rest(on_form=True)
        self.note.show_remark(words.STOPPED)
        self._close_if_wanted()

    def show_failure(self, failure: Failure) -> None:
        """The run broke off; what is entered can be put right."""
        self._rest(on_form=True)
        self.note.show_error(failure.sentence)
        self._close_if_wanted()

    def reject(self) -> None:
        """Esc, Close and the close button; while training goes on they ask first."""
        if not self.is_running:
            super().reject()
        elif self.question is None and not self._closing:
            self.question = QuestionDialog(*words.CLOSING, ANSWERS, self._theme, self)
            self.question.answered.connect(self._answered)
            self.question.open()

    # What the user does

    @Slot()
    def _start(self) -> None:
        assert self.form is not None, "without a model there is nothing to start"
        try:
            options = self.form.options()
        except UserError as error:
            self.note.show_error(str(error))
            return
        self.is_running = True
        self.note.clear()
        self.course.begin(options.budget_minutes)
        self.stages.show_stage(None)
        self._show_buttons()
        self.pages.setCurrentWidget(self.course)
        self.stop.setFocus()
        self.start_requested.emit(options)

    @Slot()
    def _stop(self) -> None:
        self.stop.setEnabled(False)
        self.note.show_remark("Stopping: what is under way is being saved…")
        self.stop_requested.emit()

    @Slot(str)
    def _answered(self, answer: str) -> None:
        self.question = None
        if answer == "stop":
            self._closing = True
            if self.is_running:
                self._stop()
            else:
                self._close_if_wanted()

    @Slot(object)
    def _show_curves(self, stage: Stage) -> None:
        self.course.show_stage(stage)

    @Slot()
    def _show_budget(self) -> None:
        if self.form is not None:
            self.stages.show_budget(self.form.budget.value())

    def _rest(self, *, on_form: bool) -> None:
        self.is_running = False
        self.note.clear()
        self._show_buttons()
        if on_form and self.form is not None:
            self.form.look_for_unfinished()
            self.stages.show_stage(None)
            self.pages.setCurrentWidget(self.form)

    def _close_if_wanted(self) -> None:
        if self._closing:
            super().reject()

    # Making

    def _make_buttons(self) -> None:
        self.start = named(QPushButton("&Start"), "Start", "Train with these settings")
        self.start.setProperty("role", "primary")
        self.start.setDefault(True)
        self.start.clicked.connect(self._start)
        self.stop = named(QPushButton("S&top"), "Stop", "Stop training; what is done is kept")
        self.stop.clicked.connect(self._stop)
        self.close_button = named(QPushButton("&Close"), "Close", "Close this (Esc); training would be stopped")
        self.close_button.clicked.connect(self.reject)
        self._show_buttons()

    def _show_buttons(self) -> None:
        self.start.setVisible(not self.is_running)
        self.stop.setVisible(self.is_running)
        self.stop.setEnabled(True)

    def _lay_out(self, subject: TrainingSubject | None) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 16)
        column.setSpacing(12)
        column.addWidget(labelled(f"Train parts for {subject.name}" if subject else "Train parts", "title"))
        about = labelled(words.ABOUT, "")
        about.setWordWrap(True)
        column.addWidget(about)
        self.pages = QStackedWidget()
        for page in (self.form, self.course):
            if page is not None:
                self.pages.addWidget(page)
        body = QHBoxLayout()
        body.setSpacing(18)
        body.addWidget(self.pages, 1)
        body.addWidget(self.stages)
        column.addLayout(body, 1)
        column.addWidget(self.note)
        column.addLayout(self._buttons())
        if subject is None:
            self.pages.hide()
            self.stages.hide()

    def _buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addStretch(1)
        for button in (self.close_button, self.stop, self.start):
            row.addWidget(button)
        return row
