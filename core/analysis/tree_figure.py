"""What the tree view draws: one target pass over a token tree, as frozen arrays. No Qt, no torch.

Layers in these arrays are 0-based indices; an *exit* is a count of layers run, 1…L, and 0 where there is none
(`docs/rules.md`). n is the number of nodes, p of paths, m of layers whose predictors were asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

import numpy as np

from core.analysis.tree_counts import TreeCounts
from core.choices import Mapping
from core.trace.events import BoolArray, FloatArray, IntArray, WalkEnd


class Stage(Enum):
    """How far one layer took the pass."""

    NOT_RUN = auto()
    SILENT = auto()
    """It ran, and no predictor was asked."""
    NONE_PROPOSED = auto()
    PROPOSED = auto()
    """Paths passed the threshold, and the walk is still to come."""
    REFUSED = auto()
    EXIT = auto()
    """The pass ended here."""


@dataclass(frozen=True, slots=True)
class TreeNodes:
    """One entry a node; node 0 is the root, and a parent comes before its children."""

    texts: tuple[str, ...]
    """n visible forms."""
    parents: IntArray
    """Shape [n], -1 for the root."""
    levels: IntArray
    """Shape [n], 0 for the root."""
    probabilities: FloatArray
    """Shape [n], the drafter's, given the parent."""
    path_probabilities: FloatArray
    """Shape [n], their product from the root on."""
    from_ngram: BoolArray
    """Shape [n]."""
    accepted: BoolArray
    """Shape [n], nodes that the finished pass stepped to, and the root."""
    scores: FloatArray
    """Shape [n, m], each node's own predictor; NaN where it has none."""
    exits: IntArray
    """Shape [n], the first crossing of the threshold; where nodes have no scores of their own (`mean`), the first layer
    at which a path through the node was proposed."""

    def chain(self, node: int) -> list[int]:
        """The nodes from the root to this one, both included."""
        made = [node]
        while made[-1] > 0:
            made.append(int(self.parents[made[-1]]))
        return made[::-1]


@dataclass(frozen=True, slots=True)
class TreePaths:
    """One entry a root-to-leaf path, which is one hyper-token; ordered by leaf."""

    leaves: IntArray
    """Shape [p]."""
    nodes: tuple[IntArray, ...]
    """p paths from the root to the leaf, both included."""
    scores: FloatArray
    """Shape [p, m], merged scores; NaN where there are none (`independent`)."""
    proposed: BoolArray
    """Shape [p, m]."""
    first_proposed: IntArray
    """Shape [p], a count of layers run; 0 where the path never passed the threshold."""
    exits: IntArray
    """Shape [p], the rearmost of its nodes' exits; 0 where a node has none."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The walk from the root at one layer, shape [w] each."""

    layer: int
    nodes: IntArray
    """Nodes stepped on, the root first."""
    texts: tuple[str, ...]
    """Each one's own next token, visible; the last is the bonus, or what the walk broke off at."""
    margins: FloatArray
    """p₁ - p₂; NaN where not recorded."""
    end: WalkEnd
    broke_at: int
    """The child that the last step would have led to; -1 where the last token is no child."""

    @property
    def accepted(self) -> bool:
        return self.end is WalkEnd.VERIFIED


@dataclass(frozen=True, slots=True)
class TreeFigure:
    """Everything about one pass that the tree view draws."""

    token: int
    """The first token that the pass emits."""
    depth: int
    """L."""
    mapping: Mapping
    nodes: TreeNodes
    paths: TreePaths
    layers: IntArray
    """Shape [m], layers whose predictors were asked, in order."""
    thresholds: FloatArray
    """Shape [m], of these layers."""
    walks: tuple[Walk, ...]
    """By layer; the last one is the accepted one where the pass is over."""
    layers_run: int
    exit_layer: int
    """0 while the pass is in flight."""
    accepted: IntArray
    """Shape [τ - 1], draft nodes stepped to, in order."""
    bonus: str
    """The final argmax, visible; "" while the pass is in flight."""
    rows_checked: int
    """Nodes whose full logits were computed; 0 while the pass is in flight."""
    counts: TreeCounts

    @property
    def acceptance_length(self) -> int:
        """τ; 0 while the pass is in flight."""
        return len(self.accepted) + 1 if self.exit_layer else 0

    def node_of(self, token: int) -> int | None:
        """The draft node that became this token; None for the bonus and for other passes' tokens."""
        at = token - self.token
        return int(self.accepted[at]) if 0 <= at < len(self.accepted) else None

    def token_of(self, node: int) -> int | None:
        """The token that this draft node became; None where it was not accepted."""
        at = np.flatnonzero(self.accepted == node)
        return self.token + int(at[0]) if len(at) else None

    def path_of(self, node: int) -> int:
        """The path that stands for this node: of those through it the accepted one, else the likeliest by score."""
        through = [i for i, nodes in enumerate(self.paths.nodes) if node in nodes]
        return max(through, key=self._rank)

    def walk_at(self, layer: int) -> Walk | None:
        return next((walk for walk in self.walks if walk.layer == layer), None)

    def column(self, layer: int) -> int | None:
        """The column of scores that stands at `layer`: its own, or the last one asked below it; None before any."""
        below = int(np.searchsorted(self.layers, layer, side="right")) - 1
        return below if below >= 0 else None

    def stage(self, layer: int) -> Stage:
        """How far this 0-based layer took the pass."""
        if layer >= self.layers_run:
            return Stage.NOT_RUN
        if layer + 1 == self.exit_layer:
            return Stage.EXIT
        if self.walk_at(layer) is not None:
            return Stage.REFUSED
        column = self.column(layer)
        if column is None or self.layers[column] != layer:
            return Stage.SILENT
        return Stage.PROPOSED if self.paths.proposed[:, column].any() else Stage.NONE_PROPOSED

    def proposed_at(self, layer: int) -> BoolArray:
        """Shape [p], paths proposed at exactly this layer."""
        column = self.column(layer)
        if column is None or self.layers[column] != layer:
            return np.zeros(len(self.paths.leaves), np.bool_)
        return self.paths.proposed[:, column]

    def _rank(self, path: int) -> tuple[int, float, int]:
        scores = self.paths.scores[path]
        known = scores[~np.isnan(scores)]
        best = float(known[-1]) if len(known) else float(self.nodes.path_probabilities[self.paths.leaves[path]])
        return int(self.nodes.accepted[self.paths.nodes[path]].sum()), best, -path
