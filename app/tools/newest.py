"""One long computation at a time, in a thread; of those asked for meanwhile only the newest is done."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.chore import Chore
from core.progress import check

Told = Callable[[int], object]
Work = Callable[[threading.Event, Told], Any]
"""Is given what calls it off, soon after which nobody wants it any more, and whom to tell how far it is."""
PATIENCE_MS = 150
"""Nobody reads words about work that ends sooner; they would flicker."""
EACH = 64
"""Tokens between two words of progress."""
STOP, AGAIN = "stop", "again"
"""What the links in `under_way` and `stopped` stand for."""


def under_way(what: str, done: int, total: int) -> str:
    """How far a sweep is, with a link that ends it."""
    return f"{what}: {done:,} of {total:,} tokens. <a href='{STOP}'>Stop</a>"


def stopped(what: str) -> str:
    """That a sweep was ended, with a link that begins it again."""
    return f"{what} was stopped. <a href='{AGAIN}'>Begin again</a>"


class Newest(QObject):
    """Does the newest request, once the one before has ended. An older one is called off, and its outcome dropped.
    Call `close` in the end."""

    done = Signal(object, object)
    """The key of the request and what it returned, or a `Failure` for what it raised."""
    progressed = Signal(int)
    """Tokens looked at so far."""
    slow = Signal()
    """It goes on for so long that it has to be told of."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._waiting: tuple[Any, Work] | None = None
        self._key: Any = None
        self._cancel = threading.Event()
        self._chore: Chore | None = None
        self._patience = QTimer(self, singleShot=True, interval=PATIENCE_MS)
        self._patience.timeout.connect(self.slow)

    @property
    def is_slow(self) -> bool:
        """Whether it goes on for so long that it has to be told of."""
        return self.is_busy and not self._patience.isActive()

    @property
    def is_busy(self) -> bool:
        """Whether something is being done or waits whose outcome will be told."""
        return self._waiting is not None or (self._chore is not None and not self._cancel.is_set())

    def ask(self, key: Any, work: Work) -> None:
        """Do this in place of whatever is being done; `key` comes back with the outcome.

        A `UserError`, as any other that `work` raises, comes back as a `Failure`.
        """
        if not self.is_busy:
            self._patience.start()
        self._cancel.set()
        self._waiting = (key, work)
        if self._chore is None:
            self._begin()

    def cancel(self) -> None:
        """Want nothing any more."""
        self._patience.stop()
        self._cancel.set()
        self._waiting = None

    def close(self) -> None:
        """Want nothing any more, and wait for the thread."""
        self.cancel()
        if self._chore is not None:
            self._chore.wait()

    def _begin(self) -> None:
        assert self._waiting is not None
        self._key, work = self._waiting
        self._waiting = None
        cancel = self._cancel = threading.Event()
        self._chore = Chore(lambda: work(cancel, self.progressed.emit), self)
        self._chore.over.connect(self._over)
        self._chore.start()

    @Slot(object)
    def _over(self, outcome: Any) -> None:
        self._chore = None
        if self._waiting is not None:
            self._begin()
        elif not self._cancel.is_set():
            self._patience.stop()
            self.done.emit(self._key, outcome)


def watching(cancel: threading.Event, told: Told) -> Callable[[int], None]:
    """What a sweep calls with each token that it has looked at, or with the last of some.

    It ends the sweep once that is called off, and tells how far it is.
    """
    said = -1

    def watch(token: int) -> None:
        nonlocal said
        check(cancel)
        if token - said >= EACH:
            told(token)
            said = token

    return watch
