"""One recorded pass over a token tree, with no more of it than deciding it anew takes: a run has tens of thousands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from core.trace.events import Audited, BoolArray, FloatArray, IntArray, TreeVerified
from core.trace.records import TokenRecord


@dataclass(frozen=True, slots=True)
class Judged:
    """What an evaluated layer's predictor saw of a tree of n nodes, and said."""

    seen: FloatArray
    """Shape [n, 2k]: k logits and k local probabilities; the variations follow from them."""
    scores: FloatArray
    """Shape [n], or empty."""
    path_scores: FloatArray
    """Shape [paths], or empty."""


@dataclass(frozen=True, slots=True)
class Said:
    """What some nodes say, at one layer or one node at all layers."""

    token_ids: IntArray
    """Shape [m], each one's own next token."""
    margins: FloatArray
    """Shape [m], p₁ - p₂."""

    @classmethod
    def of_audit(cls, audit: Audited) -> Said:
        """One node at each of the L layers."""
        return cls(audit.token_ids, audit.margins)


@dataclass(frozen=True, slots=True)
class Walk:
    """A walk from the root that was tried at a layer."""

    nodes: IntArray
    """Shape [m]."""
    said: Said

    @classmethod
    def of(cls, event: TreeVerified) -> Walk:
        return cls(event.walk, Said(event.argmax_ids, event.margins))


@dataclass(frozen=True, slots=True)
class RecordedPass:
    """One pass as it was recorded."""

    first: int
    """Its first token."""
    exit_layer: int
    tokens: tuple[int, ...]
    """What it emitted."""
    cut: bool
    """Whether this is the run's last pass, of which its limit may have kept tokens back."""
    active: BoolArray
    """Shape [L]."""
    node_ids: IntArray
    """Shape [n]."""
    parents: IntArray
    """Shape [n], -1 for the root."""
    candidate_ids: IntArray
    """Shape [n, k]."""
    layers: tuple[int, ...]
    """Those whose predictor was asked for all nodes."""
    judged: tuple[Sequence[FloatArray], Sequence[FloatArray], Sequence[FloatArray]]
    """By place in `layers`, the fields of `Judged`; one array where those of all layers are alike."""
    walks: Mapping[int, Walk]
    """By layer."""
    audits: Mapping[int, Said]
    """By node, for the nodes that tokens came after."""
    end_id: int

    @classmethod
    def of(cls, records: Sequence[TokenRecord], end_id: int, *, cut: bool) -> RecordedPass:
        """The pass of these records, all that it emitted."""
        tree, schedule = records[0].tree, records[0].schedule
        assert tree is not None, "only passes over trees are decided here"
        emitted = [record.emitted for record in records if record.emitted]
        nodes = zip(tree.nodes_by_token, records, strict=False)
        runs = [run for _, run in sorted(tree.layers.items()) if run.features is not None]
        return cls(
            first=records[0].token,
            exit_layer=emitted[0].exit_layer,
            tokens=tuple(one.token_id for one in emitted),
            cut=cut,
            active=schedule.active if schedule else np.zeros(records[0].depth, np.bool_),
            node_ids=tree.drafted.node_ids,
            parents=tree.drafted.parents,
            candidate_ids=tree.drafted.candidate_ids,
            layers=tuple(run.layer for run in runs),
            judged=judged_of([(run.features, run.scores, run.path_scores) for run in runs if run.features is not None]),
            walks={layer: Walk.of(walk) for layer, walk in tree.verified.items()},
            audits={node: Said.of_audit(record.audit) for node, record in nodes if record.audit is not None},
            end_id=end_id,
        )

    @property
    def paths(self) -> BoolArray:
        """Shape [paths, n], the nodes of each path from the root to a leaf, ordered by leaf."""
        return _paths(self.parents.tobytes())

    def evaluated(self, layer: int) -> Judged | None:
        """What was said at a layer; None where its predictor was not asked for all nodes."""
        if layer not in self.layers:
            return None
        at = self.layers.index(layer)
        seen, scores, path_scores = (fields[at] for fields in self.judged)
        return Judged(seen, scores, path_scores)

    def child(self, node: int, token_id: int) -> int | None:
        """Where a walk steps to after this token; None where it stops."""
        found = np.flatnonzero((self.parents == node) & (self.node_ids == token_id))
        return int(found[0]) if len(found) and token_id != self.end_id else None


def judged_of(
    layers: Sequence[tuple[FloatArray, FloatArray, FloatArray]],
) -> tuple[Sequence[FloatArray], Sequence[FloatArray], Sequence[FloatArray]]:
    """Features [n, 3k], scores and path scores of each layer, as `RecordedPass.judged`."""
    seen = [features[:, : 2 * (features.shape[1] // 3)] for features, _, _ in layers]
    return _together(seen), _together([scores for _, scores, _ in layers]), _together([paths for _, _, paths in layers])


def _together(arrays: Sequence[FloatArray]) -> Sequence[FloatArray]:
    """One array of all where they are alike: an array of its own for each takes more room than what is in it."""
    alike = len({array.shape for array in arrays}) == 1
    stacked: Sequence[FloatArray] = np.stack(arrays) if alike else [array.copy() for array in arrays]  # type: ignore[assignment]
    return stacked


@lru_cache(256)
def _paths(parents: bytes) -> BoolArray:
    """Many passes have trees of one shape."""
    return paths_of(np.frombuffer(parents, np.int64))


def paths_of(parents: IntArray) -> BoolArray:
    """Which nodes lie on each path from the root to a leaf, ordered by leaf. Shape [n] to [paths, n]."""
    seen = np.eye(len(parents), dtype=np.bool_)
    for node in range(1, len(parents)):
        seen[node] |= seen[parents[node]]
    return seen[np.setdiff1d(np.arange(len(parents)), parents)]
