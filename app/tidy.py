"""Collects cyclic garbage while nobody waits, so that Python does not do so while a frame is drawn."""

from __future__ import annotations

import gc
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Slot

PAUSE_MS = 1000
RARELY = 1000
"""Collections of one generation before Python collects the next by itself, which happens at any place: 2 ms for the
second, 5 and more for the third. The youngest is collected as ever."""


def collect_young() -> None:
    """Collect all but what is old: a fraction of a millisecond, unless the collector is off, as while a model is loaded
    that brings a hundred thousand objects."""
    if gc.isenabled():
        gc.collect(1)


class Tidy(QObject):
    """Looks once a second for what has outlived the youngest generation. Call `close` before letting go of it."""

    def __init__(self, is_quiet: Callable[[], bool], parent: QObject | None = None) -> None:
        """`is_quiet` says whether nothing is under way; only then everything is gone through."""
        super().__init__(parent)
        self._is_quiet = is_quiet
        self._before = gc.get_threshold()
        self._owes = False
        """Whether there may be garbage among what is old."""
        gc.set_threshold(self._before[0], RARELY, RARELY)
        self._timer = QTimer(self, interval=PAUSE_MS)
        self._timer.timeout.connect(self.look)
        self._timer.start()

    @Slot()
    def look(self) -> None:
        """Collect what is young; where nothing has become of it since, and all is quiet, everything, once."""
        if gc.get_count()[1]:
            collect_young()
            self._owes = True
        elif self._owes and gc.isenabled() and self._is_quiet():
            gc.collect()
            self._owes = False

    def close(self) -> None:
        """Leave it to Python again."""
        self._timer.stop()
        gc.set_threshold(*self._before)
