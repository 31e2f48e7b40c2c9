"""The walk through a tree at one layer: from the root along the target's own tokens (`docs/rules.md`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from core.drafting.tree import DraftTree
from core.exits.verification import Check
from core.trace.events import BoolArray, WalkEnd


@dataclass(frozen=True, slots=True)
class Walk:
    """Nodes stepped on and what the target says after each."""

    nodes: list[int]
    """The root first."""
    checks: list[Check]
    """One a node; the last one's token is the bonus."""
    end: WalkEnd

    @property
    def token_ids(self) -> list[int]:
        """What the pass emits along the walk: the accepted tokens, then the bonus."""
        return [check.choice.token_id for check in self.checks]


class Walker:
    """Walks one tree, layer after layer."""

    def __init__(self, tree: DraftTree, refuses: Callable[[Check], bool], end_ids: Collection[int]) -> None:
        """`refuses` is the margin gate; what follows a token of `end_ids` is no part of the text."""
        self._tree, self._refuses, self._end_ids = tree, refuses, end_ids

    def walk(self, check: Callable[[Sequence[int]], list[Check]], ready: BoolArray | None) -> Walk:
        """From the root as far as the target agrees with the tree.

        Args:
            check: what the target says after some nodes, read from the layer's states.
            ready: shape [n], nodes that the predictors let go; None at the last layer, where nothing is refused.
        """
        nodes, checks, node = [0], [], 0
        while True:
            checks.append(check([node])[0])
            child = self._child(node, checks[-1].choice.token_id)
            if ready is not None and (end := self._refusal(node, checks[-1], child, ready)):
                return Walk(nodes, checks, end)
            if child is None:
                return Walk(nodes, checks, WalkEnd.VERIFIED)
            nodes.append(child)
            node = child

    def _child(self, node: int, token_id: int) -> int | None:
        if token_id in self._end_ids:
            return None
        found = np.flatnonzero((self._tree.parents == node) & (self._tree.ids == token_id))
        return int(found[0]) if len(found) else None

    def _refusal(self, node: int, check: Check, child: int | None, ready: BoolArray) -> WalkEnd | None:
        if check.choice.token_id not in self._tree.candidate_ids[node]:
            return WalkEnd.NOT_CANDIDATE
        if self._refuses(check):
            return WalkEnd.GATED
        if child is not None and not ready[child]:
            return WalkEnd.NOT_PROPOSED
        return None
