"""What each threshold would do with every predictor on (T1), re-decided from tokens whose every layer is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.trace.events import BoolArray, FloatArray
from core.training.features import HeldOutViews
from core.training.replay import Point

THRESHOLDS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99)
AGREEMENT = 0.99
"""What the recommended threshold must reach."""


def frontier(scores: FloatArray, views: HeldOutViews) -> list[Point]:
    """The points of all thresholds. `scores` is shaped [n, L-1]."""
    return [point(scores > threshold, views, threshold) for threshold in THRESHOLDS]


def point(proposed: BoolArray, views: HeldOutViews, threshold: float) -> Point:
    """What happens where the predictors propose `proposed`, [n, L-1]."""
    layers = proposed.shape[1]
    leaves = proposed & views.among
    early = leaves.any(1)
    last = np.where(early, leaves.argmax(1), layers)
    right = views.agrees[np.arange(len(views)), np.minimum(last, layers - 1)] | ~early
    checked = proposed & (np.arange(layers) <= last[:, None])
    return Point(
        threshold,
        0.0,
        None,
        float((last + 1).mean()),
        float(early.mean()),
        float(right.mean()),
        float(checked.sum(1).mean()),
        float(np.minimum(last + 1, layers).mean()),
    )


def recommended(points: Sequence[Point]) -> Point:
    """The first threshold that agrees often enough; the highest where none does."""
    return next((one for one in points if one.agreement >= AGREEMENT), points[-1])
