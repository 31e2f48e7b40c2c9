"""Compiled layers over a float32 model's own weights compute what the layers that they replace did."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.choices import DType, KVPolicy
from core.drafting.tree import DraftTree
from core.model import loading
from core.model.decoder import Decoder
from core.model.loading import load_model
from core.model.native import NativeHead, make_fused
from tests.core.test_context import DEPTH, FED, feed, full_depth, prefilled
from tests.core.test_tree_rows import assert_tree_equals_paths
from tests.decoders import pair
from tests.grids import grid_pair, make_tiny_grid_model
from tests.tiny import make_tiny_model
from tests.trees import random_trees

pytest.importorskip("numba")

FAMILIES = ["llama, attention bias", "mistral, sliding window", "qwen3", "smollm3"]
ROUNDING = 2e-5
"""The most that another order of additions may change, as a share of the largest value."""


def assert_same(ours: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(ours, expected, atol=ROUNDING * float(expected.abs().max()), rtol=0)


@pytest.fixture(scope="module", params=FAMILIES)
def decoders(request: pytest.FixtureRequest) -> tuple[Decoder, Decoder]:
    """The same random model as it is, and fused."""
    plain, _ = grid_pair(request.param)
    fused, _ = grid_pair(request.param)
    assert make_fused(fused)
    return plain, fused


@torch.inference_mode()
def test_that_fused_layers_compute_what_they_replace(decoders: tuple[Decoder, Decoder]) -> None:
    plain, fused = decoders
    tokens = (torch.arange(40) * 31) % 97
    for sizes in ([40], [13, 1, 2, 3, 4, 8, 7, 1, 1]):
        caches, first = (plain.new_cache(40), fused.new_cache(40)), 0
        for size in sizes:
            expected, ours = (
                one.forward(tokens[first : first + size], first, cache)
                for one, cache in zip(decoders, caches, strict=True)
            )
            assert_same(ours, expected)
            first += size
        assert_same(caches[1].keys, caches[0].keys)
        assert_same(caches[1].values, caches[0].values)


@torch.inference_mode()
def test_that_a_head_on_a_grid_is_packed_and_says_the_same(decoders: tuple[Decoder, Decoder]) -> None:
    plain, fused = decoders
    assert isinstance(fused.head, NativeHead)
    states = torch.randn(5, 64, generator=torch.Generator().manual_seed(1))
    assert_same(fused.logits(states), plain.logits(states))


@torch.inference_mode()
@settings(max_examples=10)
@given(exits=st.lists(st.integers(1, DEPTH), min_size=len(FED), max_size=len(FED)))
def test_that_recompute_leaves_every_entry_as_a_full_depth_pass_would(
    decoders: tuple[Decoder, Decoder], exits: list[int]
) -> None:
    expected, _ = full_depth(decoders[1])
    context = prefilled(decoders[1], KVPolicy.RECOMPUTE)
    feed(context, exits)
    context.flush()
    assert_same(context.cache.keys, expected.cache.keys)
    assert_same(context.cache.values, expected.cache.values)


@torch.inference_mode()
@settings(max_examples=4)
@given(tree=random_trees())
def test_that_each_node_of_a_tree_sees_what_its_path_alone_would(
    decoders: tuple[Decoder, Decoder], tree: DraftTree
) -> None:
    assert_tree_equals_paths(decoders[1], tree)


def test_that_sizes_that_come_in_no_whole_blocks_are_left_as_they_are() -> None:
    decoder = pair("llama")[1]
    before = list(decoder.layers)
    assert not make_fused(decoder)
    assert decoder.layers == before
    assert decoder.fused is None


def test_that_without_numba_nothing_is_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, _ = grid_pair("llama")

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    assert not make_fused(decoder)
    assert decoder.fused is None


@pytest.mark.parametrize(
    ("fuse", "least", "dtype", "fused"),
    [
        (True, 0, DType.FLOAT32, True),
        (False, 0, DType.FLOAT32, False),
        (True, 1 << 40, DType.FLOAT32, False),
        (True, 0, DType.BFLOAT16, False),
    ],
)
def test_that_a_large_float32_model_is_fused_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fuse: bool, least: int, dtype: DType, fused: bool
) -> None:
    monkeypatch.setattr(loading, "FUSED_FROM", least)
    folder = make_tiny_grid_model(tmp_path / "tiny")
    assert (load_model(folder, dtype=dtype, fuse=fuse).decoder.fused is not None) is fused


def test_that_little_memory_leaves_a_model_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "FUSED_FROM", 0)
    folder = make_tiny_model(tmp_path / "tiny", hidden=64, mlp=96)
    sizes = iter([1 << 40, 1])
    monkeypatch.setattr(loading, "free_on", lambda _: next(sizes))
    assert load_model(folder, dtype=DType.FLOAT32, fuse=True).decoder.fused is None
