"""What judging a token tree costs: independent combinations against hyper-tokens (`docs/rules.md`)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from core.choices import Mapping

MOST_WRITTEN_OUT = 999_999
"""Largest product of search spaces that is told as a number; beyond it, its logarithm is."""


@dataclass(frozen=True, slots=True)
class TreeCounts:
    """The three counts of one tree."""

    combinations: int | None
    """∏|S_i| over the mapped nodes; None above `MOST_WRITTEN_OUT`."""
    log10_combinations: float
    """The same as a power of ten, for any size."""
    paths: int
    """Root-to-leaf paths, the hyper-tokens of merged mapping."""
    rows: int
    """Rows of the batched predictor call at one layer."""

    @property
    def combinations_text(self) -> str:
        """The product in a form that can be read: 81, 16 384, or 10^7.8."""
        if self.combinations is not None:
            return f"{self.combinations:,}".replace(",", "\N{NO-BREAK SPACE}")
        return f"10^{self.log10_combinations:.1f}"


def tree_counts(search_spaces: Iterable[int], paths: int, mapping: Mapping) -> TreeCounts:
    """The counts of a tree whose mapped nodes have search spaces of these sizes.

    The product is never enumerated, and never multiplied out where it would be large.
    """
    sizes = list(search_spaces)
    log10 = sum(math.log10(size) for size in sizes) if all(sizes) else -math.inf
    small = log10 <= math.log10(MOST_WRITTEN_OUT) + 1e-9
    rows = paths if mapping is Mapping.MEAN else len(sizes)
    return TreeCounts(math.prod(sizes) if small else None, log10, paths, rows)
