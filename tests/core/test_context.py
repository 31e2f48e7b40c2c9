"""K/V policies: what an exit leaves missing, and how it is made good (`docs/rules.md`)."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.choices import KVPolicy
from core.context import Context
from core.model.decoder import Decoder
from tests.decoders import SMALL, pair

DEPTH = SMALL["num_hidden_layers"]
PROMPT = torch.arange(7) * 11 % 97
FED = [5, 90, 33, 14, 71, 2, 64, 28, 53, 40]


def prefilled(decoder: Decoder, policy: KVPolicy) -> Context:
    context = Context(decoder, len(PROMPT) + len(FED), policy)
    x, rows = decoder.embed(PROMPT), decoder.rows(range(len(PROMPT)), len(PROMPT))
    for layer in range(DEPTH):
        x = context.prefill_layer(layer, x, rows)
    context.length = len(PROMPT)
    return context


def feed(context: Context, exits: list[int]) -> list[torch.Tensor]:
    """Feed `FED`, leaving after so many layers each; the hidden state that each left with."""
    left_with = []
    for token_id, exit_layer in zip(FED, exits, strict=False):
        context.begin(token_id)
        hidden = torch.empty(0)
        for layer in range(exit_layer):
            hidden = context.run(layer)
        context.end(exit_layer)
        left_with.append(hidden.clone())
    return left_with


@pytest.fixture(scope="module", params=["llama", "mistral, sliding window", "qwen3"])
def decoder(request: pytest.FixtureRequest) -> Decoder:
    return pair(request.param)[1]


def full_depth(decoder: Decoder) -> tuple[Context, list[list[torch.Tensor]]]:
    """A context in which every token ran every layer, and each fed token's hidden state after each layer."""
    context, hidden = prefilled(decoder, KVPolicy.RECOMPUTE), []
    for token_id in FED:
        context.begin(token_id)
        hidden.append([context.run(layer).clone() for layer in range(DEPTH)])
        context.end(DEPTH)
    return context, hidden


@torch.inference_mode()
@settings(max_examples=15, deadline=None)
@given(exits=st.lists(st.integers(1, DEPTH), min_size=len(FED), max_size=len(FED)))
def test_that_recompute_leaves_every_entry_and_every_exit_as_a_full_depth_pass_would(
    decoder: Decoder, exits: list[int]
) -> None:
    expected, hidden = full_depth(decoder)
    context = prefilled(decoder, KVPolicy.RECOMPUTE)
    for token, left_with in enumerate(feed(context, exits)):
        torch.testing.assert_close(left_with, hidden[token][exits[token] - 1], atol=1e-4, rtol=0)
    context.flush()
    torch.testing.assert_close(context.cache.keys, expected.cache.keys, atol=1e-4, rtol=0)
    torch.testing.assert_close(context.cache.values, expected.cache.values, atol=1e-4, rtol=0)
    assert context.cache.present.all()


@torch.inference_mode()
def test_that_a_waiting_row_is_caught_up_from_the_layer_it_left_at(decoder: Decoder) -> None:
    context = prefilled(decoder, KVPolicy.RECOMPUTE)
    feed(context, [2, 1, DEPTH])
    first = len(PROMPT)
    assert sorted(context.recomputed) == [(first, 2, DEPTH), (first + 1, 1, DEPTH)]


@torch.inference_mode()
def test_that_rows_caught_up_part_of_the_way_wait_again_with_the_pass_that_carried_them(decoder: Decoder) -> None:
    context = prefilled(decoder, KVPolicy.RECOMPUTE)
    feed(context, [1, 3, DEPTH])
    first = len(PROMPT)
    assert sorted(context.recomputed) == [(first, 3, DEPTH), (first + 1, 3, DEPTH)]


@torch.inference_mode()
@pytest.mark.parametrize("policy", KVPolicy)
def test_that_without_exits_every_policy_equals_full_depth(decoder: Decoder, policy: KVPolicy) -> None:
    expected, hidden = full_depth(decoder)
    context = prefilled(decoder, policy)
    left_with = feed(context, [DEPTH] * len(FED))
    torch.testing.assert_close(left_with, [states[-1] for states in hidden], atol=1e-5, rtol=0)
    torch.testing.assert_close(context.cache.keys, expected.cache.keys, atol=1e-5, rtol=0)


@torch.inference_mode()
def test_that_hole_leaves_the_skipped_entries_out_of_attention_for_good(decoder: Decoder) -> None:
    _, hidden = full_depth(decoder)
    context = prefilled(decoder, KVPolicy.HOLE)
    left_with = feed(context, [2, DEPTH, DEPTH])
    assert not context.cache.present[2:, len(PROMPT)].any()
    assert context.cache.present[:2, len(PROMPT)].all()
    assert (left_with[1] - hidden[1][-1]).abs().max() > 1e-3
    context.flush()
    assert not context.cache.present[2:, len(PROMPT)].any()


@torch.inference_mode()
def test_that_hole_attends_as_if_the_position_had_never_been() -> None:
    """Below the exit nothing differs; above it, the layer sees the context with that one slot struck out."""
    decoder = pair("llama")[1]
    context = prefilled(decoder, KVPolicy.HOLE)
    feed(context, [1])
    at = len(PROMPT)
    context.begin(FED[1])
    below = context.run(0)
    ours = context.run(1)
    keys, values = context.cache.keys[1].clone(), context.cache.values[1].clone()
    closed = decoder.new_cache(at + 1)
    closed.keys[1, :, :at], closed.values[1, :, :at] = keys[:, :at], values[:, :at]
    row = decoder.rows([at + 1], at + 1)
    row.first = at
    expected = decoder.layer(1, below[None], row, closed)[0]
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=0)


@torch.inference_mode()
def test_that_propagate_writes_the_keys_and_values_that_the_state_it_left_with_gives(decoder: Decoder) -> None:
    context = prefilled(decoder, KVPolicy.PROPAGATE)
    left_with = feed(context, [2])[0]
    at = len(PROMPT)
    expected = decoder.new_cache(at + 1)
    decoder.write_kv(3, left_with[None], decoder.rows([at], at + 1), expected)
    torch.testing.assert_close(context.cache.keys[3, :, at], expected.keys[3, :, at], atol=1e-6, rtol=0)
    assert context.cache.present[:, at].all()


@torch.inference_mode()
@settings(max_examples=15, deadline=None)
@given(exits=st.lists(st.integers(1, DEPTH), min_size=len(FED), max_size=len(FED)))
@pytest.mark.parametrize("policy", KVPolicy)
def test_that_finishing_a_pass_on_the_side_changes_nothing_and_tells_full_depth(
    decoder: Decoder, policy: KVPolicy, exits: list[int]
) -> None:
    _, hidden = full_depth(decoder)
    plain, finished = prefilled(decoder, policy), prefilled(decoder, policy)
    for token, exit_layer in enumerate(exits):
        for context in (plain, finished):
            context.begin(FED[token])
            for layer in range(exit_layer):
                context.run(layer)
        beyond = list(finished.finish(exit_layer))
        if policy is KVPolicy.RECOMPUTE:
            expected = hidden[token][exit_layer:]
            torch.testing.assert_close(beyond, expected, atol=1e-4, rtol=0)
        plain.end(exit_layer)
        finished.end(exit_layer)
        assert torch.equal(plain.cache.present, finished.cache.present)
        there = plain.cache.present[:, None, :, None]
        assert torch.equal(plain.cache.keys * there, finished.cache.keys * there)
