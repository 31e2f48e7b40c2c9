"""The one ordered way from the worker's thread to the window's."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

from app.failure import Failure
from app.live_watch import Halt
from app.loader import LoadedSummary, ModelMissing
from app.run_state import RunState
from core.progress import Progress
from core.trace.events import Event


@dataclass(frozen=True, slots=True)
class RunMoved:
    """The run was held (PAUSED) or goes on (RUNNING)."""

    run: int
    state: RunState


@dataclass(frozen=True, slots=True)
class RunOver:
    """Nothing more comes of this run."""

    run: int
    failure: Failure | None
    """Why it broke off or was refused; None where it ended by itself or was stopped."""


@dataclass(frozen=True, slots=True)
class LoadOver:
    """A request to load a model is done with."""

    ticket: int
    outcome: LoadedSummary | ModelMissing | Failure | None
    """None where it was cancelled."""


@dataclass(frozen=True, slots=True)
class RecordingStopped:
    """What follows of this run is not in the recovery file."""

    run: int
    failure: Failure


Notice = RunMoved | RunOver | LoadOver | RecordingStopped | Halt
Item = Event | Progress | Notice


class Mailbox:
    """Keeps what the worker sends in order until the window takes it. Nothing is dropped but outdated progress."""

    def __init__(self) -> None:
        self._items: deque[Item] = deque()
        self._lock = threading.Lock()
        self._announced = False

    def put(self, item: Item) -> bool:
        """Add `item`; True where the taker must be told, which is once until it has found the mailbox empty."""
        with self._lock:
            if isinstance(item, Progress) and self._items and isinstance(self._items[-1], Progress):
                self._items.pop()
            self._items.append(item)
            tell, self._announced = not self._announced, True
            return tell

    def take(self, most: int) -> list[Item]:
        """The oldest items, at most `most`, ending at the first notice so that each notice is acted upon in turn.

        Empty where there are none, after which the next `put` asks to tell.
        """
        taken: list[Item] = []
        with self._lock:
            while self._items and len(taken) < most:
                taken.append(self._items.popleft())
                if isinstance(taken[-1], Notice):
                    break
            self._announced = bool(taken)
        return taken
