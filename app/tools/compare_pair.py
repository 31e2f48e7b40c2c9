"""Two runs that are held against each other: B is read where need be, and both are aligned anew as they grow."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.failure import Failure, describe
from app.library import Library
from app.tools.newest import Newest, Told, Work
from core.analysis.compare_rows import Aligned
from core.errors import UserError
from core.trace.reading import ReadableTrace
from core.trace.stored_trace import StoredTrace

if TYPE_CHECKING:
    from app.session import Session

LAZY_MS = 500
"""While a run goes on, the two are aligned no more often than that."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What a thread brought: run B, and both aligned where neither can grow any more."""

    other: ReadableTrace
    aligned: Aligned | None


class Pair(QObject):
    """Run A, which is on show, and run B, which goes by its number in the library. Call `close` in the end."""

    changed = Signal()
    """`aligned` is another one, or none."""
    refused = Signal(object)
    """A `Failure`: why B cannot be had; there is none now."""

    def __init__(self, library: Library, session: Session, parent: QObject) -> None:
        super().__init__(parent)
        self._library, self._session = library, session
        self.shown: ReadableTrace | None = None
        """A."""
        self.number: int | None = None
        """B's."""
        self.other: ReadableTrace | None = None
        """B, once it was read."""
        self.aligned: Aligned | None = None
        self._final = self._behind = False
        """Whether what is aligned cannot change any more; whether it has."""
        self._newest = Newest(self)
        self._newest.done.connect(self._take)
        self._lazy = QTimer(self, singleShot=True, interval=LAZY_MS)
        self._lazy.timeout.connect(self.catch_up)

    @property
    def is_busy(self) -> bool:
        """Whether B is being read, or both are being aligned."""
        return self._newest.is_busy

    def set(self, shown: ReadableTrace | None, number: int | None, other: ReadableTrace | None = None) -> None:
        """Hold these against each other from now on; None compares nothing.

        Args:
            shown: A.
            number: B's in the library.
            other: B, where it was read already.
        """
        self._newest.cancel()
        self._lazy.stop()
        self.shown, self.number, self.aligned = shown, number, None
        self._final = self._behind = False
        self.other = other if other is not None or number is None else self._library.at_hand(number)
        self.changed.emit()
        if shown is None or number is None:
            return
        if self.other is not None:
            self._align(shown, self.other)
        else:
            self._read(shown, number)

    def grow(self) -> None:
        """A has changed."""
        self._behind = not self._final
        if not self._lazy.isActive():
            self.catch_up()

    @Slot()
    def catch_up(self) -> None:
        """Align anew what has changed; while a run goes on, look again later."""
        if self.shown is None or self.other is None or self._final:
            return
        if self._behind or self._has_grown():
            self._behind = False
            self._align(self.shown, self.other)
        if self._session.is_running:
            self._lazy.start()

    def rest(self) -> None:
        """Do not look for changes until `catch_up` is called; nobody sees them."""
        self._lazy.stop()

    def close(self) -> None:
        """Want nothing any more, and wait for the thread."""
        self._lazy.stop()
        self._newest.close()

    def _read(self, shown: ReadableTrace, number: int) -> None:
        try:
            reader = self._library.reader_of(number)
        except UserError as error:
            self._refuse(describe(error))
            return
        self._newest.ask((shown, number), _reading(reader, shown))

    def _align(self, a: ReadableTrace, b: ReadableTrace) -> None:
        """At once where one may grow meanwhile, else in a thread: only a run of a file may be very long."""
        if isinstance(a, StoredTrace) and isinstance(b, StoredTrace):
            self._newest.ask((a, self.number), lambda _cancel, _told: _Read(b, Aligned(a, b)))
        else:
            self._show(Aligned(a, b))

    @Slot(object, object)
    def _take(self, key: tuple[ReadableTrace, int], outcome: _Read | Failure) -> None:
        shown, number = key
        if isinstance(outcome, Failure):
            self._refuse(outcome)
            return
        if isinstance(outcome.other, StoredTrace):
            self._library.adopt(number, outcome.other)
        self.other = outcome.other
        if outcome.aligned is not None:
            self._show(outcome.aligned)
        else:
            self._align(shown, outcome.other)

    def _show(self, aligned: Aligned) -> None:
        self.aligned = aligned
        self._final = all(one.ended is not None for one in aligned.runs)
        self.changed.emit()
        if not self._final and self._session.is_running and not self._lazy.isActive():
            self._lazy.start()

    def _refuse(self, failure: Failure) -> None:
        self.set(self.shown, None)
        self.refused.emit(failure)

    def _has_grown(self) -> bool:
        aligned = self.aligned
        return aligned is not None and aligned.counts != tuple(one.emitted_count for one in aligned.runs)


def _reading(reader: Callable[[], StoredTrace], shown: ReadableTrace) -> Work:
    """Reads B in a thread and, where A lies in a file too, aligns them there."""

    def work(_cancel: threading.Event, _told: Told) -> _Read:
        other = reader()
        return _Read(other, Aligned(shown, other) if isinstance(shown, StoredTrace) else None)

    return work
