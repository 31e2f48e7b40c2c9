"""What a run's costs are made of: each token's measured stages, its pass's checks, and whether that caught rows up.

A stored run is read many tokens at once; a run in memory, and what is unusual about a token, by each one's record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.trace.events import (
    BoolArray,
    IntArray,
    KVUpdated,
    StageTimes,
    TokenEmitted,
    TreeDrafted,
    TreeVerified,
    Verified,
)
from core.trace.overview import emitted_of
from core.trace.reading import ReadableTrace
from core.trace.records import TokenRecord
from core.trace.sweep import ANY, PORTION, Sweep, Swept, Wanted, swept_of

Seconds = NDArray[np.float64]

STAGES = (*(field.name for field in fields(StageTimes) if field.name != "total"), "other")
"""The stages of a token; `other` is what no stage holds."""
_TIMES = (*STAGES[:-1], "total")


@dataclass(frozen=True, slots=True)
class Timings:
    """What was measured of n tokens. A tree's checks and rows are told at the first token of its pass."""

    times: Seconds
    """Shape [n, stages + 1], the fields of `StageTimes`, the total last."""
    alone: BoolArray
    """Shape [n], whether the token's pass caught no row up."""
    checks: IntArray
    """Shape [n], checks against the full vocabulary."""

    @property
    def stages(self) -> Seconds:
        """Shape [n, stages], seconds; see `STAGES`."""
        known = self.times[:, :-1]
        other = np.maximum(0.0, self.times[:, -1] - reduce(np.add, known.T))
        return np.concatenate([known, other[:, None]], 1)


def timings_of(trace: ReadableTrace, watch: Callable[[int], object] | None = None) -> Timings:
    """Read a run's emitted tokens; `watch` is told the last of those that were read, now and then, and may raise.

    Raises:
        UserError: a token cannot be read, and nobody else is told of damage.
    """
    count, sweep = trace.emitted_count, trace.sweep(_wanted(trace))
    found = Timings(np.zeros((count, len(_TIMES))), np.zeros(count, np.bool_), np.zeros(count, np.int64))
    first = 0
    while first < count:
        first, last = _portion(sweep, first, count)
        for token in (first + np.flatnonzero(~_swept(found, sweep, first, last))).tolist():
            _fill(found, token, trace.records[token])
        if watch is not None:
            watch(last - 1)
        first = last
    return found


def times_of(record: TokenRecord) -> Timings:
    """One emitted token's own."""
    found = Timings(np.zeros((1, len(_TIMES))), np.zeros(1, np.bool_), np.zeros(1, np.int64))
    _fill(found, 0, record)
    return found


def _wanted(trace: ReadableTrace) -> Wanted:
    trees = trace.started is not None and trace.started.settings.tree.on
    return {
        TokenEmitted: dict.fromkeys(f"times.{name}" for name in _TIMES),
        KVUpdated: {"recomputed": (ANY, 3)},
        Verified: {"layer": None},
        **({TreeDrafted: {}, TreeVerified: {"layer": None}} if trees else {}),
    }


def _portion(sweep: Sweep | None, first: int, count: int) -> tuple[int, int]:
    last = min(first + PORTION, count)
    return sweep.around(first, last) if sweep is not None else (first, last)


def _fill(found: Timings, at: int, record: TokenRecord) -> None:
    times = emitted_of(record).times
    found.times[at] = [getattr(times, name) for name in _TIMES]
    found.alone[at] = record.kv is not None and not len(record.kv.recomputed)
    begins = record.tree is None or record.tree.drafted.token == record.token
    found.checks[at] = len(record.checks) if begins else 0


def _swept(found: Timings, sweep: Sweep | None, first: int, last: int) -> BoolArray:
    """Fill what can be read together of these tokens; which of them this is, shape [last - first]."""
    swept = swept_of(sweep, first, last)
    return np.zeros(last - first, np.bool_) if swept is None else _fill_swept(found, swept)


def _fill_swept(found: Timings, swept: Swept) -> BoolArray:
    emitted, updates = swept.rows[TokenEmitted], swept.rows[KVUpdated]
    found.times[emitted.tokens] = np.stack([emitted[f"times.{name}"] for name in _TIMES], 1)
    found.alone[updates.tokens] = updates.fields["recomputed"].counts == 0
    here = slice(swept.first, swept.first + len(swept.whole))
    fits: BoolArray = swept.whole & np.isfinite(found.times[here]).all(1)
    found.checks[here] = _checks(swept, Verified)
    if TreeVerified in swept.rows:
        fits &= found.checks[here] == 0  # which of both kinds of checks count, only the records tell
        found.checks[here] += _checks(swept, TreeVerified)
    return fits


def _checks(swept: Swept, kind: type[Any]) -> IntArray:
    """How many layers each token was checked at. Shape [n]."""
    rows, layers = swept.rows[kind], swept.rows[kind]["layer"]
    most = int(layers.max(initial=0)) + 1
    return np.bincount(np.unique((rows.tokens - swept.first) * most + layers) // most, minlength=len(swept.whole))
