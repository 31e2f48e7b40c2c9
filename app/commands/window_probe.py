"""What the window's bench listens to: the first paint, and the gaps of a 16 ms timer on the GUI thread."""

from __future__ import annotations

from time import perf_counter

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QWidget

TICK_MS = 16


class FirstPaint(QObject):
    """Tells when a window has been painted for the first time. Install it as the application's event filter."""

    painted = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._seen = False

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Sees every event of the application and holds up none."""
        is_first = not self._seen and event.type() == QEvent.Type.Paint
        if is_first and isinstance(watched, QWidget) and watched.isWindow():
            self._seen = True
            # Said once the event is over: then the picture is made.
            QTimer.singleShot(0, self.painted.emit)
        return False


class GapMeter(QObject):
    """Measures how long the GUI thread keeps a precise 16 ms timer waiting."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._gaps: list[float] = []
        self._last = perf_counter()
        self._timer = QTimer(self, interval=TICK_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)

    def start(self) -> None:
        """Forget what was measured and begin again."""
        self._gaps = []
        self._last = perf_counter()
        self._timer.start()

    def take(self) -> list[float]:
        """Stop; the gaps since `start` in milliseconds, the unfinished last one included."""
        self._tick()
        self._timer.stop()
        return self._gaps

    @Slot()
    def _tick(self) -> None:
        now = perf_counter()
        self._gaps.append((now - self._last) * 1000)
        self._last = now
