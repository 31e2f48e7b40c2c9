"""A monkey at the window: moves drawn from a seed, each followed by a look at what the window says to it."""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import os
import random
import statistics
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from pathlib import Path

from PySide6.QtCore import Qt, QTimer

from tests.monkey import moves
from tests.monkey.cage import Cage
from tests.monkey.faults import Fault

HOME_EVERY = 250
"""Moves between two returns to a known state."""
SILENCE = 600
"""Seconds without an answer after which the process ends, with the stack of every thread. Who measures on the same
machine may hold the process up for minutes."""
NESTED = 1.0
"""Seconds after which a loop inside a move, such as that of something that is dragged, is called off."""
LONGEST = 5.0
"""Seconds of the GUI thread's own time that one move may take."""
REMEMBERED = 40
WARM_UP = 0.3
"""Share of the returns home after which memory may not grow any more."""


class Monkey:
    """Makes moves, and keeps those it made last."""

    def __init__(self, cage: Cage, seed: int, tell: Callable[[str], None] = lambda _: None) -> None:
        """`tell` is given each move before the next one is made."""
        self.cage, self.seed, self._tell = cage, seed, tell
        self.last: deque[str] = deque(maxlen=REMEMBERED)
        self.made: Counter[str] = Counter()
        self.memory: list[float] = []
        """Resident MiB at each return home."""
        self.slowest: list[tuple[float, str]] = []
        self._began: float | None = None
        """When the move that is being made began."""
        self._rescue = QTimer(cage.application, interval=round(NESTED * 250))
        self._rescue.timeout.connect(self._call_off)
        self._rescue.start()

    def play(self, numbers: Iterable[int]) -> None:
        """Make the moves of this seed that have these numbers; raises `Fault` for the first thing that goes wrong."""
        self.cage.come_home()
        for number in numbers:
            faulthandler.dump_traceback_later(SILENCE, exit=True, file=sys.__stderr__)
            self._move(number)
            if (number + 1) % HOME_EVERY == 0:
                self._go_home()
        faulthandler.cancel_dump_traceback_later()

    def _move(self, number: int) -> None:
        chance = random.Random(f"{self.seed} {number}")
        cage = self.cage
        cage.answers.chance = chance
        move = chance.choices(tuple(moves.MOVES), tuple(moves.MOVES.values()))[0]
        began = time.thread_time()
        self._began = time.monotonic()
        try:
            done = move(cage, chance)
        finally:
            self._began = None
        self.last.append(f"{number} {done}")
        self._tell(self.last[-1])
        self.made[move.__name__] += 1
        cage.answer_events()
        self._note_time(time.thread_time() - began)
        cage.look()
        if not cage.window.isVisible():
            cage.reopen()

    def _note_time(self, taken: float) -> None:
        self.slowest = sorted([*self.slowest, (round(taken, 2), self.last[-1])], reverse=True)[:5]
        if taken > LONGEST:
            raise Fault(f"the window did not answer for {taken:.1f} s of its own time")

    def _go_home(self) -> None:
        self.last.append("home")
        self.cage.come_home()
        self.cage.tidy()
        self.memory.append(resident_mib())

    def _call_off(self) -> None:
        """Inside a move that takes long: what has a loop of its own there is ended as a person would end it."""
        if self._began is not None and time.monotonic() - self._began > NESTED:
            moves.strike(Qt.Key.Key_Escape)


def resident_mib() -> float:
    """This process's resident memory after a thorough clearing-up; 0 where the system does not tell."""
    gc.collect()
    if sys.platform != "linux":
        return 0.0
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def growth(memory: list[float]) -> float:
    """By what share memory grew from the first third after the warm-up to the last; 0 where too little was seen."""
    warm = memory[int(len(memory) * WARM_UP) :]
    third = len(warm) // 3
    if third == 0 or not all(warm):
        return 0.0
    return statistics.median(warm[-third:]) / statistics.median(warm[:third]) - 1
