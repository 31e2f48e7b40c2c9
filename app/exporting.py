"""File ▸ Export and Edit ▸ Copy: what is on show, in forms that others read. Files are written in a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QPoint, Qt, Slot
from PySide6.QtWidgets import QAbstractItemView, QApplication, QFileDialog, QMenu, QProgressDialog

from app import export_copy, export_picture, export_work
from app.chore import Chore
from app.export_work import RunToWrite
from app.failure import Failure
from app.main_window import MainWindow
from app.named_keys import with_keys
from app.places import TOKENS, WHY
from app.session import Session
from app.session_files import SessionFiles
from core.errors import UserError
from core.progress import Cancelled
from core.report.table import Table
from core.report.views import VIEWS
from core.trace.trace import Trace

if TYPE_CHECKING:
    from app.panel import Panel

PICTURES = "Pictures (*.png);;Drawings (*.svg)"
TABLES = "Tables (*.csv)"
EVENTS = "Events (*.jsonl)"
PAGES = "Pages (*.html)"
PATIENCE_MS = 1000
"""After which a file that is being written is told of, with Cancel."""
SHOWN_MS = 6000
NO_RUN = "There is no run to export yet; run a prompt, or open a session."
Work = Callable[[threading.Event], object]


class Exporting(QObject):
    """The exports of one window. Call `close` before letting go of it."""

    def __init__(self, session: Session, files: SessionFiles, window: MainWindow) -> None:
        super().__init__(window)
        self._session, self._files, self._window = session, files, window
        self._folder = ""
        self._chores: list[Chore] = []
        self._cancel = threading.Event()
        commands = window.commands
        commands["export_picture"].triggered.connect(self.picture)
        commands["export_table"].triggered.connect(self.table)
        commands["export_events"].triggered.connect(self.events)
        commands["export_report"].triggered.connect(self.report)
        commands["copy"].triggered.connect(self.copy)
        for panel in window.panels.values():
            panel.header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
            panel.header.customContextMenuRequested.connect(partial(self._show_menu, panel))

    @property
    def is_busy(self) -> bool:
        """Whether a file is being written."""
        return bool(self._chores)

    def close(self) -> None:
        """Call off what is being written, and wait until it has made way."""
        self._cancel.set()
        for chore in self._chores:
            chore.wait()

    # Commands

    @Slot()
    def picture(self) -> None:
        """Ask where to, then write the panel's view as it is on show."""
        panel = self._panel()
        if panel.view is None or panel.is_empty:
            self._refuse(f"The panel {panel.windowTitle()} is empty; there is nothing to make a picture of.")
            return
        path = self._ask(f"Export {panel.windowTitle()} as a picture", panel.objectName(), PICTURES)
        if path is None:
            return
        if path.suffix.lower() == ".svg":
            content = export_picture.widget_svg(panel.view, panel.windowTitle())
        else:
            content = export_picture.widget_png(panel.view)
        self._write(path, lambda _: export_work.write_bytes(path, content))

    @Slot()
    def table(self) -> None:
        """Ask where to, then write the panel's table."""
        panel = self._panel()
        made = self._table_of(panel)
        if made is None:
            self._refuse(
                f"The panel {panel.windowTitle()} has no table; choose another panel, such as Tokens (Ctrl+3)."
            )
            return
        path = self._ask(f"Export the table of {panel.windowTitle()}", panel.objectName(), TABLES)
        if path is not None:
            self._write(path, lambda cancel: export_work.write_table(path, made, cancel))

    @Slot()
    def events(self) -> None:
        """Ask where to, then write every event of the session."""
        self._export_runs("Export the session’s events", "events", EVENTS, export_work.write_events_of)

    @Slot()
    def report(self) -> None:
        """Ask where to, then write the session as a page of HTML."""
        name = self._files.library.path.name if self._files.library.path else "Recorded runs"
        exits = self._window.desk.appearance.look.exits

        def write(path: Path, runs: list[RunToWrite], cancel: threading.Event) -> None:
            export_work.write_report(path, name, exits, runs, cancel)

        self._export_runs("Export a report", "report", PAGES, write)

    @Slot()
    def copy(self) -> None:
        """Put what is selected where the focus is on the clipboard."""
        focus, panel, trace = QApplication.focusWidget(), self._panel(), self._session.trace
        board = QApplication.clipboard()
        if isinstance(focus, QAbstractItemView) and focus.model() is not None:
            board.setText(export_copy.rows_text(focus))
        elif trace is not None and panel.objectName() == TOKENS.key:
            board.setText(export_copy.token_text(trace, self._session.selection.token))
        elif trace is not None and panel.objectName() == WHY.key:
            board.setText(export_copy.why_text(trace, self._session.selection))
        elif panel.view is not None and not panel.is_empty:
            board.setMimeData(export_copy.picture(panel.view))
        self._window.status.showMessage(f"{panel.windowTitle()}: copied", SHOWN_MS)

    # Pieces

    def _panel(self) -> Panel:
        """The panel that had the focus last."""
        return self._window.panels[self._window.desk.layouts.focused]

    @Slot(QPoint)
    def _show_menu(self, panel: Panel, at: QPoint) -> None:
        """What can be done with one panel, at its title."""
        self._window.desk.layouts.focused = panel.objectName()
        menu = QMenu(self._window)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addActions([self._window.commands[name] for name in ("copy", "export_picture", "export_table")])
        menu.popup(panel.header.mapToGlobal(at))

    def _table_of(self, panel: Panel) -> Callable[[], Table] | None:
        """Makes the panel's table in any thread; None where it has none."""
        key, selection, runs = panel.objectName(), self._session.selection, self._runs(only_shown=True)
        if key in VIEWS and runs:
            return lambda: export_work.view_table(key, runs[0], selection.token, selection.layer)
        found = export_copy.find_table(panel.view) if panel.view is not None else None
        if found is None:
            return None
        made = export_copy.table_of(found)
        return lambda: made

    def _runs(self, *, only_shown: bool = False) -> list[RunToWrite]:
        """The session's runs, or the one on show; what goes on growing is taken as it is now."""
        library, shown = self._files.library, self._session.trace
        number = shown.started.run if shown is not None and shown.started is not None else None
        numbers = [title.number for title in library.titles()]
        if only_shown:
            numbers = [] if number is None else [number]
        return [self._run(number) for number in numbers]

    def _run(self, number: int) -> RunToWrite:
        library = self._files.library
        known = library.at_hand(number)
        if known is None:
            read: Callable[[], Any] = library.reader_of(number)
        else:
            read = partial(_given, known)
            if isinstance(known, Trace) and known.ended is None:
                read = partial(Trace.of, tuple(known.events))
        marks = [mark for mark in library.marks if mark.run == number]
        return RunToWrite(number + 1, read, library.weights_of(number), marks)

    def _export_runs(
        self,
        title: str,
        name: str,
        kinds: str,
        write: Callable[[Path, list[RunToWrite], threading.Event], None],
    ) -> None:
        try:
            runs = self._runs()
        except UserError as error:
            self._refuse(str(error))
            return
        if not runs:
            self._refuse(NO_RUN)
            return
        path = self._ask(title, name, kinds)
        if path is not None:
            self._write(path, lambda cancel: write(path, runs, cancel))

    def _ask(self, title: str, name: str, kinds: str) -> Path | None:
        """Where to write; the ending says what, and is given where it is missing."""
        session = self._files.library.path
        folder = self._folder or str(session.parent if session else Path.home())
        suffix = _suffix(kinds)
        stem = f"{session.stem}-{name}" if session else name
        chosen, kind = QFileDialog.getSaveFileName(self._window, title, str(Path(folder) / f"{stem}{suffix}"), kinds)
        if not chosen:
            return None
        path = Path(chosen)
        self._folder = str(path.parent)
        return path if path.suffix else path.with_name(path.name + _suffix(kind or kinds))

    def _write(self, path: Path, work: Work) -> None:
        cancel = self._cancel = threading.Event()
        chore = Chore(lambda: _until_cancelled(work, cancel), self)
        waiting = QProgressDialog(f"Writing {path.name}…", "Cancel", 0, 0, self._window)
        waiting.setMinimumDuration(PATIENCE_MS)
        waiting.canceled.connect(cancel.set)
        self._chores.append(chore)

        def over(outcome: object) -> None:
            self._chores.remove(chore)
            waiting.reset()
            waiting.deleteLater()
            self._tell(path, outcome)

        chore.over.connect(over)
        chore.start()

    def _tell(self, path: Path, outcome: object) -> None:
        if isinstance(outcome, Failure):
            self._session.failed.emit(outcome)
        else:
            said = "not written: cancelled" if outcome == _CANCELLED else "written"
            self._window.status.showMessage(f"{path.name} {said}", SHOWN_MS)

    def _refuse(self, sentence: str) -> None:
        self._session.failed.emit(Failure(with_keys(sentence), "", True))


_CANCELLED = "cancelled"


def _until_cancelled(work: Work, cancel: threading.Event) -> object:
    try:
        return work(cancel)
    except Cancelled:
        return _CANCELLED


def _given(trace: Any) -> Any:
    return trace


def _suffix(kinds: str) -> str:
    """The first ending that a file dialog's filter names."""
    return kinds.partition("(*")[2].partition(")")[0]
