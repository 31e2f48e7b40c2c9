"""Hits of conditions counted in one sweep, which counting bit by bit is held against."""

from __future__ import annotations

from collections.abc import Sequence

from core.analysis.conditions import Condition
from core.trace.reading import ReadableTrace


def hit_counts(conditions: Sequence[Condition], trace: ReadableTrace) -> list[int]:
    """How many emitted tokens meet each of the conditions."""
    return [int(one.found(trace, 0, trace.emitted_count).sum()) for one in conditions]
