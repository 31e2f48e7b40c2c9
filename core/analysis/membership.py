"""Which of some ids are among others, row by row."""

from __future__ import annotations

import numpy as np

from core.trace.events import BoolArray, IntArray

FEW = 64
"""Candidates that each id is held against at once; a file may hold millions, for which there would be no memory."""


def among(ids: IntArray, candidates: IntArray) -> BoolArray:
    """Whether each id of a row is one of the row's candidates. Shapes [m, L] and [m, k] to [m, L]."""
    if candidates.shape[1] <= FEW:
        found: BoolArray = (ids[:, :, None] == candidates[:, None, :]).any(2)
        return found
    return np.array([np.isin(*row) for row in zip(ids, candidates, strict=True)], np.bool_).reshape(ids.shape)
