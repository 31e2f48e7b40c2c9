"""The predictor inspector: what one layer's predictor saw of a token, and how each of its features pulled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.analysis.flips import Flips, flips
from core.exits.predictors import PredictorBank, features_of
from core.trace.events import FloatArray
from core.trace.reading import ReadableTrace
from core.trace.records import TokenRecord

KINDS = ("logit", "probability", "variation")
"""The three kinds of features, k of each in this order (`docs/rules.md`)."""


@dataclass(frozen=True, slots=True)
class Neutral:
    """What a feature is set to when it is taken out."""

    features: FloatArray
    """Shape [3k]."""
    words: str
    """Where these values come from."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """One predictor's judgement of one token, taken apart."""

    token: int
    layer: int
    asked: bool
    """Whether the run asked this predictor; else the features are the audit's."""
    in_tree: bool
    """Whether the token is a node of a tree, of which whole paths are proposed."""
    names: tuple[str, ...]
    """3k names, as in "logit 1"."""
    features: FloatArray
    """Shape [3k]."""
    score: float
    threshold: float
    gradient: FloatArray
    """Shape [3k], exact: by how much the score rises for each unit of a feature."""
    neutral: Neutral
    without: FloatArray
    """Shape [3k], the score with this one feature set to its neutral value."""
    flips: Flips

    @property
    def passes(self) -> bool:
        """Whether the score is above the threshold: an exit is proposed then, in a tree where its whole path is."""
        return self.score > self.threshold

    @property
    def effect(self) -> FloatArray:
        """Shape [3k], by how much each feature lifts the score over its neutral value."""
        effect: FloatArray = np.float32(self.score) - self.without
        return effect


def inspect(trace: ReadableTrace, bank: PredictorBank, token: int, layer: int) -> Inspection | None:
    """Take a judgement apart; None where the trace does not hold what the predictor would have seen.

    `layer` is 0-based and below L - 1: the last layer has no predictor.
    """
    record = trace.records[token]
    seen = features_at(record, layer) if layer < bank.layers else None
    if seen is None or trace.started is None or len(seen) != bank.inputs:
        return None
    threshold = trace.started.settings.threshold_at(layer)
    neutral = neutral_features(trace, layer)
    replaced = np.where(np.eye(len(seen), dtype=np.bool_), neutral.features, seen)
    return Inspection(
        token=token,
        layer=layer,
        asked=bool(record.evaluated[layer]),
        in_tree=record.tree is not None,
        names=feature_names(len(seen) // 3),
        features=seen,
        score=bank.score(layer, seen),
        threshold=threshold,
        gradient=gradient(bank, layer, seen),
        neutral=neutral,
        without=np.array([bank.score(layer, row) for row in replaced], np.float32),
        flips=flips(bank, layer, seen, threshold),
    )


def feature_names(k: int) -> tuple[str, ...]:
    """3k names in the order of the features; candidates count from 1, the drafter's best guess first."""
    return tuple(f"{kind} {place + 1}" for kind in KINDS for place in range(k))


def gradient(bank: PredictorBank, layer: int, features: FloatArray) -> FloatArray:
    """∂score/∂features, shape [3k]: σ(z)·(1 - σ(z))·W₁·(w₂ ∘ [x·W₁ + b₁ > 0])."""
    open_units = (features @ bank.w1[layer] + bank.b1[layer]) > 0
    score = bank.score(layer, features)
    slope: FloatArray = bank.w1[layer] @ (bank.w2[layer] * open_units) * np.float32(score * (1 - score))
    return slope


def features_at(record: TokenRecord, layer: int) -> FloatArray | None:
    """What a layer's predictor saw of a token, shape [3k]; where it was not asked, what the audit lets it see.

    Of a tree's token it is the node after which the token comes.
    """
    if record.tree is not None:
        run, nodes = record.tree.layers.get(layer), record.tree.nodes_by_token
        at = record.token - record.tree.drafted.token
        if run is not None and run.features is not None and at < len(nodes):
            return np.asarray(run.features[nodes[at]], np.float32)
    elif record.evaluated[layer] and record.features.shape[1]:
        return np.asarray(record.features[layer], np.float32)
    return _audited_features(record, layer)


def _audited_features(record: TokenRecord, layer: int) -> FloatArray | None:
    """From the audit's logits, variations taken to the last active layer below."""
    if record.audit is None or not record.audit.candidate_logits.shape[1]:
        return None
    logits, k = record.audit.candidate_logits, record.audit.candidate_logits.shape[1]
    active = np.flatnonzero(record.schedule.active[:layer]) if record.schedule else np.zeros(0, np.int64)
    before = features_of(logits[active[-1]], None)[k : 2 * k] if len(active) else None
    return features_of(logits[layer], before)


def neutral_features(trace: ReadableTrace, layer: int, most: int = 512) -> Neutral:
    """The mean of what this layer's predictor sees over those of the run's first `most` tokens after prefill's that
    tell it; of fewer than two, even probabilities that do not vary."""
    rows, k = [], 0
    for token in range(1, min(trace.emitted_count, most + 1)):
        if (row := features_at(trace.records[token], layer)) is not None:
            rows.append(row)
            k = len(row) // 3
    if len(rows) < 2:
        plain = np.repeat(np.array([0.0, 1 / max(k, 1), 0.0], np.float32), k)
        return Neutral(plain, "equal logits and probabilities that do not vary")
    mean = np.mean([row for row in rows if len(row) == 3 * k], axis=0).astype(np.float32)
    return Neutral(mean, f"the mean over {len(rows)} tokens of this run at this layer")
