"""How a token tree grows: static shapes, and EAGLE-2's dynamic growth (Li et al., 2024). NumPy only.

Nodes live in a `Pool` while the tree grows, the root first, a level after the other.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from core.config import EAGLE_SHAPE, TreeSettings
from core.errors import UserError
from core.model.config import ModelConfig
from core.trace.events import BoolArray, FloatArray, IntArray

EAGLE = ((4,), (3, 2, 2, 1), (3, 2, 2, 1), (3,), (2,))
"""The static tree of EAGLE-1's release: children a node, level by level; nodes that are not listed have none."""


class Pool:
    """The nodes of a tree that grows, and what the drafter guesses after those that it has looked at."""

    def __init__(self, root: int, room: int) -> None:
        """A root with this token id, and room for so many nodes in all."""
        self.size = 1
        self.ids, self.parents, self.depths = (np.zeros(room, np.int64) for _ in range(3))
        self.probabilities, self.values = np.ones(room, np.float32), np.ones(room, np.float32)
        """The drafter's probability after the parent, and the product of these along the path."""
        self.from_ngram, self.pinned, self.looked_at = (np.zeros(room, np.bool_) for _ in range(3))
        """Pinned nodes belong to a continuation found in the context, drafted or not, and are always kept."""
        self.guessed_ids = np.zeros((room, 0), np.int64)
        self.guessed_probabilities = np.zeros((room, 0), np.float32)
        self.ids[0], self.parents[0] = root, -1

    def guess(self, nodes: IntArray, ids: IntArray, probabilities: FloatArray) -> None:
        """Note the tokens [m, w] that the drafter finds most likely after nodes [m], with their probabilities."""
        if not self.guessed_ids.shape[1]:
            shape = (len(self.ids), ids.shape[1])
            self.guessed_ids, self.guessed_probabilities = np.zeros(shape, np.int64), np.zeros(shape, np.float32)
        self.guessed_ids[nodes], self.guessed_probabilities[nodes] = ids, probabilities
        self.looked_at[nodes] = True

    def branch(self, parents: IntArray, ranks: IntArray) -> IntArray:
        """Add the children [c] that the guesses of these ranks after these nodes are; their numbers."""
        return self.add(parents, self.guessed_ids[parents, ranks], self.guessed_probabilities[parents, ranks])

    def pin(self, parent: int, token: int, probability: float) -> int:
        """Make sure that a token of a continuation is among a node's children; its number."""
        same = np.flatnonzero((self.parents[: self.size] == parent) & (self.ids[: self.size] == token))
        drafted = len(same) > 0
        if not drafted:
            same = self.add(np.array([parent]), np.array([token]), np.array([probability], np.float32))
        self.pinned[same], self.from_ngram[same] = True, not drafted
        return int(same[0])

    def add(self, parents: IntArray, ids: IntArray, probabilities: FloatArray) -> IntArray:
        """Add children [c]; their numbers."""
        new = np.arange(self.size, self.size + len(parents))
        self.ids[new], self.parents[new], self.probabilities[new] = ids, parents, probabilities
        self.depths[new] = self.depths[parents] + 1
        self.values[new] = self.values[parents] * probabilities
        self.size += len(parents)
        return new


class Growth(ABC):
    """A way to grow."""

    depth: int
    """Levels below the root."""
    width: int
    """The most children that a node may get."""
    nodes: int
    """The most nodes that the tree keeps, the root left out."""
    drafted: int
    """The most nodes that the pool holds meanwhile, the root left out."""

    @property
    def slots(self) -> int:
        """The most nodes of a tree, the root and a found continuation included."""
        return 1 + self.nodes + self.depth

    @abstractmethod
    def branch(self, pool: Pool, level: int, frontier: IntArray) -> IntArray:
        """Add the children of the nodes that were looked at last; their numbers."""

    @abstractmethod
    def frontier(self, pool: Pool, level: int, new: IntArray) -> IntArray:
        """Which of the new nodes get children of their own."""

    @abstractmethod
    def keep(self, pool: Pool) -> BoolArray:
        """Which nodes of the grown pool make the tree. Shape [pool.size]; the root and all ancestors are among them."""


