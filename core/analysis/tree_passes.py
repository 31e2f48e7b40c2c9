"""One recorded pass over a token tree, decided anew as far as the recording goes (`core.analysis.what_if_trees`)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from core.analysis.active_sets import TOLERANCE, Doubt
from core.analysis.recorded_pass import Judged, RecordedPass
from core.choices import Head, Mapping
from core.config import RunSettings
from core.exits.predictors import PredictorBank
from core.trace.events import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class Asked:
    """What the passes are decided by."""

    settings: RunSettings
    thresholds: list[float]
    bank: PredictorBank | None
    depth: int


@dataclass(frozen=True, slots=True)
class PassDecision:
    """One pass under other settings."""

    exit_layer: int
    followed: int
    tokens: tuple[int, ...]
    refusals: int
    known: bool
    doubts: Doubt


class _Unknown(Exception):
    """The recording does not tell what happens next."""


def decide_pass(recorded: RecordedPass, active: Sequence[int], asked: Asked) -> PassDecision:
    """Follow a pass through the layers of its new active set, from the lowest on."""
    pass_ = _Pass(recorded, asked)
    followed = 0
    try:
        for place, layer in enumerate(active):
            followed = layer
            tokens = pass_.at(layer, active[place - 1] if place else -1)
            if tokens is not None:
                return PassDecision(layer + 1, layer + 1, tokens, pass_.refusals, True, pass_.doubts)
        followed = asked.depth
        return PassDecision(followed, followed, pass_.at_full_depth(), pass_.refusals, True, pass_.doubts)
    except _Unknown:
        return PassDecision(asked.depth, followed, recorded.tokens, pass_.refusals, False, pass_.doubts)


class _Pass:
    def __init__(self, recorded: RecordedPass, asked: Asked) -> None:
        self._recorded, self._asked, self._paths = recorded, asked, recorded.paths
        self._active = np.flatnonzero(recorded.active).tolist()
        self._exited = np.zeros(len(recorded.parents), np.bool_)
        self.refusals = 0
        self.doubts = Doubt.NONE

    def at(self, layer: int, previous: int) -> tuple[int, ...] | None:
        """What the pass emits if it leaves after this layer; None where it goes on.

        `previous` is the last active layer below, -1 for none. Raises `_Unknown`.
        """
        proposed = self._proposed(layer, self._scores(layer, previous), self._asked.thresholds[layer])
        if not proposed.any():
            return None
        ready = np.logical_or.reduce(self._paths[proposed])
        tokens = self._walk(layer, ready)
        self.refusals += tokens is None
        return tokens

    def _scores(self, layer: int, previous: int) -> FloatArray:
        """Of the paths, or under independent mapping of the nodes."""
        run, independent = self._recorded.evaluated(layer), self._asked.settings.tree.mapping is Mapping.INDEPENDENT
        if run is None:
            raise _Unknown
        at = bisect_left(self._active, layer)
        same = previous == (self._active[at - 1] if at else -1)
        if same or self._asked.bank is None:
            self.doubts |= Doubt.NONE if same else Doubt.PREDICTOR
            return run.scores if independent else run.path_scores
        return self._rescored(layer, self._features(run, previous), self._asked.bank)

    def _features(self, run: Judged, previous: int) -> FloatArray:
        """The nodes' features with variations to another layer. Shape [n, 3k]."""
        k = run.seen.shape[1] // 2
        local = run.seen[:, k:]
        if previous < 0:
            return np.concatenate([run.seen, local], 1)
        below = self._recorded.evaluated(previous)
        if below is None:
            raise _Unknown
        return np.concatenate([run.seen, local - below.seen[:, k:]], 1)

    def _rescored(self, layer: int, features: FloatArray, bank: PredictorBank) -> FloatArray:
        paths = self._paths
        match self._asked.settings.tree.mapping:
            case Mapping.MEAN:
                means = (paths @ features) / paths.sum(1, keepdims=True).astype(np.float32)
                return bank.score_rows(layer, means)
            case Mapping.REARMOST:
                lowest: FloatArray = np.where(paths, bank.score_rows(layer, features), np.float32(np.inf)).min(1)
                return lowest
            case Mapping.INDEPENDENT:
                return bank.score_rows(layer, features)
            case mapping:
                assert_never(mapping)

    def _proposed(self, layer: int, scores: FloatArray, threshold: float) -> BoolArray:
        """Shape [paths]."""
        if (np.abs(scores - threshold) < TOLERANCE).any():
            self.doubts |= Doubt.SCORE
        above: BoolArray = scores > threshold
        if self._asked.settings.tree.mapping is not Mapping.INDEPENDENT:
            return above
        self._exited |= above
        return np.full(len(self._paths), self._exited.all())

    def _walk(self, layer: int, ready: BoolArray) -> tuple[int, ...] | None:
        """The tokens of a walk that is verified from the root on; None where it is refused."""
        tokens: list[int] = []
        for node, token, margin in self._steps(layer):
            tokens.append(token)
            child = self._recorded.child(node, token)
            if self._refused(node, token, margin) or (child is not None and not ready[child]):
                return None
        return tuple(tokens)

    def _refused(self, node: int, token: int, margin: float) -> bool:
        gate = self._asked.settings.gate
        if token not in self._recorded.candidate_ids[node]:
            return True
        if gate > 0 and abs(margin - gate) < TOLERANCE:
            self.doubts |= Doubt.MARGIN
        return margin < gate

    def _steps(self, layer: int) -> Iterator[tuple[int, int, float]]:
        """Node, its own token at this layer and that token's margin, along the walk from the root."""
        node: int | None = 0
        while node is not None:
            token, margin = self._said(layer, node)
            yield node, token, margin
            node = self._recorded.child(node, token)

    def _said(self, layer: int, node: int) -> tuple[int, float]:
        walk = self._recorded.walks.get(layer)
        if walk is not None and node in walk.nodes:
            at = walk.nodes.tolist().index(node)
            return int(walk.said.token_ids[at]), float(walk.said.margins[at])
        audit = self._recorded.audits.get(node)
        if audit is None:
            raise _Unknown
        if self._asked.settings.check is Head.SLIM:
            self.doubts |= Doubt.SHORTLIST
        return int(audit.token_ids[layer]), float(audit.margins[layer])

    def at_full_depth(self) -> tuple[int, ...]:
        """What the last layer emits: the walk is refused nowhere. Raises `_Unknown`."""
        recorded, last = self._recorded, self._asked.depth - 1
        if recorded.exit_layer == self._asked.depth:
            return recorded.tokens
        tokens: list[int] = []
        node: int | None = 0
        while node is not None:
            if (audit := recorded.audits.get(node)) is None:
                raise _Unknown
            tokens.append(int(audit.token_ids[last]))
            node = recorded.child(node, tokens[-1])
        return tuple(tokens)
