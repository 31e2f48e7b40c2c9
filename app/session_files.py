"""Sessions as files: New, Open, Save and Save as, and what becomes of the recovery file."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QFileDialog

from app import session_words as said
from app.failure import Failure, describe
from app.file_work import CANCELLED, FileWork, Work
from app.library import Library, newest_run
from app.main_window import MainWindow
from app.question_dialog import Answer, QuestionDialog
from app.recovery import Leftover
from app.session import Session
from core.errors import UserError
from core.progress import Report, check
from core.trace.marks import Mark
from core.trace.reading import ReadableTrace
from core.trace.saving import save_readable
from core.trace.session_file import SessionFile
from core.trace.stored_trace import StoredTrace
from core.trace.trace import Trace
from resources.paths import SAMPLE

SUFFIX = ".specee"
FILTER = f"Sessions (*{SUFFIX});;All files (*)"
Then = Callable[[], object]


class SessionFiles(QObject):
    """The library of one session, and the commands that open and save it. Call `close` once its session is closed."""

    opened = Signal(object)
    """The path of a session that was opened and is on show."""
    saved = Signal(object)
    """The path that the session was saved to."""
    marked = Signal()
    """Bookmarks or notes changed, or those of another session are there."""
    _damaged = Signal(object)

    def __init__(self, session: Session, window: MainWindow) -> None:
        super().__init__(window)
        self._session, self._window, self._recorder = session, window, session.recorder
        self._preferences = window.preferences
        self.library = Library(self._recorder, self._damaged.emit)
        self.dialog: QuestionDialog | None = None
        """The question that is open."""
        self._work = FileWork(window.status.files, self)
        self._recovered: list[Leftover] = []
        self._running: int | None = None
        self._given_up = False
        """Whether the user does not want what is unsaved."""
        session.run_began.connect(self._run_began)
        session.run_ended.connect(self._run_ended)
        self._damaged.connect(self._tell_damage, Qt.ConnectionType.QueuedConnection)
        self._show()

    @property
    def is_recording(self) -> bool:
        """Whether a run is still being recorded; saving now leaves its end to be saved."""
        return self._running is not None

    @property
    def is_busy(self) -> bool:
        """Whether something is being opened or saved."""
        return self._work.is_busy

    # Commands

    @Slot()
    def new(self) -> None:
        """Begin an empty session; one that is unsaved is asked about first."""
        self._leave(self._clear)

    @Slot()
    def choose(self) -> None:
        """Ask which session to open."""
        name, _ = QFileDialog.getOpenFileName(self._window, "Open a session", self._preferences.session_folder, FILTER)
        if name:
            self.open(Path(name))

    @Slot(object)
    def open(self, path: Path) -> None:
        """Open a session in place of the present one, which is asked about first where it is unsaved."""
        self._leave(lambda: self._read(path))

    @Slot()
    def open_sample(self) -> None:
        """Open the runs that come with the program."""
        self.open(SAMPLE)

    @Slot()
    def save(self, then: Then | None = None) -> None:
        """Save to where the session was opened from or saved to last; without such a place, ask where to."""
        path = self.library.path
        if path is None:
            self.save_as(then)
        elif self.library.is_overtaken:
            ways = {"save_as": lambda: self.save_as(then), "replace": lambda: self._write(path, then)}
            self.ask(said.overtaken_question(path), said.OVERTAKEN_ANSWERS, lambda answer: ways.get(answer, int)())
        else:
            self._write(path, then)

    @Slot()
    def save_as(self, then: Then | None = None) -> None:
        """Ask where to save, then do so."""
        start = self.library.path or Path(self._preferences.session_folder) / f"session{SUFFIX}"
        name, _ = QFileDialog.getSaveFileName(self._window, "Save the session", str(start), FILTER)
        if name:
            path = Path(name)
            self._write(path if path.suffix else path.with_suffix(SUFFIX), then)

    @Slot()
    def leave(self) -> None:
        """Close the window; what is unsaved is asked about first."""
        self._leave(self._window.close)

    def recover(self, left: Leftover) -> None:
        """Show what a crash has left, as part of the session that was open then; it is unsaved."""
        try:
            trace = newest_run(left.file, self._damaged.emit)
            if left.origin is not None and left.origin.is_file():
                self.library.fill(SessionFile(left.origin))
            self.library.fill(left.file, [trace] if trace else [], saved=False)
        except UserError as error:
            left.close()
            self._fail(describe(error))
            return
        self._recovered.append(left)
        self._take_over(trace)

    def show_run(self, number: int) -> None:
        """Show one of the runs that the library knows."""
        try:
            self.show_trace(self.library.trace(number))
        except UserError as error:
            self._fail(describe(error))

    def show_trace(self, trace: ReadableTrace) -> None:
        """Show a run of the library that was read already."""
        self._session.show_trace(trace)
        self._show()

    def put_mark(self, mark: Mark) -> None:
        """Set a bookmark, or change its note."""
        self._mark(self.library.put_mark, mark)

    def remove_mark(self, mark: Mark) -> None:
        """Take a bookmark away."""
        self._mark(self.library.remove_mark, mark)

    def ask(self, question: tuple[str, str], answers: tuple[Answer, ...], answered: Callable[[str], object]) -> None:
        """Ask something; nothing else is asked meanwhile."""
        dialog = self.dialog = QuestionDialog(*question, answers, self._window.theme, self._window)

        def take(answer: str) -> None:
            self.dialog = None
            answered(answer)

        dialog.answered.connect(take)
        dialog.open()

    @Slot()
    def close(self) -> None:
        """Let go of all files. The recovery file goes, unless something in it is unsaved and nobody was asked."""
        self._work.wait()
        keep = self.library.is_unsaved and not self._given_up
        self.library.close()
        for left in self._recovered:
            left.close() if keep else left.discard()
        self._recovered = []
        if self._recorder is not None:
            self._recorder.close(keep=keep)

    def _mark(self, change: Callable[[Mark], None], mark: Mark) -> None:
        try:
            change(mark)
        except UserError as error:  # it is kept in memory, and saving writes it
            self._fail(describe(error))
        self._show()
        self.marked.emit()

    # Leaving what is unsaved

    def _leave(self, then: Then) -> None:
        if self.is_busy or self.dialog is not None:
            return
        if self.library.is_unsaved:
            question = said.unsaved_question(self.library)
            self.ask(question, said.UNSAVED_ANSWERS, lambda answer: self._answered(answer, then))
        else:
            then()

    def _answered(self, answer: str, then: Then) -> None:
        if answer == "save":
            self.save(then)
        elif answer == "discard":
            self._given_up = True
            then()

    # Opening

    def _read(self, path: Path) -> None:
        def work(_report: Report, cancel: threading.Event) -> tuple[SessionFile, StoredTrace | None]:
            file = SessionFile(path)
            try:
                trace = newest_run(file, self._damaged.emit)
                check(cancel)
            except BaseException:
                file.close()
                raise
            return file, trace

        def failed() -> None:
            self._given_up = False
            self._preferences.forget_session(str(path))

        self._do("Opening the session", work, self._opened, failed)

    def _opened(self, outcome: tuple[SessionFile, StoredTrace | None]) -> None:
        file, trace = outcome
        self._clear()
        try:
            self.library.fill(file, [trace] if trace else [])
        except UserError as error:
            self._fail(describe(error))
        if is_sample := file.path == SAMPLE:
            self.library.path = None  # it is a copy without a name: saving asks where to
        self._take_over(trace)
        if not is_sample:
            self._preferences.remember_session(str(file.path))
        self.opened.emit(file.path)

    def _take_over(self, trace: StoredTrace | None) -> None:
        """Show a session that the library has taken in."""
        self._session.number_from(self.library.next_number)
        if self._recorder is not None:
            self._recorder.note_origin(self.library.path)
        self._session.show_trace(trace)
        self._show()
        self.marked.emit()

    def _clear(self) -> None:
        self._session.reset()
        self.library.clear()
        self._drop_recovery()
        self._given_up = False
        self._show()
        self.marked.emit()

    def _drop_recovery(self) -> None:
        """Take the recovery files away: what is in them is saved, or not wanted."""
        for left in self._recovered:
            left.discard()
        self._recovered = []
        if self._recorder is not None:
            self._recorder.start_over()
            self._recorder.note_origin(self.library.path)

    # Saving

    def _write(self, path: Path, then: Then | None, less: Collection[int] = ()) -> None:
        """Save to this file, without the runs of these numbers; the user is asked where others cannot be read."""
        if self.is_busy:
            return
        running = self._running
        try:
            runs, marks = self.library.to_save(less)
        except UserError as error:
            self._fail(describe(error))
            return

        def over(lost: list[int]) -> None:
            ways = {"save": lambda: self._write(path, then, {*less, *lost})}
            if lost:
                self.ask(said.lost_question(lost), said.LOST_ANSWERS, lambda answer: ways.get(answer, int)())
            else:
                self._written(path, running, then)

        self._do("Saving the session", partial(save_readable, path, runs, marks), over)

    def _written(self, path: Path, running: int | None, then: Then | None) -> None:
        try:
            self.library.saved_to(path, running)
        except UserError as error:
            self._fail(describe(error))
            return
        if not self.library.is_unsaved:
            self._drop_recovery()
        self._preferences.remember_session(str(path))
        self._show()
        self.saved.emit(path)
        if then is not None:
            then()

    # What happens meanwhile

    @Slot(object)
    def _run_began(self, trace: Trace) -> None:
        self.library.begin(trace)
        self._running = trace.started.run if trace.started else None
        self._given_up = False
        self._show()

    @Slot(int)
    def _run_ended(self, number: int) -> None:
        if number == self._running:
            self._running = None
        self._show()

    @Slot(object)
    def _tell_damage(self, error: UserError) -> None:
        self._fail(describe(error))

    def _do(self, words: str, work: Work, done: Callable[[Any], object], failed: Then | None = None) -> None:
        """Do something long in a thread of its own, then go on here; nothing happens where the user calls it off."""

        def over(outcome: Any) -> None:
            self._show()
            if outcome is CANCELLED:
                self._given_up = False
            elif not isinstance(outcome, Failure):
                done(outcome)
            else:
                if failed is not None:
                    failed()
                self._fail(outcome)

        self._work.start(words, work, over)
        self._show()

    def _fail(self, failure: Failure) -> None:
        self._session.failed.emit(failure)

    def _show(self) -> None:
        self._window.show_session(self.library.path, unsaved=self.library.is_unsaved, busy=self.is_busy)
        shown = self._session.trace.started if self._session.trace is not None else None
        self._window.status.show_recording(self.library.whereabouts(shown.run) if shown else None)
