"""Time spent a stage, for one token."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from core.trace.events import StageTimes

Clock = Callable[[], float]
"""Seconds that only ever rise; one that leaves out paused time keeps pauses out of the figures."""


class Stopwatch:
    """Adds up the stages of a token; `lap` hands them over and starts the next token."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lap_start = clock()
        self._spent: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Count the block towards `stage`, a field of `StageTimes`."""
        start = self._clock()
        yield
        self._spent[stage] = self._spent.get(stage, 0.0) + self._clock() - start

    @contextmanager
    def shared(self, stage: str, other: str, share: Callable[[], float]) -> Iterator[None]:
        """Count the block towards two stages, the fraction `share()` of it towards `other`."""
        start = self._clock()
        yield
        spent, part = self._clock() - start, share()
        self._spent[stage] = self._spent.get(stage, 0.0) + spent * (1 - part)
        self._spent[other] = self._spent.get(other, 0.0) + spent * part

    @property
    def elapsed(self) -> float:
        """Seconds since the last lap."""
        return self._clock() - self._lap_start

    def lap(self) -> StageTimes:
        """The stages since the last lap."""
        now = self._clock()
        times = StageTimes(**self._spent, total=now - self._lap_start)
        self._lap_start, self._spent = now, {}
        return times
