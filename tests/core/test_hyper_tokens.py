"""T3's judgement of trees: all nodes' features at once, merged and independent mapping, the walk (`docs/rules.md`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.choices import Mapping
from core.config import CANDIDATES
from core.drafting.tree import DraftTree
from core.exits.hyper_tokens import TreeJudge, TreeLook, paths_of
from core.exits.lens import ExitLens, Readout
from core.exits.predictors import PredictorBank, features_of
from core.exits.scheduling import EveryLayer
from core.exits.tree_walk import Walk, Walker
from core.exits.verification import Check
from core.model.decoder import Decoder
from core.sampling import Choice
from core.trace.events import BoolArray, WalkEnd
from tests.decoders import SMALL, pair
from tests.trees import random_trees, tree_of

DEPTH, HIDDEN = SMALL["num_hidden_layers"], SMALL["hidden_size"]
FIGURE_13 = [-1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
"""The paper's worked example: "?" → {I, It, Thank}, each with three children."""
THRESHOLD = 0.5


@pytest.fixture(scope="module")
def decoder() -> Decoder:
    return pair("llama")[1]


def random_bank(seed: int = 0) -> PredictorBank:
    generator = np.random.default_rng(seed)
    shapes = {"w1": (DEPTH - 1, 12, 8), "b1": (DEPTH - 1, 8), "w2": (DEPTH - 1, 8), "b2": (DEPTH - 1,)}
    return PredictorBank({name: generator.normal(size=shape).astype(np.float32) for name, shape in shapes.items()})


def judge(decoder: Decoder, mapping: Mapping, readout: Readout | None = None) -> TreeJudge:
    return TreeJudge(random_bank(), EveryLayer(DEPTH), lambda _: THRESHOLD, mapping, readout or Readout(decoder))


def states(nodes: int, seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(nodes, HIDDEN, generator=generator) for _ in range(DEPTH)]


@torch.inference_mode()
def looks(decoder: Decoder, tree: DraftTree, mapping: Mapping, seed: int = 0) -> list[TreeLook]:
    """What a judge makes of a tree at every layer that has a predictor."""
    one = judge(decoder, mapping)
    one.begin(tree)
    found = [one.look(layer, hidden) for layer, hidden in enumerate(states(len(tree.ids), seed)[:-1])]
    return [look for look in found if look is not None]


@torch.inference_mode()
@pytest.mark.parametrize("lens", [False, True])
@settings(max_examples=15)
@given(tree=random_trees(), seed=st.integers(0, 99))
def test_that_all_nodes_features_in_one_product_are_each_nodes_own(
    decoder: Decoder, lens: bool, tree: DraftTree, seed: int
) -> None:
    readout = Readout(decoder, random_lens() if lens else None)
    one = judge(decoder, Mapping.REARMOST, readout)
    one.begin(tree)
    previous: list[np.ndarray | None] = [None] * len(tree.ids)
    for layer, hidden in enumerate(states(len(tree.ids), seed)[:-1]):
        look = one.look(layer, hidden)
        assert look is not None
        for node in range(len(tree.ids)):
            logits = decoder.logits(readout.normed(layer, hidden[node][None]))[0][tree.candidate_ids[node]].numpy()
            expected = features_of(logits, previous[node])
            previous[node] = expected[CANDIDATES : 2 * CANDIDATES]
            np.testing.assert_allclose(look.features[node], expected, atol=1e-4)
            assert look.scores[node] == pytest.approx(random_bank().score(layer, look.features[node]), abs=1e-6)


def random_lens() -> ExitLens:
    generator = torch.Generator().manual_seed(2)
    bias, full = torch.randn(DEPTH - 1, HIDDEN, generator=generator), torch.randn(DEPTH - 1, HIDDEN, HIDDEN)
    return ExitLens(bias, full=0.1 * full)


@settings(max_examples=15)
@given(tree=random_trees(), seed=st.integers(0, 99))
def test_that_a_rearmost_path_scores_as_its_lowest_node(decoder: Decoder, tree: DraftTree, seed: int) -> None:
    for look in looks(decoder, tree, Mapping.REARMOST, seed):
        for path, on in enumerate(paths_of(tree)):
            assert look.path_scores[path] == look.scores[on].min()
            assert look.proposed[path] == (look.scores[on] > THRESHOLD).all()


@settings(max_examples=15)
@given(tree=random_trees(), seed=st.integers(0, 99))
def test_that_a_mean_path_scores_as_the_mean_of_its_features(decoder: Decoder, tree: DraftTree, seed: int) -> None:
    for layer, look in enumerate(looks(decoder, tree, Mapping.MEAN, seed)):
        assert not len(look.scores)
        for path, on in enumerate(paths_of(tree)):
            expected = random_bank().score(layer, look.features[on].mean(0))
            assert look.path_scores[path] == pytest.approx(expected, abs=1e-5)


@settings(max_examples=15)
@given(tree=random_trees(), seed=st.integers(0, 99))
def test_that_independent_mapping_waits_until_every_node_has_crossed_once(
    decoder: Decoder, tree: DraftTree, seed: int
) -> None:
    crossed = np.zeros(len(tree.ids), np.bool_)
    for look in looks(decoder, tree, Mapping.INDEPENDENT, seed):
        crossed |= look.scores > THRESHOLD
        assert look.proposed.all() == look.proposed.any() == look.ready.all() == crossed.all()
        assert not len(look.path_scores)


@settings(max_examples=15)
@given(tree=random_trees(), seed=st.integers(0, 99))
def test_that_the_nodes_of_proposed_paths_are_ready_and_no_others(decoder: Decoder, tree: DraftTree, seed: int) -> None:
    for look in looks(decoder, tree, Mapping.REARMOST, seed):
        expected = {int(node) for on in paths_of(tree)[look.proposed] for node in np.flatnonzero(on)}
        assert set(np.flatnonzero(look.ready)) == expected


