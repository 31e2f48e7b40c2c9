"""Where the nodes of a tree go: tidy, without overlap, in time linear in the number of nodes. No Qt.

The tree grows to the right: a column a level, siblings below each other. Along a column it is the tidy drawing of
Reingold and Tilford (1981) for any number of children, in the linear form of Buchheim, Jünger and Leipert (2002):
subtrees are set as close as their outlines allow, what lies between two that push each other apart shares the gain, and
a parent stands at the middle of its first and last child.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TreePlaces:
    """Rectangles of the nodes, shape [n] each; the whole drawing begins at (0, 0)."""

    left: Numbers
    top: Numbers
    width: Numbers
    height: Numbers

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the whole drawing."""
        return float((self.left + self.width).max()), float((self.top + self.height).max())


def lay_out(
    parents: Sequence[int], widths: Sequence[float], heights: Sequence[float], column_gap: float, row_gap: float
) -> TreePlaces:
    """Place nodes of these sizes; a parent comes before its children, and node 0 is the root.

    Nodes of a column start at the same x. A column is as wide as its widest node.
    """
    levels = [0] * len(parents)
    for node in range(1, len(parents)):
        levels[node] = levels[parents[node]] + 1
    columns = [0.0] * (max(levels) + 1)
    for level, width in zip(levels, widths, strict=True):
        columns[level] = max(columns[level], width)
    starts = np.concatenate([[0.0], np.cumsum(np.array(columns) + column_gap)])
    tall = np.asarray(heights, float)
    tops = tidy_middles(parents, heights, row_gap) - tall / 2
    return TreePlaces(starts[levels], tops - tops.min(), np.asarray(widths, float), tall)


def tidy_middles(parents: Sequence[int], breadths: Sequence[float], gap: float) -> Numbers:
    """The middle of each node along its level, shape [n]: nodes of one level keep `gap` between them."""
    return _Tidy(parents, breadths, gap).middles()


class _Tidy:
    """The drawing in the making.

    A node's `place` is relative to its siblings; `push` moves everything below it. Outlines are followed through
    children and, where a subtree ends, through a thread to the next node of the outline it belongs to.
    """

    def __init__(self, parents: Sequence[int], breadths: Sequence[float], gap: float) -> None:
        n = len(parents)
        self.parents, self.breadths, self.gap = [int(p) for p in parents], [float(b) for b in breadths], gap
        self.children: list[list[int]] = [[] for _ in range(n)]
        self.order = [0] * n
        """Of a node among its siblings."""
        for node in range(1, n):
            siblings = self.children[self.parents[node]]
            self.order[node] = len(siblings)
            siblings.append(node)
        self.place, self.push, self.middle = [0.0] * n, [0.0] * n, [0.0] * n
        self.shift, self.change = [0.0] * n, [0.0] * n
        self.thread: list[int | None] = [None] * n
        self.ancestor = list(range(n))

    def middles(self) -> Numbers:
        """Children come after their parents: backwards, every subtree is whole before its parent is reached."""
        for node in reversed(range(len(self.parents))):
            if self.children[node]:
                self._combine(node)
        self.place[0] = self.middle[0]
        offsets = np.zeros(len(self.parents))
        for node in range(1, len(self.parents)):
            parent = self.parents[node]
            offsets[node] = offsets[parent] + self.push[parent]
        return offsets + self.place

    def _combine(self, parent: int) -> None:
        """Set the subtrees of a node beside each other."""
        children = self.children[parent]
        default = children[0]
        for before, child in zip([None, *children], children, strict=False):
            self.place[child] = self.middle[child]
            if before is not None:
                self.place[child] = self.place[before] + self._distance(before, child)
                self.push[child] = self.place[child] - self.middle[child]
                default = self._apportion(child, before, default)
        self._apply_shifts(children)
        self.middle[parent] = (self.place[children[0]] + self.place[children[-1]]) / 2

    def _apportion(self, child: int, before: int, default: int) -> int:
        """Push a subtree away from those before it; the ancestor that outlines of later ones lead to by default."""
        siblings = self.children[self.parents[child]]
        inner_left, inner_right, outer_left, outer_right = before, child, siblings[0], child
        # How far the nodes on each outline have been pushed by those above them.
        by_il, by_ir, by_ol, by_or = (self.push[node] for node in (inner_left, inner_right, outer_left, outer_right))
        next_left, next_right = self._last(inner_left), self._first(inner_right)
        while next_left is not None and next_right is not None:
            inner_left, inner_right = next_left, next_right
            outer_left, outer_right = self._on(self._first(outer_left)), self._on(self._last(outer_right))
            self.ancestor[outer_right] = child
            apart = self.place[inner_right] + by_ir - self.place[inner_left] - by_il
            if (missing := self._distance(inner_left, inner_right) - apart) > 0:
                self._move(self._pushed_by(inner_left, child, default), child, missing)
                by_ir, by_or = by_ir + missing, by_or + missing
            by_il, by_ir = by_il + self.push[inner_left], by_ir + self.push[inner_right]
            by_ol, by_or = by_ol + self.push[outer_left], by_or + self.push[outer_right]
            next_left, next_right = self._last(inner_left), self._first(inner_right)
        if next_left is not None and self._last(outer_right) is None:
            self._tie(outer_right, next_left, by_il - by_or)
        if next_right is not None and self._first(outer_left) is None:
            self._tie(outer_left, next_right, by_ir - by_ol)
            default = child
        return default

    def _tie(self, end: int, following: int, push: float) -> None:
        """Let an outline that ends here go on in a deeper subtree."""
        self.thread[end] = following
        self.push[end] += push

    def _move(self, left: int, child: int, by: float) -> None:
        """Move a subtree, and note that those between it and `left` are to share the gain."""
        steps = self.order[child] - self.order[left]
        self.change[child] -= by / steps
        self.shift[child] += by
        self.change[left] += by / steps
        self.place[child] += by
        self.push[child] += by

    def _apply_shifts(self, children: list[int]) -> None:
        shift = change = 0.0
        for child in reversed(children):
            self.place[child] += shift
            self.push[child] += shift
            change += self.change[child]
            shift += self.shift[child] + change

    def _pushed_by(self, node: int, child: int, default: int) -> int:
        """The sibling before `child` whose subtree this outline's node belongs to."""
        ancestor = self.ancestor[node]
        return ancestor if self.parents[ancestor] == self.parents[child] else default

    def _first(self, node: int) -> int | None:
        return self.children[node][0] if self.children[node] else self.thread[node]

    def _last(self, node: int) -> int | None:
        return self.children[node][-1] if self.children[node] else self.thread[node]

    def _on(self, node: int | None) -> int:
        assert node is not None, "outer outlines are at least as deep as the inner ones"
        return node

    def _distance(self, first: int, second: int) -> float:
        return (self.breadths[first] + self.breadths[second]) / 2 + self.gap
