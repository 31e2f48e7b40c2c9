"""Work that is too long for the window's thread and too short for a progress bar: opening, saving."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QThread, Signal, Slot

from app.failure import describe


class Chore(QThread):
    """Does one thing in a thread of its own and tells the outcome in the thread that made it."""

    over = Signal(object)
    """What the work returned, or a `Failure` for what it raised."""

    def __init__(self, work: Callable[[], Any], parent: QObject) -> None:
        super().__init__(parent)
        self._work = work
        self._outcome: Any = None
        self.finished.connect(self._tell)

    def run(self) -> None:
        try:
            self._outcome = self._work()
        except Exception as error:
            self._outcome = describe(error)

    @Slot()
    def _tell(self) -> None:
        outcome, self._outcome = self._outcome, None
        self.deleteLater()
        self.over.emit(outcome)