def test_that_the_worked_example_has_13_rows_and_9_paths(decoder: Decoder) -> None:
    look = looks(decoder, tree_of(FIGURE_13), Mapping.REARMOST)[0]
    assert (len(look.scores), len(look.path_scores)) == (13, 9)


def test_that_the_worked_examples_inner_nodes_make_3_hyper_tokens() -> None:
    assert len(paths_of(tree_of(FIGURE_13[:4]))) == 3


def test_that_paths_are_ordered_by_leaf_and_run_from_the_root() -> None:
    paths = paths_of(tree_of([-1, 0, 0, 1, 3]))
    assert [np.flatnonzero(on).tolist() for on in paths] == [[0, 2], [0, 1, 3, 4]]


@torch.inference_mode()
def test_that_a_layer_that_is_not_active_is_not_looked_at_and_leaves_the_variations_alone(decoder: Decoder) -> None:
    tree, one = tree_of([-1, 0]), judge(decoder, Mapping.REARMOST)
    one.begin(tree).active[1] = False
    first, skipped, third = (one.look(layer, hidden) for layer, hidden in enumerate(states(2, 0)[:3]))
    assert skipped is None
    assert first is not None
    assert third is not None
    variation = third.features[:, CANDIDATES : 2 * CANDIDATES] - first.features[:, CANDIDATES : 2 * CANDIDATES]
    np.testing.assert_allclose(third.features[:, 2 * CANDIDATES :], variation, atol=1e-6)


@given(seed=st.integers(0, 99), rows=st.integers(1, 20), scale=st.sampled_from([1.0, 1e3]))
def test_that_predictors_score_many_rows_as_they_score_each(seed: int, rows: int, scale: float) -> None:
    bank, features = random_bank(seed), np.random.default_rng(seed).normal(size=(rows, 12)).astype(np.float32) * scale
    for layer in range(bank.layers):
        expected = [bank.score(layer, row) for row in features]
        np.testing.assert_allclose(bank.score_rows(layer, features), expected, atol=1e-6 * max(10.0, scale))  # rounding


CHAIN = tree_of([-1, 0, 1, 2])
END = 96
"""Ends a text."""


def says(*token_ids: int, margin: float = 1.0) -> Callable[[Sequence[int]], list[Check]]:
    """A target that says the n-th of these after node n."""

    def check(nodes: Sequence[int]) -> list[Check]:
        return [Check(Choice(token_ids[node], 1.0, margin), torch.zeros(1)) for node in nodes]

    return check


def walk(tree: DraftTree, *token_ids: int, ready: BoolArray | None, margin: float = 1.0) -> Walk:
    walker = Walker(tree, lambda check: check.choice.margin < 0.5, {END})
    return walker.walk(says(*token_ids, margin=margin), ready)


def candidates_that_hold(tree: DraftTree, *token_ids: int) -> DraftTree:
    """The tree with the n-th of these among the candidates of node n."""
    for node, token_id in enumerate(token_ids):
        tree.candidate_ids[node] = [token_id, 1, 2, 3]
    return tree


ALL = np.ones(4, np.bool_)
FOLLOWED = [int(token) for token in CHAIN.ids[1:]]
LAST = next(token for token in range(90) if token not in CHAIN.ids)


def test_that_the_last_layer_steps_as_far_as_target_and_tree_agree() -> None:
    found = walk(CHAIN, *FOLLOWED[:2], LAST, 0, ready=None)
    assert (found.nodes, found.token_ids, found.end) == ([0, 1, 2], [*FOLLOWED[:2], LAST], WalkEnd.VERIFIED)


def test_that_a_walk_whose_every_token_is_a_candidate_is_verified_down_to_the_leaf() -> None:
    tree = candidates_that_hold(tree_of([-1, 0, 1, 2]), *FOLLOWED, LAST)
    found = walk(tree, *FOLLOWED, LAST, ready=ALL)
    assert (found.nodes, found.token_ids[-1], found.end) == ([0, 1, 2, 3], LAST, WalkEnd.VERIFIED)


def test_that_a_token_that_is_no_candidate_is_no_exit_even_where_it_is_a_child() -> None:
    tree = candidates_that_hold(tree_of([-1, 0, 1, 2]), FOLLOWED[0], LAST)
    found = walk(tree, *FOLLOWED[:2], LAST, 0, ready=ALL)
    assert (found.nodes, found.end) == ([0, 1], WalkEnd.NOT_CANDIDATE)


def test_that_a_step_onto_a_node_whose_path_did_not_pass_is_no_exit() -> None:
    tree = candidates_that_hold(tree_of([-1, 0, 0]), int(tree_of([-1, 0, 0]).ids[2]))
    ready = np.array([True, True, False])
    found = walk(tree, int(tree.ids[2]), 0, 0, ready=ready)
    assert (found.nodes, found.end) == ([0], WalkEnd.NOT_PROPOSED)


def test_that_a_margin_below_the_gate_is_no_exit_before_the_last_layer() -> None:
    tree = candidates_that_hold(tree_of([-1, 0, 1, 2]), LAST)
    assert walk(tree, LAST, 0, 0, 0, ready=ALL, margin=0.4).end is WalkEnd.GATED
    assert walk(tree, LAST, 0, 0, 0, ready=None, margin=0.4).end is WalkEnd.VERIFIED


def test_that_nothing_is_stepped_to_after_the_end_of_the_text() -> None:
    tree = tree_of([-1, 0, 1])
    tree.ids[1] = END
    assert walk(tree, END, 5, 5, ready=None).nodes == [0]
