"""Keeps the log: what the session, its files and our modules' loggers say, from any thread, in bounded memory."""

from __future__ import annotations

import logging
import traceback
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from app.bug_report import without_home
from app.failure import Failure
from app.loader import LoadedSummary
from widgets.log_view import Kind, LogEntry, LogModel

if TYPE_CHECKING:
    from app.session import Session
    from app.session_files import SessionFiles
    from core.trace.trace import Trace

MOST = 2000
"""Entries; the oldest go."""
LONGEST, LONGEST_DETAILS = 1000, 20_000
"""Characters of one entry."""
OURS = ("app", "core", "widgets")
"""The packages whose loggers are listened to."""


class _Listener(logging.Handler):
    """Hands records over; may be called in any thread."""

    def __init__(self, book: LogBook) -> None:
        super().__init__(logging.INFO)
        self._book = book

    def emit(self, record: logging.LogRecord) -> None:
        kind = Kind.ERROR if record.levelno >= logging.ERROR else Kind.NOTE
        if record.levelno == logging.WARNING:
            kind = Kind.WARNING
        details = "".join(traceback.format_exception(*record.exc_info)) if record.exc_info else ""
        with suppress(RuntimeError):  # the window has gone between the record and here
            self._book.note(record.getMessage(), kind, details)


class LogBook(QObject):
    """What happened in one window. Call `close` when it goes."""

    _arrived = Signal(object)

    def __init__(self, session: Session, files: SessionFiles, parent: QObject) -> None:
        super().__init__(parent)
        self.rows = LogModel(MOST)
        self._traces: dict[int, Trace] = {}
        """Runs that are under way, by number."""
        self._arrived.connect(self._take)
        session.model_changed.connect(self._note_model)
        session.run_began.connect(self._note_run)
        session.run_ended.connect(self._note_end)
        session.failed.connect(self._note_failure)
        files.opened.connect(self._note_opened)
        files.saved.connect(self._note_saved)
        self._listener = _Listener(self)
        self._levels = {name: logging.getLogger(name).level for name in OURS}
        for name in OURS:
            logging.getLogger(name).addHandler(self._listener)
            logging.getLogger(name).setLevel(logging.INFO)

    def note(self, text: str, kind: Kind = Kind.NOTE, details: str = "") -> None:
        """Add a line; at any time, from any thread."""
        text, details = without_home(text), without_home(details)
        self._arrived.emit(LogEntry(datetime.now(), kind, text[:LONGEST], details[:LONGEST_DETAILS]))

    @property
    def lines(self) -> list[str]:
        """All lines as plain text."""
        return [entry.line for entry in self.rows.entries]

    @Slot()
    def close(self) -> None:
        """Listen no more."""
        for name in OURS:
            logger = logging.getLogger(name)
            logger.removeHandler(self._listener)
            logger.setLevel(self._levels[name])

    @Slot(object)
    def _take(self, entry: LogEntry) -> None:
        self.rows.add([entry])

    @Slot(object)
    def _note_model(self, summary: LoadedSummary) -> None:
        info, parts = summary.info, "trained parts" if summary.has_parts else "no trained parts"
        self.note(f"{info.name} is loaded: {info.depth} layers, {info.dtype} on {info.device}, {parts}.")

    @Slot(object)
    def _note_run(self, trace: Trace) -> None:
        assert trace.started is not None, "a run that began has said so"
        settings = trace.started.settings
        self._traces[trace.started.run] = trace
        self.note(
            f"Run {trace.started.run + 1} began: {settings.policy.value}, recorded {settings.record.value}, at most "
            f"{settings.max_new_tokens} tokens."
        )

    @Slot(int)
    def _note_end(self, number: int) -> None:
        trace = self._traces.pop(number, None)
        if trace is None:
            return
        reason = trace.ended.reason.value if trace.ended is not None else "given up"
        count = trace.emitted_count
        self.note(f"Run {number + 1} ended after {count} {'token' if count == 1 else 'tokens'}: {reason}.")

    @Slot(object)
    def _note_failure(self, failure: Failure) -> None:
        self.note(failure.sentence, Kind.WARNING if failure.user_error else Kind.ERROR, failure.details)

    @Slot(object)
    def _note_opened(self, path: Path) -> None:
        self.note(f"{path} was opened.")

    @Slot(object)
    def _note_saved(self, path: Path) -> None:
        self.note(f"The session was saved to {path}.")
