"""How good a score is at telling two classes apart: accuracy, ROC-AUC, calibration. NumPy only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.trace.events import BoolArray, FloatArray, IntArray

BINS = 10
"""Of equal width, in which scores are held against what came true."""


@dataclass(frozen=True, slots=True)
class PredictorQuality:
    """One layer's predictor on held-out tokens."""

    accuracy: float
    """At threshold 0.5."""
    auc: float
    """Area under the ROC curve; NaN where only one label occurs."""
    ece: float
    """Expected calibration error over ten bins."""
    positives: float
    """Share of tokens with label 1."""

    def values(self) -> dict[str, float | None]:
        """Plain JSON values, rounded; None for NaN."""
        named = {name: getattr(self, name) for name in PredictorQuality.__slots__}
        return {name: None if np.isnan(value) else round(value, 4) for name, value in named.items()}


def predictor_quality(scores: FloatArray, labels: BoolArray) -> PredictorQuality:
    """Scores in 0…1 against labels, both shaped [n], n ≥ 1."""
    accuracy = float(((scores > 0.5) == labels).mean())
    return PredictorQuality(accuracy, roc_auc(scores, labels), calibration_error(scores, labels), float(labels.mean()))


def roc_auc(scores: FloatArray, labels: BoolArray) -> float:
    """The chance that a random positive scores above a random negative, ties counting half; NaN for one class."""
    positives = int(labels.sum())
    negatives = len(labels) - positives
    if not positives or not negatives:
        return float("nan")
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return float((ranks[labels].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def calibration_error(scores: FloatArray, labels: BoolArray) -> float:
    """Mean distance between score and share of positives over bins, weighted by their size."""
    bins = bins_of(scores)
    gaps = [abs(float(scores[bins == b].sum()) - float(labels[bins == b].sum())) for b in range(BINS)]
    return float(sum(gaps) / len(scores))


def bins_of(scores: FloatArray) -> IntArray:
    """The bin of each score in 0…1; one on an edge belongs to the bin above it. Shape [n] to [n].

    A file may hold other scores, which nobody has checked: they fall into the outermost bins.
    """
    return np.clip(scores * BINS, 0, BINS - 1).astype(np.int64)
