"""How good one layer's predictor is on an audited run: calibration, ROC and precision-recall, with counts and bands.

A band is Wilson's score interval at 95 %: what the true share may be, given how many tokens it is taken from (Wilson,
1927). Tokens of one run depend on each other, so the bands are, if anything, too narrow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from core.analysis.classification import BINS, bins_of, calibration_error, roc_auc
from core.analysis.layer_facts import LayerFacts, portions
from core.trace.events import BoolArray, FloatArray, IntArray
from core.trace.reading import ReadableTrace

Z = 1.96
"""Standard deviations on either side that hold 95 % of a normal distribution."""

Numbers = NDArray[np.float64]


class Label(StrEnum):
    """What a predictor should have found."""

    AGREES = "argmax = final"
    """The layer's own token is the full-depth one."""
    EXITS = "argmax = final ∧ ∈ S"
    """And it is a candidate, so that an exit there would be verified, and right."""


@dataclass(frozen=True, slots=True)
class Judgements:
    """What every predictor says of every audited token of a run; m tokens."""

    tokens: IntArray
    """Shape [m], generated tokens."""
    scores: FloatArray
    """Shape [m, L]; NaN where there is no predictor."""
    agrees: BoolArray
    """Shape [m, L], whether the layer's own token is the full-depth one."""
    among: BoolArray
    """Shape [m, L], whether it is a candidate."""
    asked: BoolArray
    """Shape [m, L], whether the run itself asked. These are fewer, and not a fair sample: a pass that left early asks
    no deeper layer."""

    def of_layer(self, layer: int, label: Label = Label.EXITS, *, asked_only: bool = False) -> LayerJudgements:
        """One layer's scores against a label."""
        right = self.agrees[:, layer] & (self.among[:, layer] | (label is Label.AGREES))
        kept = ~np.isnan(self.scores[:, layer]) & (self.asked[:, layer] | (not asked_only))
        return LayerJudgements(layer, self.tokens[kept], self.scores[kept, layer], right[kept])


@dataclass(frozen=True, slots=True)
class LayerJudgements:
    """One layer's predictor on m tokens."""

    layer: int
    tokens: IntArray
    """Shape [m]."""
    scores: FloatArray
    """Shape [m]."""
    labels: BoolArray
    """Shape [m]."""


@dataclass(frozen=True, slots=True)
class Share:
    """Shares of counts with their bands; shape [n] each, NaN where there is nothing to share."""

    values: Numbers
    low: Numbers
    high: Numbers


@dataclass(frozen=True, slots=True)
class Calibration:
    """Scores against what came true, by bins of equal width."""

    edges: Numbers
    """Shape [bins + 1]; a score on an edge belongs to the bin above it."""
    counts: IntArray
    """Shape [bins], tokens."""
    mean_scores: Numbers
    """Shape [bins]; NaN in an empty one."""
    came_true: Share
    """Shape [bins]."""
    tokens: tuple[IntArray, ...]
    """One array a bin: the generated tokens in it."""
    error: float
    """Expected calibration error; NaN without tokens."""


@dataclass(frozen=True, slots=True)
class Curves:
    """ROC and precision-recall over every threshold that makes a difference; from proposing nothing to everything."""

    thresholds: Numbers
    """Shape [n], falling from infinity: at each, scores at or above it count as proposed."""
    true_positives: IntArray
    """Shape [n], proposed and right."""
    false_positives: IntArray
    """Shape [n], proposed and wrong."""
    positives: int
    negatives: int
    recall: Share
    """Shape [n], the true positive rate."""
    false_rate: Share
    """Shape [n], the false positive rate."""
    precision: Share
    """Shape [n]."""
    auc: float
    """Area under the ROC curve; NaN where only one label occurs."""


def judgements(
    trace: ReadableTrace, watch: Callable[[int], object] | None = None, last: int | None = None
) -> Judgements:
    """Gather a run's audited tokens, up to `last` - 1 where it is given; trees' tokens are judged at their own nodes.

    Scores are the engine's own where it asked; those of a token whose audit cannot be read any more stay NaN. `watch`
    is told the last token of those looked at, now and then, and may raise to end it.
    """
    audited = trace.overview.audited[:last]
    tokens = np.flatnonzero(audited)
    tokens = tokens[tokens > 0]
    shape, row = (len(tokens), trace.depth), 0
    found = Judgements(tokens, np.full(shape, np.nan, np.float32), *(np.zeros(shape, np.bool_) for _ in range(3)))
    for facts in portions(trace, 1, len(audited)):
        row += _fill(found, row, facts, audited[facts.first : facts.first + len(facts)])
        if watch is not None:
            watch(facts.first + len(facts) - 1)
    return found


def _fill(found: Judgements, row: int, facts: LayerFacts, wanted: BoolArray) -> int:
    """Take in some of these tokens from row `row` on; how many."""
    end = row + int(wanted.sum())
    known = facts.audited[wanted]
    found.scores[row:end] = np.where(known[:, None], facts.best_scores[wanted], np.nan)
    found.agrees[row:end] = facts.agrees[wanted]
    found.among[row:end] = facts.among[wanted]
    found.asked[row:end] = facts.asked[wanted] & known[:, None]
    return end - row


def wilson(hits: IntArray, counts: IntArray) -> Share:
    """hits / counts with its 95 % score interval; all shaped [n], NaN where nothing was counted."""
    n = np.where(counts > 0, counts, np.nan).astype(np.float64)
    share = hits / n
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    return Share(share, np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0))


def calibration(judged: LayerJudgements) -> Calibration:
    """How often a score of so much came true."""
    at = bins_of(judged.scores)
    counts = np.bincount(at, minlength=BINS)
    sums = np.bincount(at, judged.scores, minlength=BINS)
    hits = np.bincount(at, judged.labels, minlength=BINS).astype(np.int64)
    return Calibration(
        edges=np.linspace(0, 1, BINS + 1),
        counts=counts,
        mean_scores=sums / np.where(counts > 0, counts, np.nan),
        came_true=wilson(hits, counts),
        tokens=tuple(judged.tokens[at == one] for one in range(BINS)),
        error=calibration_error(judged.scores, judged.labels) if len(at) else float("nan"),
    )


def curves(judged: LayerJudgements) -> Curves:
    """What each threshold would propose, right and wrong."""
    order = np.argsort(-judged.scores, kind="stable")
    scores, labels = judged.scores[order], judged.labels[order]
    last = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1) if len(scores) else np.zeros(0, np.int64)
    true = np.concatenate([[0], np.cumsum(labels)[last]]).astype(np.int64)
    false = np.concatenate([[0], np.cumsum(~labels)[last]]).astype(np.int64)
    positives = int(judged.labels.sum())
    negatives = len(judged.labels) - positives
    return Curves(
        thresholds=np.concatenate([[np.inf], scores[last]]),
        true_positives=true,
        false_positives=false,
        positives=positives,
        negatives=negatives,
        recall=wilson(true, np.full_like(true, positives)),
        false_rate=wilson(false, np.full_like(false, negatives)),
        precision=wilson(true, true + false),
        auc=roc_auc(judged.scores, judged.labels) if len(scores) else float("nan"),
    )


def place_of(found: Curves, threshold: float) -> int:
    """The point of the curves that a run with this threshold is at: it proposes scores above, not at, the threshold."""
    return int((found.thresholds > threshold).sum()) - 1
