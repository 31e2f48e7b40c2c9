"""Reads in a quiet moment what the next step will show, so that the step itself need not."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.tidy import collect_young
from core.trace.reading import ReadableTrace

SETTLE_MS = 4
"""How long all must have been quiet. A key that is held down comes again after 33 ms, half of which a step may take."""


class ReadAhead(QObject):
    """Looks one token further, the way that the user went; a stored trace keeps what was looked at last."""

    expected = Signal(int)
    """The 0-based token that another step the same way would lead to, once one has been taken."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._trace: ReadableTrace | None = None
        self._next = 0
        self._stepped = self._is_painted = False
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._wait_on)

    def begin(self, trace: ReadableTrace | None, before: int | None, now: int | None) -> None:
        """The user went from one 0-based token to another, which is on show now or in the next frame."""
        self.stop()
        if now is not None:
            self._trace, self._next = trace, now + (-1 if before is not None and now < before else 1)
            self._stepped = before is not None and abs(now - before) == 1
            self._is_painted = False
            self._timer.start(0)

    def stop(self) -> None:
        """Read nothing: another trace is on show."""
        self._timer.stop()
        self._trace = None

    @Slot()
    def _wait_on(self) -> None:
        """Timers without a time come after all that is posted, so after the painting of the step: only then the moment
        begins that is to be quiet. Counted from the step itself, its end would come while a long one is painted."""
        if self._is_painted:
            self._read()
        else:
            self._is_painted = True
            self._timer.start(SETTLE_MS)

    def _read(self) -> None:
        trace, self._trace = self._trace, None
        if trace is not None and 0 <= self._next < trace.emitted_count:
            trace.records[self._next]
            if self._stepped:
                self.expected.emit(self._next)
        collect_young()  # else Python does it in the middle of some step
