"""A tree's rows compute what its paths would compute alone, and leave the cache as the kept path would."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.choices import KVPolicy
from core.context import Context
from core.drafting.tree import DraftTree
from core.model.decoder import Decoder
from tests.decoders import FAMILIES, SMALL, pair
from tests.grids import grid_pair
from tests.trees import begin, one_by_one, path_to, random_trees, tree_of

DEPTH = SMALL["num_hidden_layers"]
PROMPT = [int(i) * 11 % 97 for i in range(9)]
SCRATCH = 16


@pytest.fixture(scope="module", params=FAMILIES)
def decoder(request: pytest.FixtureRequest) -> Decoder:
    return pair(request.param)[1]


@pytest.fixture(scope="module", params=["llama", "mistral, sliding window", "qwen3"])
def decoder_of_few(request: pytest.FixtureRequest) -> Decoder:
    return pair(request.param)[1]


def prefilled(decoder: Decoder, policy: KVPolicy = KVPolicy.RECOMPUTE) -> Context:
    context = Context(decoder, 64, policy, SCRATCH)
    x, rows = decoder.embed(torch.tensor(PROMPT)), decoder.rows(range(len(PROMPT)), len(PROMPT))
    for layer in range(DEPTH):
        x = context.prefill_layer(layer, x, rows)
    context.length = len(PROMPT)
    return context


def run_tree(context: Context, tree: DraftTree, layers: int = DEPTH) -> list[torch.Tensor]:
    begin(context, tree)
    return [context.run_rows(layer).clone() for layer in range(layers)]


def assert_tree_equals_paths(decoder: Decoder, tree: DraftTree) -> None:
    logits = decoder.logits(decoder.norm(run_tree(prefilled(decoder), tree)[-1]))
    for node in range(len(tree.ids)):
        alone = one_by_one(decoder, PROMPT, [int(tree.ids[step]) for step in path_to(tree, node)])
        expected = decoder.logits(decoder.norm(alone[-1][-1:]))[0]
        torch.testing.assert_close(logits[node], expected, atol=1e-4, rtol=1e-4)


def assert_states_close(states: torch.Tensor, expected: torch.Tensor) -> None:
    """To what rounding leaves. A state's largest number may be 50, beside which a small one is rounded coarsely."""
    torch.testing.assert_close(states, expected, atol=1e-5 * max(10, float(expected.abs().max())), rtol=1e-4)


@torch.inference_mode()
@settings(max_examples=6)
@given(tree=random_trees())
def test_that_each_node_sees_what_its_path_alone_would(decoder: Decoder, tree: DraftTree) -> None:
    assert_tree_equals_paths(decoder, tree)


@torch.inference_mode()
@settings(max_examples=6)
@given(tree=random_trees())
@pytest.mark.parametrize("family", ["llama", "mistral, sliding window", "qwen2, windows on upper layers"])
def test_that_native_layers_see_it_too(family: str, tree: DraftTree) -> None:
    pytest.importorskip("numba")
    assert_tree_equals_paths(natives()[family], tree)


def natives() -> dict[str, Decoder]:
    if not _NATIVES:
        names = ("llama", "mistral, sliding window", "qwen2, windows on upper layers")
        _NATIVES.update({name: grid_pair(name)[1] for name in names})
    return _NATIVES


_NATIVES: dict[str, Decoder] = {}


@torch.inference_mode()
@settings(max_examples=20)
@given(data=st.data())
@pytest.mark.parametrize("policy", KVPolicy)
def test_that_a_kept_path_leaves_what_feeding_its_tokens_alone_would(
    decoder_of_few: Decoder, policy: KVPolicy, data: st.DataObject
) -> None:
    """Over several passes that leave at any layer; recompute owes nothing after a flush."""
    trees, single = prefilled(decoder_of_few, policy), prefilled(decoder_of_few, policy)
    for _ in range(3):
        tree = data.draw(random_trees(10))
        path = path_to(tree, data.draw(st.integers(0, len(tree.ids) - 1)))
        exit_layer = data.draw(st.integers(1, DEPTH))
        states = run_tree(trees, tree, exit_layer)
        trees.keep(path, exit_layer)
        trees.end(exit_layer)
        expected = feed_alone(single, [int(tree.ids[node]) for node in path], exit_layer)
        if policy is KVPolicy.RECOMPUTE:
            assert_states_close(states[-1][path], expected)
    if policy is not KVPolicy.RECOMPUTE:
        return
    trees.flush()
    single.flush()
    assert_same_entries(trees, single)


