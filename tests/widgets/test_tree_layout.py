"""The tidy layout, as properties of any tree."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tree_passes import bushy, widths_to_parents
from widgets import tree_layout
from widgets.tree_layout import lay_out, tidy_middles

GAP = 6.0
CLOSE = 1e-6


@st.composite
def trees(draw: st.DrawFn, most: int = 70) -> tuple[list[int], list[float]]:
    """Any tree of up to `most` nodes, a parent before its children, and a breadth for each node."""
    numbers = draw(st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 120)), min_size=1, max_size=most))
    reach = draw(st.sampled_from([1, 3, 10, most]))  # small ones make deep trees
    parents = [max(0, node - reach) + pick % min(node, reach) if node else -1 for node, (pick, _) in enumerate(numbers)]
    return parents, [float(breadth) for _, breadth in numbers]


def rows(parents: list[int]) -> list[list[int]]:
    """The nodes of each level in the order in which they must lie: by parent, then by index."""
    made = [[0]]
    while made[-1]:
        made.append([c for node in made[-1] for c in range(node + 1, len(parents)) if parents[c] == node])
    return made[:-1]


@settings(max_examples=100)
@given(trees())
def test_that_no_two_nodes_of_a_level_overlap_and_their_order_is_kept(tree: tuple[list[int], list[float]]) -> None:
    parents, breadths = tree
    middles = tidy_middles(parents, breadths, GAP)
    for row in rows(parents):
        for one, other in pairwise(row):
            between = middles[other] - middles[one] - (breadths[one] + breadths[other]) / 2
            assert between >= GAP - CLOSE


@settings(max_examples=100)
@given(trees())
def test_that_a_parent_is_centred_over_its_children(tree: tuple[list[int], list[float]]) -> None:
    parents, breadths = tree
    middles = tidy_middles(parents, breadths, GAP)
    for node in range(len(parents)):
        children = [c for c in range(node + 1, len(parents)) if parents[c] == node]
        if children:
            assert middles[node] == pytest.approx((middles[children[0]] + middles[children[-1]]) / 2, abs=CLOSE)


@settings(max_examples=60)
@given(trees(40))
def test_that_a_subtree_is_drawn_alike_wherever_it_hangs(tree: tuple[list[int], list[float]]) -> None:
    """But for what has to make room: a copy hung below a new root, alone, lies as it did."""
    parents, breadths = tree
    alone = tidy_middles(parents, breadths, GAP)
    hung = tidy_middles([-1, *(parent + 1 for parent in parents)], [1.0, *breadths], GAP)[1:]
    assert hung - hung[0] == pytest.approx(alone - alone[0], abs=CLOSE)


@pytest.mark.parametrize("count", [4, 5, 13, 24, 40, 64, 128])
def test_that_no_two_rectangles_meet_whatever_their_widths(count: int) -> None:
    parents = bushy(count).tolist()
    random = np.random.default_rng(count)
    widths, heights = random.uniform(20, 120, count), random.uniform(18, 40, count)
    placed = lay_out(parents, widths.tolist(), heights.tolist(), 28, 7)
    right, bottom = placed.left + placed.width, placed.top + placed.height
    for one in range(count):
        meets = (placed.left < right[one]) & (right > placed.left[one]) & (placed.top < bottom[one])
        meets &= bottom > placed.top[one]
        assert np.flatnonzero(meets).tolist() == [one]


def test_that_a_column_starts_where_the_widest_node_before_it_leaves_off() -> None:
    placed = lay_out([-1, 0, 0, 1], [10, 50, 30, 5], [4, 4, 4, 4], 20, 2)
    assert placed.left.tolist() == [0, 30, 30, 100]
    assert placed.size == (105, 10)


def test_that_small_subtrees_between_large_ones_share_the_room() -> None:
    parents = [-1, 0, 0, 0, 0, *[1] * 6, *[4] * 6]
    middles = tidy_middles(parents, [10.0] * len(parents), 2)
    steps = np.diff(middles[1:5])
    assert steps == pytest.approx([24, 24, 24])


def test_that_a_single_node_is_a_tree() -> None:
    assert lay_out([-1], [30], [20], 10, 5).size == (30, 20)


def test_that_a_chain_is_straight_however_deep_it_is() -> None:
    parents = list(range(-1, 4999))
    assert np.ptp(tidy_middles(parents, [10.0] * 5000, 2)) == 0


@pytest.mark.parametrize("parents", [bushy(400), widths_to_parents(2, 2, 2, 2, 2, 2, 2), np.arange(-1, 300)])
def test_that_outlines_are_followed_in_linear_time(parents: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    distance = tree_layout._Tidy._distance
    monkeypatch.setattr(
        tree_layout._Tidy, "_distance", lambda self, one, other: asked.append(one) or distance(self, one, other)
    )
    tidy_middles(parents.tolist(), [10.0] * len(parents), 2)
    assert len(asked) <= 2 * len(parents)


def test_that_a_static_tree_is_as_high_as_its_leaves() -> None:
    parents = widths_to_parents(4, 2, 2).tolist()
    middles = tidy_middles(parents, [10.0] * len(parents), 2)
    assert np.ptp(middles) + 10 == pytest.approx(16 * 10 + 15 * 2)
