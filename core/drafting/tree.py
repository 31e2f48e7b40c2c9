"""Token trees: the drafter's guesses for several positions ahead, each level in one batched pass (EAGLE, Li et al.).

The drafter runs on its own outputs here: a node's f̂ stands in for the feature that the target has not computed yet.
Its entries for the nodes lie after those of the context, are seen by descendants only, and are dropped with the tree;
the tokens that the target accepts are fed again with their true features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.config import CANDIDATES
from core.drafting.growth import Growth, Pool
from core.drafting.guesses import Guesser
from core.drafting.head import DraftHead
from core.model.kv_cache import Branches
from core.trace.events import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class DraftTree:
    """A tree to verify. Node 0 is the root, and a node's parent comes before it."""

    ids: IntArray
    """Shape [n]."""
    parents: IntArray
    """Shape [n], -1 for the root."""
    depths: IntArray
    """Shape [n]."""
    probabilities: FloatArray
    """Shape [n], the drafter's probability of each node after its parent, 1 for the root."""
    from_ngram: BoolArray
    """Shape [n], nodes that were found earlier in the context and not drafted."""
    candidate_ids: IntArray
    """Shape [n, k], S of each node; k is 0 where nothing may exit."""
    candidate_probabilities: FloatArray
    """Shape [n, k]."""
    seen: BoolArray
    """Shape [n, n]: each node sees itself and its ancestors."""


class TreeDrafter:
    """A draft head and how far along the context it is; grows trees from there."""

    def __init__(self, head: DraftHead, growth: Growth, guesser: Guesser, capacity: int) -> None:
        """`guesser` takes f̂ to tokens; `capacity` is how long the context may become."""
        self.head, self.growth, self.guesser = head, growth, guesser
        self.room = 1 + growth.drafted + growth.depth
        """Nodes that a tree may have while it grows, a found continuation and the root included."""
        self.cache = head.new_cache(capacity + self.room)
        self.length = 0
        """Pairs of the context taken in."""
        self.root = torch.empty(0)
        """f̂ after the newest token, shape [d]."""

    def feed(self, ids: Tensor, states: Tensor) -> None:
        """Take in tokens ids [n] with the states of the positions before them, as `DraftHead.fuse` takes them."""
        if len(ids):
            self.root = self.head.advance(ids, states, self.length, self.cache)[-1]
            self.length += len(ids)

    def grow(self, root: int, depth: int, found: Sequence[int], *, candidates: bool) -> DraftTree:
        """The tree after the newest token.

        Args:
            root: that token.
            depth: the most levels, where the growth would have more.
            found: a continuation from the context that joins the tree; may be empty.
            candidates: whether the nodes need their S, the leaves included.
        """
        sapling, levels = _Sapling(self, root, found), min(self.growth.depth, depth)
        frontier = np.zeros(1, np.int64)
        sapling.look(frontier)
        for level in range(levels):
            frontier = sapling.add_level(level, frontier, last=level + 1 == levels)
            if not len(frontier):
                break
            sapling.look(frontier)
        return sapling.tree(candidates=candidates)


class _Sapling:
    """One tree while it grows."""

    def __init__(self, drafter: TreeDrafter, root: int, found: Sequence[int]) -> None:
        self._drafter, self._growth, self._found = drafter, drafter.growth, found
        self._pool = Pool(root, drafter.room)
        self._chain = 0
        """The newest node of the found continuation."""
        self._chain_guess = 0.0
        """The drafter's probability of what comes next there."""
        self._states = drafter.root.new_empty(drafter.room, len(drafter.root))
        """f̂ after each node that was looked at, in that order: the root's first."""
        self._place = np.zeros(drafter.room, np.int64)
        """Where in these a node's is."""
        self._order = np.zeros(1, np.int64)
        """The nodes that were looked at."""
        self._seen = np.zeros((drafter.room, drafter.room), np.bool_)
        """By node and place, which nodes each node sees."""

    def look(self, nodes: IntArray) -> None:
        """Let the drafter guess what follows these nodes, whose parents it has looked at: one pass."""
        if self._pool.looked_at[0]:
            self._run(nodes)
        else:
            self._states[0] = self._drafter.root
        pool, guesser, width = self._pool, self._drafter.guesser, max(CANDIDATES, self._growth.width)
        logits = guesser.logits(self._states[self._place[nodes]])
        ids, probabilities = guesser.likeliest(logits, width)
        pool.guess(nodes, ids.cpu().numpy(), probabilities.cpu().numpy())
        level = pool.depths[self._chain]
        if level < len(self._found) and self._chain in nodes:
            row = logits[int(np.flatnonzero(nodes == self._chain)[0])]
            self._chain_guess = guesser.probability(row, self._found[level])

    def _run(self, nodes: IntArray) -> None:
        """The drafter's layer over these nodes."""
        pool, drafter, seen = self._pool, self._drafter, self._seen
        decoder, before = drafter.head.decoder, len(self._order) - 1
        places = np.arange(before, before + len(nodes))
        self._order, self._place[nodes] = np.append(self._order, nodes), places + 1
        seen[nodes] = seen[pool.parents[nodes]]
        seen[nodes, places] = True
        # The pair of a node at depth 1 comes right after the root's, which is the context's last one.
        positions = torch.from_numpy(drafter.length - 1 + pool.depths[self._order[1:]])
        visible = torch.from_numpy(seen[nodes, : len(positions)])
        branches = Branches(torch.from_numpy(drafter.length + places), drafter.length, positions, visible)
        rows = decoder.tree_rows(positions[before:], branches)
        ids = torch.from_numpy(pool.ids[nodes]).to(decoder.device)
        features = self._states[self._place[pool.parents[nodes]]]
        self._states[1 + before : 1 + before + len(nodes)] = drafter.head.run(ids, features, rows, drafter.cache)

    def add_level(self, level: int, frontier: IntArray, *, last: bool) -> IntArray:
        """Give the frontier its children; those that get children of their own."""
        pool, found = self._pool, self._found
        new = self._growth.branch(pool, level, frontier)
        following = new[:0] if last else self._growth.frontier(pool, level, new)
        if level < len(found):
            self._chain = pool.pin(self._chain, found[level], self._chain_guess)
            if not last and level + 1 < len(found) and self._chain not in following:
                following = np.append(following, self._chain)
        return following

    def tree(self, *, candidates: bool) -> DraftTree:
        """What is kept of it, with S of every node where asked for."""
        pool = self._pool
        kept = np.flatnonzero(self._growth.keep(pool))
        rest = kept[~pool.looked_at[kept]]
        if candidates and len(rest):
            self.look(rest)
        number = np.full(pool.size + 1, -1, np.int64)
        number[kept] = np.arange(len(kept))
        parents, depths, k = number[pool.parents[kept]], pool.depths[kept], CANDIDATES if candidates else 0
        return DraftTree(
            pool.ids[kept],
            parents,
            depths,
            pool.probabilities[kept],
            pool.from_ngram[kept],
            pool.guessed_ids[kept, :k],
            pool.guessed_probabilities[kept, :k],
            ancestry(parents, depths),
        )


def ancestry(parents: IntArray, depths: IntArray) -> BoolArray:
    """Which nodes each node of a tree sees: itself and its ancestors. Shape [n, n]."""
    seen = np.eye(len(parents), dtype=np.bool_)
    for depth in range(1, int(depths.max()) + 1):
        level = np.flatnonzero(depths == depth)
        seen[level] |= seen[parents[level]]
    return seen