@torch.inference_mode()
@settings(max_examples=20)
@given(data=st.data())
@pytest.mark.parametrize("policy", [KVPolicy.HOLE, KVPolicy.PROPAGATE])
def test_that_one_pass_leaves_the_entries_that_its_path_fed_as_a_chain_would(
    decoder_of_few: Decoder, policy: KVPolicy, data: st.DataObject
) -> None:
    """Beside a chain, as alone a token would already miss what the one before it lacks."""
    tree, exit_layer = data.draw(random_trees(10)), data.draw(st.integers(1, DEPTH))
    path = path_to(tree, data.draw(st.integers(0, len(tree.ids) - 1)))
    trees, chains = prefilled(decoder_of_few, policy), prefilled(decoder_of_few, policy)
    chain = tree_of(list(range(-1, len(path) - 1)))
    chain.ids[:] = tree.ids[path]
    for context, one, kept in ((trees, tree, path), (chains, chain, list(range(len(path))))):
        run_tree(context, one, exit_layer)
        context.keep(kept, exit_layer)
        context.end(exit_layer)
    assert_same_entries(trees, chains)


@torch.inference_mode()
@settings(max_examples=20)
@given(data=st.data())
@pytest.mark.parametrize("policy", KVPolicy)
def test_that_finishing_a_kept_path_on_the_side_changes_nothing_and_tells_full_depth(
    decoder_of_few: Decoder, policy: KVPolicy, data: st.DataObject
) -> None:
    plain, finished = prefilled(decoder_of_few, policy), prefilled(decoder_of_few, policy)
    before = list(PROMPT)
    for _ in range(2):
        tree, exit_layer = data.draw(random_trees(8)), data.draw(st.integers(1, DEPTH))
        path = path_to(tree, data.draw(st.integers(0, len(tree.ids) - 1)))
        tokens = [int(tree.ids[node]) for node in path]
        for context in (plain, finished):
            run_tree(context, tree, exit_layer)
            context.keep(path, exit_layer)
        beyond = list(finished.finish_rows(exit_layer))
        if policy is KVPolicy.RECOMPUTE:
            expected = one_by_one(decoder_of_few, before, tokens)[exit_layer:]
            for state, wanted in zip(beyond, expected, strict=True):
                assert_states_close(state, wanted)
        before += tokens
        plain.end(exit_layer)
        finished.end(exit_layer)
        assert_same_entries(finished, plain)


@torch.inference_mode()
def test_that_what_a_longer_tree_left_in_the_slots_is_no_entry_of_a_later_exit() -> None:
    decoder = pair("llama")[1]
    context = prefilled(decoder, KVPolicy.HOLE)
    run_tree(context, tree_of([-1, 0, 0, 0, 1, 1, 2]))
    context.keep([0], DEPTH)
    context.end(DEPTH)
    run_tree(context, tree_of([-1, 0]), 1)
    context.keep([0, 1], 1)
    context.end(1)
    at = len(PROMPT) + 1
    assert not context.cache.present[1:, at:].any()
    assert context.cache.present[0, : at + 2].all()


def feed_alone(context: Context, tokens: list[int], exit_layer: int) -> torch.Tensor:
    """Feed tokens one at a time, each left after `exit_layer` layers; the states [n, d] that they left with."""
    left = []
    for token_id in tokens:
        context.begin(token_id)
        for layer in range(exit_layer):
            state = context.run(layer)
        left.append(state.clone())
        context.end(exit_layer)
    return torch.stack(left)


def assert_same_entries(one: Context, other: Context) -> None:
    assert one.length == other.length
    present = one.cache.present
    np.testing.assert_array_equal(present, other.cache.present)
    there = present[:, None, :, None]
    torch.testing.assert_close(one.cache.keys * there, other.cache.keys * there, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(one.cache.values * there, other.cache.values * there, atol=1e-4, rtol=1e-4)
