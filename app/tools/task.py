"""Work over a whole run, in a thread of its own: it tells how far it is, and makes way for the next."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.chore import Chore

Told = Callable[[int], object]
Work = Callable[[threading.Event, Told], Any]
"""Is given what calls it off, and whom to tell how many tokens have been looked at."""


class Task(QObject):
    """Does one thing at a time; what was asked before and is not done yet is called off."""

    over = Signal(object)
    """What the newest work returned, or a `Failure`; never of work that was called off."""
    progressed = Signal(int)
    """Tokens looked at so far."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._cancel: threading.Event | None = None
        self._chores: list[Chore] = []
        """All that have not ended yet, those that were called off too."""

    @property
    def is_busy(self) -> bool:
        """Whether something is under way whose outcome will be told."""
        return self._cancel is not None

    def start(self, work: Work) -> None:
        """Do this now, in place of what is under way."""
        self.cancel()
        cancel = self._cancel = threading.Event()
        chore = Chore(lambda: work(cancel, self._tell), self)
        self._chores.append(chore)

        def over(outcome: Any) -> None:
            self._chores.remove(chore)
            if not cancel.is_set():
                self._cancel = None
                self.over.emit(outcome)

        chore.over.connect(over)
        chore.start()

    def cancel(self) -> None:
        """Call off what is under way; nothing more is told of it."""
        if self._cancel is not None:
            self._cancel.set()
            self._cancel = None

    def close(self) -> None:
        """Call off what is under way, and wait until nothing runs any more."""
        self.cancel()
        for chore in self._chores:
            chore.wait()

    def _tell(self, tokens: int) -> None:
        """Called in the working thread; whoever listens hears it in its own."""
        self.progressed.emit(tokens)
