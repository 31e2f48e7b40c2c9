"""Spreads the repainting of several views over frames, so that no single frame has to draw them all."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from PySide6.QtCore import QObject, Qt, QTimer, Slot

INTERVAL_MS = 16
"""One frame of a 60 Hz screen."""
STRIDE = 3
"""Of the patient updates one runs in so many frames: five views of a run are then drawn four times a second each."""


class Throttle(QObject):
    """Runs at most one asked-for update a tick; the newest of each key, keys taking turns.

    While it is calm, updates that are *patient* are spread wider: nobody can read plots that change with every frame.
    The timer runs only while something waits.
    """

    def __init__(self, parent: QObject | None = None, interval_ms: int = INTERVAL_MS) -> None:
        super().__init__(parent)
        self._waiting: dict[Hashable, Callable[[], None]] = {}
        self._patient: dict[Hashable, Callable[[], None]] = {}
        self.calm = False
        """Whether patient updates are spread; change it through `set_calm`."""
        self._since = STRIDE
        """Ticks since a patient update ran."""
        self.timer = QTimer(self)
        self.timer.setTimerType(Qt.TimerType.PreciseTimer)
        self.timer.setInterval(interval_ms)
        self.timer.timeout.connect(self.tick)

    @property
    def idle(self) -> bool:
        """Whether nothing waits."""
        return not self._waiting and not self._patient

    def request(self, key: Hashable, update: Callable[[], None], *, patient: bool = False) -> None:
        """Run `update` in one of the next ticks, in place of what still waits under `key`.

        A renewed request keeps its place in the queue: a view that asks all the time is still drawn in its turn. What
        waited patiently may become urgent, not the other way round.
        """
        patient = patient and self.calm and key not in self._waiting
        if not patient:
            self._patient.pop(key, None)
        (self._patient if patient else self._waiting)[key] = update
        if not self.timer.isActive():
            self.timer.start()

    def set_calm(self, on: bool) -> None:
        """Spread patient updates, or no more: those that wait then come in the next frames."""
        self.calm = on
        if not on:
            self._hurry()

    def cancel(self, key: Hashable) -> None:
        """Forget what waits under `key`."""
        self._waiting.pop(key, None)
        self._patient.pop(key, None)

    def flush(self) -> None:
        """Run all that waits now; what these updates ask for waits for its own tick."""
        self._hurry()
        waiting, self._waiting = self._waiting, {}
        self._stop_if_idle()
        for update in waiting.values():
            update()

    @Slot()
    def tick(self) -> None:
        """Run the update that has waited longest; a patient one, where it is time for one."""
        self._since += 1
        patient = bool(self._patient) and self._since >= STRIDE
        queue = self._patient if patient else self._waiting
        self._since = 0 if patient else self._since
        try:
            if queue:
                queue.pop(next(iter(queue)))()
        finally:
            self._stop_if_idle()
            if self.calm and self.timer.isActive():
                self.timer.start()  # counts from here: the painting that follows is over before the next update

    def _hurry(self) -> None:
        self._waiting |= self._patient
        self._patient.clear()

    def _stop_if_idle(self) -> None:
        if self.idle:
            self.timer.stop()