class StaticGrowth(Growth):
    """The same shape for every tree: each node's children are its most likely guesses."""

    def __init__(self, children: tuple[tuple[int, ...], ...]) -> None:
        """Children of each node, level by level; nodes that are not listed have none."""
        self._children = [np.array(counts) for counts in children]
        self.depth = len(children)
        self.width = max(max(counts) for counts in children)
        self.nodes = self.drafted = sum(sum(counts) for counts in children)

    def branch(self, pool: Pool, level: int, frontier: IntArray) -> IntArray:
        """As `Growth.branch`; the frontier may end in a node of an n-gram, which is no part of the shape."""
        counts = self._children[level]
        counts = counts[counts > 0][: len(frontier)]
        ends = np.cumsum(counts)
        ranks = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
        return pool.branch(np.repeat(frontier[: len(counts)], counts), ranks)

    def frontier(self, pool: Pool, level: int, new: IntArray) -> IntArray:
        """As `Growth.frontier`."""
        if level + 1 == self.depth:
            return new[:0]
        counts = self._children[level + 1]
        return new[: len(counts)][counts > 0]

    def keep(self, pool: Pool) -> BoolArray:
        """As `Growth.keep`: all."""
        return np.ones(pool.size, np.bool_)


class DynamicGrowth(Growth):
    """EAGLE-2: the likeliest paths are expanded, and the likeliest nodes of all are kept."""

    def __init__(self, settings: TreeSettings, vocabulary: int) -> None:
        self.depth, self.nodes, self._expand = settings.depth, settings.nodes, settings.expand
        self.width = min(settings.expand, vocabulary)
        # One more a level where a continuation was found.
        self.drafted = self.width * (1 + (self._expand + 1) * (self.depth - 1))

    def branch(self, pool: Pool, level: int, frontier: IntArray) -> IntArray:
        """As `Growth.branch`: as many children of each node as nodes are expanded a level."""
        return pool.branch(np.repeat(frontier, self.width), np.tile(np.arange(self.width), len(frontier)))

    def frontier(self, pool: Pool, level: int, new: IntArray) -> IntArray:
        """As `Growth.frontier`: the new nodes of the greatest value."""
        if level + 1 == self.depth:
            return new[:0]
        best = np.argsort(-pool.values[new], kind="stable")[: self._expand]
        chosen: IntArray = np.sort(new[best])
        return chosen

    def keep(self, pool: Pool) -> BoolArray:
        """As `Growth.keep`: the nodes of the greatest value. A node is worth no more than its parent, which comes
        before it, so a stable order never leaves a parent out."""
        kept = pool.pinned[: pool.size].copy()
        kept[np.argsort(-pool.values[: pool.size], kind="stable")[: self.nodes + 1]] = True
        return kept


def growth_of(settings: TreeSettings, config: ModelConfig) -> Growth:
    """The growth that the settings ask for.

    Raises:
        UserError: the model's vocabulary or context is too small for it.
    """
    growth = _growth_of(settings, config.vocabulary)
    if growth.width > config.vocabulary:
        raise UserError(
            f"The tree {settings.shape} gives a node {growth.width} children, but this model has {config.vocabulary} "
            "tokens; choose fewer children."
        )
    if growth.depth >= config.context:
        raise UserError(
            f"The tree {settings.shape} is {growth.depth} levels deep, but this model's context holds {config.context} "
            "tokens; choose fewer levels."
        )
    return growth


def _growth_of(settings: TreeSettings, vocabulary: int) -> Growth:
    if settings.shape == "dynamic":
        return DynamicGrowth(settings, vocabulary)
    if settings.shape == EAGLE_SHAPE:
        return StaticGrowth(EAGLE)
    widths = settings.widths
    return StaticGrowth(tuple((width,) * math.prod(widths[:level]) for level, width in enumerate(widths)))
