"""Opening or saving in a thread of its own, with progress and Cancel in the status bar once it takes longer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.chore import Chore
from app.progress_line import ProgressLine
from core.progress import Cancelled, Progress, Report

PATIENCE_MS = 400
"""What is over sooner shows no progress: it would only flicker."""
CANCELLED = object()
"""The outcome of work that the user called off."""

Work = Callable[[Report, threading.Event], Any]


class FileWork(QObject):
    """At most one piece of work at a time."""

    _told = Signal(object)

    def __init__(self, line: ProgressLine, parent: QObject) -> None:
        """`line` is hidden while there is nothing to tell."""
        super().__init__(parent)
        self._line = line
        self._chore: Chore | None = None
        self._cancel = threading.Event()
        self._soon = QTimer(self, singleShot=True, interval=PATIENCE_MS)
        self._soon.timeout.connect(line.show)
        self._told.connect(line.show_progress)
        line.cancelled.connect(self.cancel)

    @property
    def is_busy(self) -> bool:
        return self._chore is not None

    def start(self, words: str, work: Work, over: Callable[[Any], object]) -> None:
        """Do this away from the window; `over` gets what it returned, a `Failure` or `CANCELLED`.

        Args:
            words: what is being done, as "Saving".
            work: reports, and looks at the event now and then; what it raises as `Cancelled` is no failure.
        """
        cancel = self._cancel = threading.Event()
        chore = self._chore = Chore(lambda: _or_cancelled(work, self._told.emit, cancel), self)

        def end(outcome: Any) -> None:
            self._chore = None
            self._soon.stop()
            self._line.hide()
            over(outcome)

        chore.over.connect(end)
        self._line.start(words)
        self._soon.start()
        chore.start()

    @Slot()
    def cancel(self) -> None:
        """Call it off; it ends soon."""
        self._cancel.set()

    def wait(self) -> None:
        """Let it come to its end, which nobody is told of any more in time."""
        if self._chore is not None:
            self._chore.wait()


def _or_cancelled(work: Work, tell: Callable[[Progress], None], cancel: threading.Event) -> Any:
    try:
        return work(tell, cancel)
    except Cancelled:
        return CANCELLED
