"""What the trained parts are worth on prompts that they have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from core.config import CANDIDATES
from core.drafting.head import DraftHead
from core.trace.events import BoolArray, FloatArray
from core.training.examples import Example

BINS = 10
"""Of equal width, for the calibration error."""
ROWS = 256


@dataclass(frozen=True, slots=True)
class DrafterQuality:
    """How often the token that the target went on with was the drafter's first, or among its first k."""

    tokens: int
    top1: float
    """0…1."""
    top4: float
    """0…1."""

    @classmethod
    def empty(cls) -> DrafterQuality:
        return cls(0, 0.0, 0.0)

    @classmethod
    def of(cls, ranks: NDArray[np.int64]) -> DrafterQuality:
        """From the rank of the right token among the candidates, k where it is none of them. Shape [n]."""
        if not len(ranks):
            return cls.empty()
        return cls(len(ranks), float((ranks == 0).mean()), float((ranks < CANDIDATES).mean()))

    def values(self) -> dict[str, float]:
        return {"tokens": self.tokens, "top1": round(self.top1, 4), "top4": round(self.top4, 4)}


def drafter_quality(head: DraftHead, examples: Sequence[Example]) -> DrafterQuality:
    """Over the drafted slots of these examples, against the target's likeliest token there."""
    ranks = [draft_ranks(head, example) for example in examples]
    return DrafterQuality.of(np.concatenate(ranks) if ranks else np.zeros(0, np.int64))


@torch.no_grad()
def draft_ranks(head: DraftHead, example: Example) -> NDArray[np.int64]:
    """The rank of the target's likeliest token among the candidates at each drafted slot; k where it is none."""
    candidates = draft_candidates(head, example)
    hits = candidates == example.top_ids[example.drafted, 0].numpy()[:, None]
    return np.where(hits.any(1), hits.argmax(1), CANDIDATES)


@torch.no_grad()
def draft_candidates(head: DraftHead, example: Example) -> NDArray[np.int64]:
    """The drafter's k tokens at each drafted slot, best first, after true features. Shape [drafted, k]."""
    decoder = head.decoder
    features = example.features.to(decoder.dtype)[None]
    predicted = head.forward_batch(decoder.embed(example.ids[None]), features)[0, example.drafted]
    found = [decoder.logits(block).topk(CANDIDATES).indices for block in torch.split(predicted, ROWS)]
    return torch.cat(found).numpy().astype(np.int64)


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
        named = {name: getattr(self, name) for name in PredictorQuality.__slots__}
        return {name: None if np.isnan(value) else round(value, 4) for name, value in named.items()}


def predictor_quality(scores: FloatArray, labels: BoolArray) -> PredictorQuality:
    """Both shaped [n]."""
    accuracy = float(((scores > 0.5) == labels).mean())
    return PredictorQuality(accuracy, roc_auc(scores, labels), calibration_error(scores, labels), float(labels.mean()))


def roc_auc(scores: FloatArray, labels: BoolArray) -> float:
    """The chance that a random positive scores above a random negative, ties counting half."""
    positives = int(labels.sum())
    negatives = len(labels) - positives
    if not positives or not negatives:
        return float("nan")
    values, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    del values
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return float((ranks[labels].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def calibration_error(scores: FloatArray, labels: BoolArray) -> float:
    """Mean distance between score and share of positives over bins, weighted by their size."""
    bins = np.minimum((scores * BINS).astype(np.int64), BINS - 1)
    gaps = [abs(float(scores[bins == b].sum()) - float(labels[bins == b].sum())) for b in range(BINS)]
    return float(sum(gaps) / len(scores))
