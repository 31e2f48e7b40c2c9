"""How often past exits tell where the next one lies: the premise of T2's online level (`docs/rules.md`). NumPy only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from core.exits.scheduling import count_around
from core.trace.events import IntArray


def ring_sets(
    layers: IntArray, depth: int, window: int, radius: int, distinct: bool = False
) -> list[tuple[float, bool]]:
    """For each early exit with a full ring before it: the ring's share of the L - 1 layers, and whether the exit is in.

    `layers` [n] are the last layers run, 0-based, of one answer's tokens after the first, with every predictor on.
    """
    found = []
    for token in range(window, len(layers)):
        if layers[token] == depth - 1:
            continue
        counters = count_around(layers[token - window : token], depth, radius, distinct)
        watched = counters[:-1] > 0
        found.append((float(watched.mean()), bool(watched[layers[token]])))
    return found


def hit_rate_curve(
    answers: Sequence[IntArray], depth: int, radius: int, windows: Iterable[int]
) -> list[dict[str, Any]]:
    """The hit rate for each ring size N, beside what sets of that size would hit by chance; None where no exit is."""
    curve = []
    for window in windows:
        sets = [one for layers in answers for one in ring_sets(layers, depth, window, radius)]
        hit = float(np.mean([inside for _, inside in sets])) if sets else None
        chance = float(np.mean([share for share, _ in sets])) if sets else None
        curve.append({"window": window, "exits": len(sets), "hit_rate": _rounded(hit), "chance": _rounded(chance)})
    return curve


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
