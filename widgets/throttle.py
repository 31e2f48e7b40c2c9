"""Spreads the repainting of several views over frames, so that no single frame has to draw them all."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator

from PySide6.QtCore import QObject, Qt, QTimer, Slot

INTERVAL_MS = 16
"""One frame of a 60 Hz screen."""
STRIDE = 8
"""Of the patient updates one begins in so many ticks: five views of a run and its figures are then drawn two or three
times a second each."""


class Throttle(QObject):
    """Runs at most one asked-for update a tick; the newest of each key, keys taking turns.

    While it is calm, updates that are *patient* are spread wider: nobody can read plots that change with every frame.
    Large ones are broken into turns then, and ticks come twice as often: many short stretches of work, never a long
    one. The timer runs only while something waits.
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

    def take_turns(self, key: Hashable, turns: Iterator[None]) -> None:
        """Run an update as far as its first `yield` now, and as far as the next in each of the following ticks.

        Until it is over what is asked for under its key waits: else a key that is asked for often would begin again and
        again. Called itself it takes the place of what is left of the key's last one. Where the window is not calm, or
        no longer is, all that is left comes at once.
        """
        self._waiting.pop(_rest(key), None)
        for _ in turns:
            if self.calm:
                self.request(_rest(key), lambda: self.take_turns(key, turns))
                return

    def set_calm(self, on: bool) -> None:
        """Spread patient updates, or no more: those that wait then come in the next frames."""
        if on is not self.calm:
            interval = self.timer.interval()
            self.timer.setInterval(interval // 2 if on else interval * 2)
        self.calm = on
        if not on:
            self._hurry()

    def cancel(self, key: Hashable) -> None:
        """Forget what waits under `key`, turns included."""
        self._waiting.pop(key, None)
        self._waiting.pop(_rest(key), None)
        self._patient.pop(key, None)

    def flush(self) -> None:
        """Run all that waits now; what these updates ask for waits for its own tick, what is after turns for them."""
        self._hurry()
        updates = [self._waiting.pop(key) for key in list(self._ready(self._waiting))]
        self._stop_if_idle()
        for update in updates:
            update()

    @Slot()
    def tick(self) -> None:
        """Run the update that has waited longest; a patient one, where it is time for one."""
        self._since += 1
        patient = next(self._ready(self._patient), None) if self._since >= STRIDE else None
        try:
            if patient is not None:
                self._since = 0
                self._patient.pop(patient)()
            elif (key := next(self._ready(self._waiting), None)) is not None:
                self._waiting.pop(key)()
        finally:
            self._stop_if_idle()
            if self.calm and self.timer.isActive():
                self.timer.start()  # counts from here: the painting that follows is over before the next update

    def _hurry(self) -> None:
        self._waiting |= self._patient
        self._patient.clear()

    def _ready(self, keys: Iterable[Hashable]) -> Iterator[Hashable]:
        """Those of the keys that do not wait for turns of their own."""
        return (key for key in keys if _rest(key) not in self._waiting)

    def _stop_if_idle(self) -> None:
        if self.idle:
            self.timer.stop()


def _rest(key: Hashable) -> Hashable:
    """What the turns that are left of a key's update wait under."""
    return ("rest", key)
