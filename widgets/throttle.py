"""Spreads the repainting of several views over frames, so that no single frame has to draw them all."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from PySide6.QtCore import QObject, Qt, QTimer, Slot

INTERVAL_MS = 16
"""One frame of a 60 Hz screen."""


class Throttle(QObject):
    """Runs at most one asked-for update a tick; the newest of each key, keys taking turns.

    The timer runs only while something waits.
    """

    def __init__(self, parent: QObject | None = None, interval_ms: int = INTERVAL_MS) -> None:
        super().__init__(parent)
        self._waiting: dict[Hashable, Callable[[], None]] = {}
        self.timer = QTimer(self)
        self.timer.setTimerType(Qt.TimerType.PreciseTimer)
        self.timer.setInterval(interval_ms)
        self.timer.timeout.connect(self.tick)

    @property
    def idle(self) -> bool:
        """Whether nothing waits."""
        return not self._waiting

    def request(self, key: Hashable, update: Callable[[], None]) -> None:
        """Run `update` in one of the next ticks, in place of what still waits under `key`.

        A renewed request keeps its place in the queue: a view that asks all the time is still drawn in its turn.
        """
        self._waiting[key] = update
        if not self.timer.isActive():
            self.timer.start()

    def cancel(self, key: Hashable) -> None:
        """Forget what waits under `key`."""
        self._waiting.pop(key, None)

    def flush(self) -> None:
        """Run all that waits now; what these updates ask for waits for its own tick."""
        waiting, self._waiting = self._waiting, {}
        self._stop_if_idle()
        for update in waiting.values():
            update()

    @Slot()
    def tick(self) -> None:
        """Run the update that has waited longest."""
        try:
            if self._waiting:
                self._waiting.pop(next(iter(self._waiting)))()
        finally:
            self._stop_if_idle()

    def _stop_if_idle(self) -> None:
        if not self._waiting:
            self.timer.stop()
