"""What each threshold would do, re-decided from tokens whose every layer is known.

T1 on all layers: a token leaves at the first layer whose predictor is above the threshold and whose argmax is among
the candidates. The tokens before it are taken as the target wrote them, so this is an estimate of a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from core.trace.events import BoolArray, FloatArray
from core.training.features import LayerViews

THRESHOLDS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99)
AGREEMENT = 0.99
"""What the recommended threshold must reach."""


@dataclass(frozen=True, slots=True)
class Point:
    """One threshold."""

    threshold: float
    mean_exit_layer: float
    """Layers run, 1…L."""
    early: float
    """Share of tokens that leave before the last layer."""
    agreement: float
    """Share of tokens that are the full-depth token."""
    verifications: float
    """Full-vocabulary checks a token, those that let it go included."""

    def values(self) -> dict[str, float]:
        return {name: round(value, 4) for name, value in asdict(self).items()}


def frontier(scores: FloatArray, views: LayerViews) -> list[Point]:
    """The points of all thresholds. `scores` is shaped [n, L-1]."""
    return [point(scores > threshold, views, threshold) for threshold in THRESHOLDS]


def point(proposed: BoolArray, views: LayerViews, threshold: float) -> Point:
    """What happens where the predictors propose `proposed`, [n, L-1]."""
    layers = proposed.shape[1]
    leaves = proposed & views.among
    early = leaves.any(1)
    last = np.where(early, leaves.argmax(1), layers)
    right = views.agrees[np.arange(len(views)), np.minimum(last, layers - 1)] | ~early
    checked = proposed & (np.arange(layers) <= last[:, None])
    return Point(
        threshold,
        float((last + 1).mean()),
        float(early.mean()),
        float(right.mean()),
        float(checked.sum(1).mean()),
    )


def recommended(points: Sequence[Point]) -> Point:
    """The first threshold that agrees often enough; the highest where none does."""
    return next((one for one in points if one.agreement >= AGREEMENT), points[-1])
