"""Reads in a quiet moment what the next step will show, so that the step itself need not."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from core.trace.reading import ReadableTrace
from widgets.throttle import INTERVAL_MS


class ReadAhead(QObject):
    """Looks one token further, the way that the user went; a stored trace keeps what was looked at last."""

    expected = Signal(int)
    """The 0-based token that another step the same way would lead to, once one has been taken."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._trace: ReadableTrace | None = None
        self._next = 0
        self._stepped = False
        self._timer = QTimer(self, singleShot=True, interval=INTERVAL_MS)
        self._timer.timeout.connect(self._read)

    def begin(self, trace: ReadableTrace | None, before: int | None, now: int | None) -> None:
        """The user went from one 0-based token to another, which is on show now or in the next frame."""
        self.stop()
        if now is not None:
            self._trace, self._next = trace, now + (-1 if before is not None and now < before else 1)
            self._stepped = before is not None and abs(now - before) == 1
            self._timer.start()

    def stop(self) -> None:
        """Read nothing: another trace is on show."""
        self._timer.stop()
        self._trace = None

    @Slot()
    def _read(self) -> None:
        trace, self._trace = self._trace, None
        if trace is not None and 0 <= self._next < trace.emitted_count:
            trace.records[self._next]
            if self._stepped:
                self.expected.emit(self._next)
