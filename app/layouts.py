"""Where panels lie in each named layout: columns, rows and tabs, and shares of the room. No Qt."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from app.places import TOOLS


@dataclass(frozen=True, slots=True)
class Group:
    """Panels behind each other, by key, the first in front."""

    keys: tuple[str, ...]
    weight: float = 1.0
    """Of its row's width, or its column's height, beside the others'."""


@dataclass(frozen=True, slots=True)
class Row:
    """Groups side by side."""

    share: float
    """Of the height."""
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """A column at the left, which may be empty, and rows beside it. What is in neither is hidden."""

    rows: tuple[Row, ...]
    left: tuple[Group, ...] = ()

    @property
    def groups(self) -> tuple[Group, ...]:
        return *self.left, *(group for row in self.rows for group in row.groups)

    @property
    def shown(self) -> frozenset[str]:
        """Keys of the panels that it shows, in front or behind."""
        return frozenset(key for group in self.groups for key in group.keys)

    def among(self, keys: Collection[str]) -> Layout:
        """The layout without panels that are not among these, nor the rows and groups that they leave empty."""
        rows = (replace(row, groups=_kept(row.groups, keys)) for row in self.rows)
        return Layout(tuple(row for row in rows if row.groups), _kept(self.left, keys))


def _kept(groups: tuple[Group, ...], keys: Collection[str]) -> tuple[Group, ...]:
    kept = (replace(group, keys=tuple(key for key in group.keys if key in keys)) for group in groups)
    return tuple(group for group in kept if group.keys)


def _first(key: str, *more: str) -> Group:
    """A panel of the first layout with those that lie behind it."""
    behind = [place.key for place in TOOLS if place.behind == key]
    return Group((key, *more, *behind))


FIRST = Layout(
    left=(_first("prompt"), _first("settings")),
    rows=(
        Row(0.20, (_first("tokens"),)),
        Row(0.36, (_first("exits"), _first("scheduler"))),
        Row(0.44, (_first("candidates", "tree"), _first("why"))),
    ),
)
"""Where every panel is put at first and by Reset."""
TEACHING = Layout(
    rows=(
        Row(0.26, (Group(("prompt", "settings"), 0.32), Group(("tokens",), 0.68))),
        Row(0.38, (Group(("exits",), 0.45), Group(("candidates", "tree", "layers"), 0.55))),
        Row(0.36, (Group(("why", "ledger"), 0.55), Group(("guess",), 0.45))),
    ),
)
DEBUGGING = Layout(
    left=(Group(("settings", "prompt")), Group(("breakpoints", "marks"))),
    rows=(
        Row(0.20, (Group(("tokens",)),)),
        Row(0.38, (Group(("scheduler", "kv_map")), Group(("layers", "exits")))),
        Row(0.42, (Group(("candidates", "inspector", "tree")), Group(("why", "what_if", "ledger", "costs")))),
    ),
)
TREE = Layout(
    rows=(
        Row(0.18, (Group(("tokens",)),)),
        Row(0.54, (Group(("tree",), 0.68), Group(("candidates", "layers"), 0.32))),
        Row(0.28, (Group(("why",), 0.5), Group(("exits", "scheduler", "costs"), 0.5))),
    ),
)
COMPARE = Layout(
    rows=(
        Row(0.20, (Group(("tokens",)),)),
        Row(0.50, (Group(("compare",)),)),
        Row(0.30, (Group(("exits", "scheduler")), Group(("why", "ledger", "costs")))),
    ),
)
NAMED = {"teaching": TEACHING, "debugging": DEBUGGING, "tree": TREE, "compare": COMPARE}
"""By the part of their actions' names that follows "layout_"."""
