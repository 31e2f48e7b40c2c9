"""One recorded pass over a token tree, decided anew as far as the recording goes (`core.analysis.what_if_trees`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from core.analysis.active_sets import TOLERANCE, Doubt
from core.choices import Head, Mapping
from core.config import RunSettings
from core.exits.predictors import PredictorBank
from core.trace.events import Audited, BoolArray, FloatArray, IntArray, TreeLayerRun
from core.trace.records import TokenRecord, TreePass


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


@dataclass(frozen=True, slots=True)
class RecordedPass:
    """One pass as it was recorded, with the audits of what it accepted."""

    first: int
    """Its first token."""
    tree: TreePass
    audits: dict[int, Audited]
    """By node, for the nodes that tokens came after."""
    exit_layer: int
    tokens: tuple[int, ...]
    cut: bool
    """Whether this is the run's last pass, of which its limit may have kept tokens back."""
    active: BoolArray
    """Shape [L]."""
    paths: BoolArray
    """Shape [paths, n], the nodes of each path from the root to a leaf, ordered by leaf."""
    end_id: int

    @classmethod
    def of(cls, records: Sequence[TokenRecord], end_id: int, *, cut: bool) -> RecordedPass:
        """The pass of these records, all that it emitted."""
        tree, schedule = records[0].tree, records[0].schedule
        assert tree is not None, "only passes over trees are decided here"
        emitted = [record.emitted for record in records if record.emitted]
        nodes = zip(tree.nodes_by_token, records, strict=False)
        return cls(
            first=records[0].token,
            tree=tree,
            audits={node: record.audit for node, record in nodes if record.audit is not None},
            exit_layer=emitted[0].exit_layer,
            tokens=tuple(one.token_id for one in emitted),
            cut=cut,
            active=schedule.active if schedule else np.zeros(records[0].depth, np.bool_),
            paths=paths_of(tree.drafted.parents),
            end_id=end_id,
        )

    def evaluated(self, layer: int) -> TreeLayerRun | None:
        """The layer's event where its predictor was asked for all nodes."""
        run = self.tree.layers.get(layer)
        return run if run is not None and run.features is not None else None

    def previous(self, layer: int) -> int:
        """The last layer below that was active in the recording; -1 for none."""
        return int(max(np.flatnonzero(self.active[:layer]), default=-1))

    def child(self, node: int, token_id: int) -> int | None:
        """Where a walk steps to after this token; None where it stops."""
        drafted = self.tree.drafted
        found = np.flatnonzero((drafted.parents == node) & (drafted.node_ids == token_id))
        return int(found[0]) if len(found) and token_id != self.end_id else None


def paths_of(parents: IntArray) -> BoolArray:
    """Which nodes lie on each path from the root to a leaf, ordered by leaf. Shape [n] to [paths, n]."""
    seen = np.eye(len(parents), dtype=np.bool_)
    for node in range(1, len(parents)):
        seen[node] |= seen[parents[node]]
    return seen[np.setdiff1d(np.arange(len(parents)), parents)]


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
        self._recorded, self._asked = recorded, asked
        self._exited = np.zeros(recorded.paths.shape[1], np.bool_)
        self.refusals = 0
        self.doubts = Doubt.NONE

    def at(self, layer: int, previous: int) -> tuple[int, ...] | None:
        """What the pass emits if it leaves after this layer; None where it goes on.

        `previous` is the last active layer below, -1 for none. Raises `_Unknown`.
        """
        proposed = self._proposed(layer, self._scores(layer, previous), self._asked.thresholds[layer])
        if not proposed.any():
            return None
        ready = np.logical_or.reduce(self._recorded.paths[proposed])
        tokens = self._walk(layer, ready)
        self.refusals += tokens is None
        return tokens

    def _scores(self, layer: int, previous: int) -> FloatArray:
        """Of the paths, or under independent mapping of the nodes."""
        run, independent = self._recorded.evaluated(layer), self._asked.settings.tree.mapping is Mapping.INDEPENDENT
        if run is None:
            raise _Unknown
        if previous == self._recorded.previous(layer) or self._asked.bank is None:
            self.doubts |= Doubt.NONE if previous == self._recorded.previous(layer) else Doubt.PREDICTOR
            return run.scores if independent else run.path_scores
        return self._rescored(layer, self._features(run, previous), self._asked.bank)

    def _features(self, run: TreeLayerRun, previous: int) -> FloatArray:
        """The nodes' features with variations to another layer. Shape [n, 3k]."""
        assert run.features is not None
        k = run.features.shape[1] // 3
        local = run.features[:, k : 2 * k]
        if previous < 0:
            return np.concatenate([run.features[:, : 2 * k], local], 1)
        below = self._recorded.evaluated(previous)
        if below is None or below.features is None:
            raise _Unknown
        return np.concatenate([run.features[:, : 2 * k], local - below.features[:, k : 2 * k]], 1)

    def _rescored(self, layer: int, features: FloatArray, bank: PredictorBank) -> FloatArray:
        paths = self._recorded.paths
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
        return np.full(len(self._recorded.paths), self._exited.all())

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
        if token not in self._recorded.tree.drafted.candidate_ids[node]:
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
        walk = self._recorded.tree.verified.get(layer)
        if walk is not None and node in walk.walk:
            at = walk.walk.tolist().index(node)
            return int(walk.argmax_ids[at]), float(walk.margins[at])
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
