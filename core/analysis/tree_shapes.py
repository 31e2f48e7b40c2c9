"""What smaller trees would have accepted of what a large one did: shapes compared on one recording. Torch-free.

The large tree was grown dynamically: its nodes are the likeliest of all. A smaller tree keeps some of them, and of the
path that the target accepted the part that it keeps. Recorded once, any number of shapes can be judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from core.config import TreeSettings
from core.trace.events import BoolArray, Event, FloatArray, IntArray, TreeAccepted, TreeDrafted

EXPANDED = (1, 2, 3, 4, 6, 8)
"""Nodes a level that dynamic trees expand."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One pass over a large tree; arrays over its n nodes without the root."""

    depths: IntArray
    """1 for the root's children."""
    parents: IntArray
    """-1 for the root's children."""
    ranks: IntArray
    """0 for a node's likeliest child."""
    values: FloatArray
    """The drafter's probability of the whole path."""
    accepted: BoolArray
    """Whether the target went through the node."""


def recorded(events: Iterable[Event]) -> Iterator[Recorded]:
    """The passes of a run."""
    drafted: TreeDrafted | None = None
    for event in events:
        if isinstance(event, TreeDrafted):
            drafted = event
        elif isinstance(event, TreeAccepted) and drafted:
            yield _recorded(drafted, event)


def _recorded(drafted: TreeDrafted, accepted: TreeAccepted) -> Recorded:
    parents, count = drafted.parents, len(drafted.parents)
    depths, ranks = np.zeros(count, np.int64), np.zeros(count, np.int64)
    values, seen = np.ones(count, np.float32), np.zeros(count, np.int64)
    for node in range(1, count):
        parent = parents[node]
        depths[node], ranks[node] = depths[parent] + 1, seen[parent]
        values[node] = values[parent] * drafted.probabilities[node]
        seen[parent] += 1
    through = np.zeros(count, np.bool_)
    through[accepted.accepted] = True
    return Recorded(depths[1:], parents[1:] - 1, ranks[1:], values[1:], through[1:])


def dynamic_acceptance(passes: Iterable[Recorded], depth: int, expand: int, most: int) -> FloatArray:
    """Nodes accepted a pass, on average, by dynamic trees of 1…`most` nodes. Shape [most]."""
    gained = np.zeros(most)
    count = 0
    for one in passes:
        count += 1
        grown = np.flatnonzero(_grown(one, depth, expand))
        order = grown[np.argsort(-one.values[grown], kind="stable")][:most]
        gained[: len(order)] += one.accepted[order]
    found: FloatArray = (np.cumsum(gained) / max(count, 1)).astype(np.float32)
    return found


def _grown(one: Recorded, depth: int, expand: int) -> BoolArray:
    """The nodes that dynamic growth would come to, as `core.drafting.growth.DynamicGrowth` goes about it."""
    grown, frontier = np.zeros(len(one.depths), np.bool_), np.array([-1])
    for level in range(1, depth + 1):
        new = (one.depths == level) & np.isin(one.parents, frontier) & (one.ranks < expand)
        grown |= new
        nodes = np.flatnonzero(new)
        frontier = nodes[np.argsort(-one.values[nodes], kind="stable")[:expand]]
    return grown


def static_acceptance(passes: Iterable[Recorded], widths: tuple[int, ...]) -> float:
    """Nodes accepted a pass, on average, by a tree of so many children a level."""
    gained = count = 0
    for one in passes:
        count += 1
        kept, frontier = 0, np.array([-1])
        for level, width in enumerate(widths, 1):
            new = (one.depths == level) & np.isin(one.parents, frontier) & (one.ranks < width)
            kept += int(one.accepted[new].sum())
            frontier = np.flatnonzero(new)
        gained += kept
    return gained / max(count, 1)


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds on one machine."""

    target: dict[int, float]
    """One pass of the target by rows."""
    draft: dict[int, float]
    """One pass of the drafter with its head, by rows."""
    head: float
    """One node's full logits."""

    def of_target(self, rows: int) -> float:
        """A pass over so many rows, read off between those measured."""
        return _between(self.target, rows)

    def of_draft(self, rows: int) -> float:
        """A pass of the drafter over so many rows, read off likewise."""
        return _between(self.draft, rows)


def _between(measured: dict[int, float], rows: int) -> float:
    at = sorted(measured)
    return float(np.interp(rows, at, [measured[one] for one in at]))


@dataclass(frozen=True, slots=True)
class Shape:
    """A tree and what it should give."""

    tree: TreeSettings
    nodes: int
    """Drafted nodes."""
    acceptance_length: float
    """τ."""
    seconds: float
    """Of a pass."""

    @property
    def tokens_per_second(self) -> float:
        return self.acceptance_length / self.seconds


def no_tree(costs: Costs) -> Shape:
    """Decoding token by token, without a drafter."""
    return Shape(TreeSettings(), 0, 1.0, costs.of_target(1) + costs.head)


def fastest_first(passes: list[Recorded], costs: Costs, statics: Iterable[str], most: int) -> list[Shape]:
    """No tree, static shapes, and dynamic ones of up to `most` nodes, by what they should give."""
    found = [no_tree(costs), *(_static(passes, costs, TreeSettings(written)) for written in statics)]
    deepest = max((int(one.depths.max()) for one in passes if len(one.depths)), default=0)
    for depth in range(1, deepest + 1):
        for expand in EXPANDED:
            found += _dynamic(passes, costs, depth, expand, most)
    return sorted(found, key=lambda shape: -shape.tokens_per_second)


def _static(passes: list[Recorded], costs: Costs, tree: TreeSettings) -> Shape:
    levels = [math.prod(tree.widths[: level + 1]) for level in range(len(tree.widths))]
    return _shape(tree, sum(levels), 1 + static_acceptance(passes, tree.widths), [1, *levels[:-1]], costs)


def _dynamic(passes: list[Recorded], costs: Costs, depth: int, expand: int, most: int) -> Iterator[Shape]:
    accepted = dynamic_acceptance(passes, depth, expand, most)
    looked = [1, *[expand] * (depth - 1)]
    # A level is not worth more nodes than the whole tree keeps.
    for nodes in range(max(depth, expand), min(most, expand + expand**2 * (depth - 1)) + 1):
        tree = TreeSettings("dynamic", nodes, depth, expand)
        yield _shape(tree, nodes, 1 + float(accepted[nodes - 1]), looked, costs)


def _shape(tree: TreeSettings, nodes: int, tau: float, looked: list[int], costs: Costs) -> Shape:
    """`looked` are the drafter's rows, level by level; the first level's pass takes in what was accepted, too."""
    drafting = sum(map(costs.of_draft, looked))
    seconds = drafting + costs.of_target(1 + nodes) + tau * costs.head
    return Shape(tree, nodes, tau, seconds)
