"""T3's judgement of a token tree: which of its nodes may be left at a layer (SpecEE §6, `docs/rules.md`).

Merged mapping makes a hyper-token of each path from the root to a leaf: what a layer costs grows with the number of
nodes, not with the product of their search spaces. Independent mapping, the baseline, waits for every node by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

import numpy as np
import torch
from torch import Tensor

from core.choices import Mapping
from core.drafting.tree import DraftTree
from core.exits.lens import Readout
from core.exits.predictors import PredictorBank, features_of
from core.exits.scheduling import EveryLayer, Schedule, TwoLevelScheduler
from core.trace.events import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class TreeLook:
    """What the predictors made of a tree at one layer."""

    features: FloatArray
    """Shape [n, 3k]."""
    scores: FloatArray
    """Shape [n], each node's own; empty under `Mapping.MEAN`."""
    path_scores: FloatArray
    """Shape [p]; empty under `Mapping.INDEPENDENT`."""
    proposed: BoolArray
    """Shape [p]: the paths on which the pass may end. Under `Mapping.INDEPENDENT` all of them or none."""
    ready: BoolArray
    """Shape [n]: the nodes on these paths."""


class TreeJudge:
    """One run's predictors, asked for whole trees."""

    def __init__(
        self,
        bank: PredictorBank,
        scheduler: EveryLayer | TwoLevelScheduler,
        threshold_at: Callable[[int], float],
        mapping: Mapping,
        readout: Readout,
    ) -> None:
        """`bank` is made for what `readout` shows; a path is proposed where its score is above the threshold."""
        self._bank, self._scheduler, self._mapping, self._readout = bank, scheduler, mapping, readout
        self._thresholds = [threshold_at(layer) for layer in range(bank.layers)]
        self._schedule = scheduler.schedule()

    def begin(self, tree: DraftTree) -> Schedule:
        """A new tree; the active set for its pass."""
        decoder = self._readout.decoder
        self._schedule = self._scheduler.schedule()
        candidates = torch.from_numpy(tree.candidate_ids).to(decoder.place.head)
        self._rows = (decoder.head_weight[candidates] * decoder.final_norm).float()
        self._paths = paths_of(tree)
        self._previous: FloatArray | None = None
        self._exited = np.zeros(len(tree.ids), np.bool_)
        return self._schedule

    def look(self, layer: int, hidden: Tensor) -> TreeLook | None:
        """Judge the nodes' hidden states [n, d] after `layer`; None where the layer is not active."""
        if not self._schedule.active[layer]:
            return None
        features = self._features(self._readout.state(layer, hidden))
        match self._mapping:
            case Mapping.MEAN:
                return self._mean(layer, features)
            case Mapping.REARMOST:
                return self._rearmost(layer, features)
            case Mapping.INDEPENDENT:
                return self._independent(layer, features)
            case _:
                assert_never(self._mapping)

    def record(self, token: int, layer: int) -> None:
        """The token was emitted and `layer` (0-based) was the last one run."""
        self._scheduler.record(token, layer)

    def _features(self, states: Tensor) -> FloatArray:
        """Of all nodes in one grouped product: norm(h)·W[S] is h·(weight ∘ W[S]) / rms(h). Shape [n, 3k]."""
        states = states.float()
        dots = torch.bmm(self._rows, states[..., None])[..., 0]
        scale = (states.square().mean(-1, keepdim=True) + self._readout.decoder.config.norm_eps).rsqrt()
        logits = (dots * scale).cpu().numpy()
        features, k = features_of(logits, self._previous), logits.shape[1]
        self._previous = features[:, k : 2 * k]
        return features

    def _rearmost(self, layer: int, features: FloatArray) -> TreeLook:
        """A path scores as its lowest node, so it exits where the last of its nodes does."""
        scores = self._bank.score_rows(layer, features)
        path_scores = np.where(self._paths, scores, np.float32(np.inf)).min(1)
        return self._look(layer, features, scores, path_scores)

    def _mean(self, layer: int, features: FloatArray) -> TreeLook:
        """The predictor looks at the mean of the path's features."""
        means = (self._paths @ features) / self._paths.sum(1, keepdims=True).astype(np.float32)
        return self._look(layer, features, np.zeros(0, np.float32), self._bank.score_rows(layer, means))

    def _look(self, layer: int, features: FloatArray, scores: FloatArray, path_scores: FloatArray) -> TreeLook:
        proposed = path_scores > self._thresholds[layer]
        ready: BoolArray = np.logical_or.reduce(self._paths[proposed])
        return TreeLook(features, scores, path_scores, proposed, ready)

    def _independent(self, layer: int, features: FloatArray) -> TreeLook:
        """Every node waits until all have crossed the threshold once."""
        scores = self._bank.score_rows(layer, features)
        self._exited |= scores > self._thresholds[layer]
        done = bool(self._exited.all())
        paths, nodes = (np.full(size, done) for size in self._paths.shape)
        return TreeLook(features, scores, np.zeros(0, np.float32), paths, nodes)


def paths_of(tree: DraftTree) -> BoolArray:
    """Which nodes lie on each path from the root to a leaf, ordered by leaf. Shape [p, n]."""
    leaves = np.setdiff1d(np.arange(len(tree.ids)), tree.parents)
    return tree.seen[leaves]
