"""T2, the two-level scheduler: which layers get a predictor for the next token (SpecEE §5.3, `docs/rules.md`)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from core.config import SchedulerSettings
from core.trace.events import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Schedule:
    """The layers watched for one token, and why."""

    active: BoolArray
    """Shape [L]; the last layer is always False."""
    offline: BoolArray
    """Shape [L], the offline set."""
    counters: IntArray
    """Shape [L], ring entries within r of the layer."""
    ring_layers: IntArray
    """Shape [n ≤ N], 0-based, oldest first."""
    ring_tokens: IntArray
    """Shape [n ≤ N], generated tokens of these exits."""


class TwoLevelScheduler:
    """Offline set plus a ring of the last N exits, for one run; a new run starts with an empty ring."""

    def __init__(self, settings: SchedulerSettings, depth: int, offline_ranking: IntArray) -> None:
        """`offline_ranking` lists the L - 1 layers that have predictors, where tokens exit most first."""
        self._settings, self._depth = settings, depth
        self._offline = np.zeros(depth, np.bool_)
        self._offline[offline_ranking[: settings.offline_layers]] = True
        self._ring: deque[tuple[int, int]] = deque(maxlen=settings.window)

    def record(self, token: int, layer: int) -> None:
        """Enter the 0-based last layer that a generated token ran; prefill's token is not entered."""
        self._ring.append((token, layer))

    def schedule(self) -> Schedule:
        """The active set for the next token: offline ∪ layers with a counter of at least one."""
        tokens = np.array([token for token, _ in self._ring], np.int64)
        layers = np.array([layer for _, layer in self._ring], np.int64)
        counters = count_around(layers, self._depth, self._settings.radius, self._settings.distinct)
        active = self._offline | (counters >= 1)
        active[-1] = False
        return Schedule(active, self._offline, counters, layers, tokens)


class EveryLayer:
    """T1 alone: every predictor is active for every token."""

    def __init__(self, depth: int) -> None:
        none = np.zeros(0, np.int64)
        active = np.ones(depth, np.bool_)
        active[-1] = False
        self._schedule = Schedule(active, np.zeros(depth, np.bool_), np.zeros(depth, np.int64), none, none)

    def record(self, token: int, layer: int) -> None:
        """Past exits change nothing."""

    def schedule(self) -> Schedule:
        """All layers that have predictors."""
        return self._schedule


def count_around(layers: IntArray, depth: int, radius: int, distinct: bool) -> IntArray:
    """The counters of the online level. Shape [L].

    Each past exit adds one to every layer within `radius` of it; `distinct` counts equal exits once, as the worked
    example does.
    """
    counters = np.zeros(depth, np.int64)
    for layer in np.unique(layers) if distinct else layers:
        counters[max(0, layer - radius) : layer + radius + 1] += 1
    return counters
