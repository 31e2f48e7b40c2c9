"""Shapes of token trees: static ones, EAGLE-2's dynamic growth, and what is refused (`docs/rules.md`)."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from core.config import CANDIDATES, MOST_NODES, TreeSettings
from core.drafting.growth import EAGLE, growth_of
from core.drafting.guesses import Guesser, likeliest
from core.drafting.head import DraftHead
from core.drafting.ngrams import continuation
from core.drafting.tree import DraftTree, TreeDrafter
from core.errors import UserError
from core.model.config import parse_config
from core.model.decoder import Decoder
from tests.decoders import SMALL, pair

CONTEXT = [3, 14, 15, 92, 65, 35]
ROOT = 89
WIDE = 200.0
"""Scales the logits, so that the tiny drafter is sure of something."""


@pytest.fixture(scope="module")
def head() -> DraftHead:
    return DraftHead.random(pair("llama")[1], torch.Generator().manual_seed(3))


def features(decoder: Decoder) -> Tensor:
    return torch.randn(1 + len(CONTEXT), decoder.config.hidden, generator=torch.Generator().manual_seed(4))


def drafter_of(head: DraftHead, shape: TreeSettings) -> TreeDrafter:
    """One that has taken in the context and the root."""
    decoder = head.decoder

    def logits(normed: Tensor) -> Tensor:
        return WIDE * decoder.logits(normed)

    drafter = TreeDrafter(head, growth_of(shape, decoder.config), Guesser(logits), 64)
    drafter.feed(torch.tensor([*CONTEXT, ROOT]), features(decoder))
    return drafter


@torch.inference_mode()
def grow(head: DraftHead, shape: TreeSettings, found: tuple[int, ...] = (), depth: int = 99) -> DraftTree:
    return drafter_of(head, shape).grow(ROOT, depth, found, candidates=True)


def chained(head: DraftHead, tokens: list[int]) -> Tensor:
    """f̂ after the root and further tokens, drafted one after the other on its own outputs; [tokens + 1, d]."""
    cache = head.new_cache(64)
    first = head.advance(torch.tensor([*CONTEXT, ROOT]), features(head.decoder), 0, cache)
    states = [first[-1:]]
    for place, token in enumerate(tokens, 1 + len(CONTEXT)):
        states.append(head.run(torch.tensor([token]), states[-1], head.decoder.rows([place], place + 1), cache))
    return torch.cat(states)


SHAPES = (
    TreeSettings("3-2-1"),
    TreeSettings("eagle"),
    TreeSettings("dynamic", nodes=14, depth=4, expand=3),
    TreeSettings("dynamic", nodes=3, depth=3, expand=5),
)


@torch.inference_mode()
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("found", [(), (7, 8, 9), (7,)])
def test_that_batched_levels_guess_what_drafting_each_path_alone_would(
    head: DraftHead, shape: TreeSettings, found: tuple[int, ...]
) -> None:
    tree = grow(head, shape, found)
    for node in range(len(tree.ids)):
        path = [int(tree.ids[step]) for step in np.flatnonzero(tree.seen[node])][1:]
        logits = WIDE * head.decoder.logits(chained(head, path))
        ids, probabilities = likeliest(logits[-1:], CANDIDATES)
        assert tree.candidate_ids[node].tolist() == ids[0].tolist()
        np.testing.assert_allclose(tree.candidate_probabilities[node], probabilities[0], atol=1e-4)
        if path:
            expected = float(logits[-2].softmax(-1)[path[-1]])
            assert tree.probabilities[node] == pytest.approx(expected, abs=1e-4)


def test_that_a_static_tree_has_the_children_that_its_shape_says(head: DraftHead) -> None:
    tree = grow(head, TreeSettings("3-2-1"))
    assert np.bincount(tree.depths).tolist() == [1, 3, 6, 6]
    assert np.bincount(tree.parents[1:]).tolist() == [3] + [2] * 3 + [1] * 6


def test_that_eagles_tree_has_26_nodes_of_which_the_likelier_have_more_children(head: DraftHead) -> None:
    tree = grow(head, TreeSettings("eagle"))
    assert len(tree.ids) == 26
    assert np.bincount(tree.depths).tolist() == [1, *map(sum, EAGLE)]
    assert [int((tree.parents == node).sum()) for node in range(5)] == [4, 3, 2, 2, 1]


def test_that_children_are_the_parents_likeliest_guesses_in_order(head: DraftHead) -> None:
    tree = grow(head, TreeSettings("4-2"))
    for node in range(5):
        children = tree.ids[tree.parents == node]
        assert children.tolist() == tree.candidate_ids[node, : len(children)].tolist()


@pytest.mark.parametrize("nodes", [1, 5, 14, 40])
def test_that_dynamic_growth_keeps_the_nodes_of_the_greatest_value(head: DraftHead, nodes: int) -> None:
    small = TreeSettings("dynamic", nodes=nodes, depth=4, expand=3)
    kept, everything = grow(head, small), grow(head, dataclasses.replace(small, nodes=MOST_NODES))
    assert len(kept.ids) == min(nodes + 1, len(everything.ids))
    values = np.sort(values_of(everything))[::-1][: len(kept.ids)]
    np.testing.assert_allclose(np.sort(values_of(kept))[::-1], values, rtol=1e-5)


def values_of(tree: DraftTree) -> np.ndarray:
    """The product of the drafter's probabilities along each node's path."""
    return np.where(tree.seen, tree.probabilities, 1).prod(1)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("found", [(), (7, 8, 9)])
def test_that_a_node_comes_after_its_parent_and_its_depth_is_one_more(
    head: DraftHead, shape: TreeSettings, found: tuple[int, ...]
) -> None:
    tree = grow(head, shape, found)
    assert tree.parents[0] == -1
    assert (tree.parents[1:] < np.arange(1, len(tree.ids))).all()
    assert (tree.depths[1:] == tree.depths[tree.parents[1:]] + 1).all()
    assert (tree.seen.sum(1) == tree.depths + 1).all()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_that_a_found_continuation_joins_the_tree_as_one_path(head: DraftHead, shape: TreeSettings) -> None:
    node, tree = 0, grow(head, shape, (7, 8, 9))
    for token in (7, 8, 9):
        (node,) = np.flatnonzero((tree.parents == node) & (tree.ids == token))
        assert tree.from_ngram[node]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_that_a_found_token_that_was_drafted_too_counts_as_drafted_and_stays(
    head: DraftHead, shape: TreeSettings
) -> None:
    best = int(grow(head, TreeSettings("1")).ids[1])
    tree = grow(head, shape, (best, 8))
    (first,) = np.flatnonzero((tree.parents == 0) & (tree.ids == best))
    assert not tree.from_ngram[first]
    assert ((tree.parents == first) & (tree.ids == 8)).any()


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_that_no_tree_is_deeper_than_it_may_be(head: DraftHead, shape: TreeSettings, depth: int) -> None:
    assert grow(head, shape, (7, 8, 9), depth).depths.max() == depth


@torch.inference_mode()
def test_that_growing_a_tree_leaves_no_mark_on_the_next_one(head: DraftHead) -> None:
    twice, once = (drafter_of(head, TreeSettings("eagle")) for _ in range(2))
    twice.grow(ROOT, 99, (), candidates=True)
    again, expected = (drafter.grow(ROOT, 99, (), candidates=True) for drafter in (twice, once))
    assert again.ids.tolist() == expected.ids.tolist()
    np.testing.assert_allclose(again.probabilities, expected.probabilities, atol=1e-6)


@torch.inference_mode()
def test_that_without_exits_the_leaves_are_not_looked_at(head: DraftHead) -> None:
    assert drafter_of(head, TreeSettings("2-1")).grow(ROOT, 9, (), candidates=False).candidate_ids.shape == (5, 0)


@given(
    rows=st.integers(1, 5), k=st.integers(1, 9), seed=st.integers(0, 99), vocabulary=st.sampled_from([40, 2560, 2700])
)
@settings(max_examples=40)
def test_that_the_likeliest_tokens_are_torchs_own_top_k(rows: int, k: int, seed: int, vocabulary: int) -> None:
    logits = torch.randn(rows, vocabulary, generator=torch.Generator().manual_seed(seed))
    ids, probabilities = likeliest(logits, k)
    expected = logits.softmax(-1).topk(k)
    assert torch.equal(ids, expected.indices)
    torch.testing.assert_close(probabilities, expected.values)


@pytest.mark.parametrize(
    ("tokens", "found"),
    [
        ([1, 2, 3, 9, 8, 1, 2, 3], [9, 8, 1]),
        ([5, 2, 3, 9, 7, 2, 3, 4, 6, 2, 3], [4, 6, 2]),
        ([1, 2, 3, 4], []),
        ([1, 1, 1], [1]),
        ([4], []),
    ],
)
def test_that_a_continuation_follows_the_newest_tokens_where_they_stood_last(
    tokens: list[int], found: list[int]
) -> None:
    assert continuation(tokens, 3) == found


def test_that_more_common_tokens_outweigh_a_later_place() -> None:
    assert continuation([1, 2, 3, 50, 9, 2, 3, 60, 1, 2, 3], 1) == [50]


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ("98", "98 children, but this model has 97"),
        ("-".join(["1"] * 40), "40 levels deep, but this model's context holds 32"),
    ],
)
def test_that_a_tree_too_large_for_the_model_is_refused_in_one_sentence(shape: str, words: str) -> None:
    raw: dict[str, Any] = {**pair("llama")[0].config.to_dict(), "architectures": ["LlamaForCausalLM"]}
    config = parse_config(
        {**raw, "vocab_size": SMALL["vocab_size"], "max_position_embeddings": 32}, Path("config.json")
    )
    with pytest.raises(UserError, match=words):
        growth_of(TreeSettings(shape), config)


@pytest.mark.parametrize("shape", ["", "-", "4-", "4--2", "0", "4-0", "-1", "1.5", "x", "9-9-9", "4 2", "٣"])
def test_that_a_shape_that_is_none_or_has_too_many_nodes_is_refused(shape: str) -> None:
    with pytest.raises(UserError, match="tree"):
        TreeSettings(shape)
