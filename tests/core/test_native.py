"""The format `native` computes what the float32 model computes, from a sixth of the bytes."""

from __future__ import annotations

import hashlib
import importlib
import sys
import threading
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.choices import DType, KVPolicy, Policy, Record
from core.engine import Engine
from core.errors import UserError
from core.model.decoder import Decoder
from core.model.loading import LoadedModel, load_model
from core.model.native import make_native
from core.model.native_grid import Grid, eight_bit_grid, four_bit_grid
from core.progress import Cancelled, Progress
from tests.core.test_context import DEPTH, FED, feed, full_depth, prefilled
from tests.decoders import FAMILIES
from tests.engines import ids, parts_that_always_propose, run
from tests.grids import grid_pair, make_tiny_grid_model, q4_1, q8_0
from tests.tiny import make_tiny_model

pytest.importorskip("numba")

ROUNDING = 2e-5
"""The most that another order of additions may change, as a share of the largest value; bfloat16 rounds by 4e-3."""


def assert_same(ours: torch.Tensor, expected: torch.Tensor, rounding: float = ROUNDING) -> None:
    torch.testing.assert_close(ours, expected, atol=rounding * float(expected.abs().max()), rtol=0)


@pytest.fixture(scope="module", params=FAMILIES)
def decoders(request: pytest.FixtureRequest) -> tuple[Decoder, Decoder]:
    return grid_pair(request.param)


@pytest.fixture(scope="module", params=["llama", "mistral, sliding window", "qwen3"])
def native(request: pytest.FixtureRequest) -> Decoder:
    return grid_pair(request.param)[1]


@pytest.fixture(scope="module")
def grid_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_grid_model(tmp_path_factory.mktemp("grid"), depth=6)


@pytest.fixture(scope="module")
def models(grid_folder: Path) -> tuple[LoadedModel, LoadedModel]:
    """The same tiny model in float32 and native."""
    return load_model(grid_folder, dtype=DType.FLOAT32), load_model(grid_folder, dtype=DType.NATIVE)


def logits(decoder: Decoder, hidden: torch.Tensor) -> torch.Tensor:
    return decoder.logits(decoder.norm(hidden))


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_that_a_grid_of_q4_1_is_found_again_exactly(offset: float) -> None:
    weights = q4_1(normal(70, 96) + offset)
    weights[3, :32] = 0.0
    weights[4, 32:64] = -2.5
    grid = four_bit_grid(weights)
    assert grid is not None
    assert torch.equal(grid.weights(), weights)
    assert (grid.q.min(), grid.q.max()) == (0, 15)


def test_that_a_grid_of_q4_0_is_found_again_where_blocks_lack_one_end() -> None:
    q = torch.randint(0, 12, (40, 2, 32), generator=torch.Generator().manual_seed(1), dtype=torch.int8)
    q[..., 7] = 0
    d = (normal(40, 2) * 0.1).half()
    weights = Grid(q, d, (-8 * d.float()).half()).weights()
    grid = four_bit_grid(weights)
    assert grid is not None
    assert torch.equal(grid.weights(), weights)


def test_that_a_grid_of_q8_0_is_found_again_exactly() -> None:
    weights = q8_0(normal(33, 64))
    weights[0] = 0.0
    grid = eight_bit_grid(weights)
    assert grid is not None
    assert torch.equal(grid.weights(), weights)


@pytest.mark.parametrize("find", [four_bit_grid, eight_bit_grid])
def test_that_weights_beside_a_grid_have_none(find) -> None:  # type: ignore[no-untyped-def]
    assert find(normal(32, 64)) is None
    assert find(q4_1(normal(32, 64))[:, :48]) is None
    one_off = q4_1(normal(32, 64)) if find is four_bit_grid else q8_0(normal(32, 64))
    one_off[5, 9] += 1e-4
    assert find(one_off) is None


def test_that_a_model_on_no_grid_is_refused_in_a_sentence(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "tiny", hidden=64, mlp=96)
    with pytest.raises(UserError, match=r"are on no 4-bit grid .* choose float32 or bfloat16"):
        load_model(folder, dtype=DType.NATIVE)


def test_that_without_numba_the_sentence_says_what_to_install(
    grid_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "core.model.native_kernels", None)
    with pytest.raises(UserError, match=r"pip install 'specee-viewer\[native\]'"):
        load_model(grid_folder, dtype=DType.NATIVE)


def test_that_packing_can_be_cancelled(grid_folder: Path) -> None:
    cancel = threading.Event()

    def report(progress: Progress) -> None:
        if progress.unit == "layers":
            cancel.set()

    with pytest.raises(Cancelled):
        load_model(grid_folder, dtype=DType.NATIVE, report=report, cancel=cancel)


def test_that_a_change_of_what_the_kernels_import_reaches_the_cache_of_compiled_code() -> None:
    kernels, *others = (
        Path(importlib.import_module(f"core.model.native_{name}").__file__ or "")
        for name in ("kernels", "vectors", "tiles", "products", "mixing", "attention")
    )
    mark = hashlib.sha256(b"".join(other.read_bytes() for other in others)).hexdigest()[:16]
    assert f'TILES = "{mark}"' in kernels.read_text(), f"set TILES in {kernels.name} to {mark}"


@torch.inference_mode()
def test_that_logits_equal_the_float32_models_in_every_family(decoders: tuple[Decoder, Decoder]) -> None:
    plain, native = decoders
    tokens = (torch.arange(40) * 31) % 97
    expected = logits(plain, plain.forward(tokens, 0, plain.new_cache(40)))
    assert_same(logits(native, native.forward(tokens, 0, native.new_cache(40))), expected)


@torch.inference_mode()
def test_that_rows_run_one_by_one_equal_rows_run_together(decoders: tuple[Decoder, Decoder]) -> None:
    _, native = decoders
    tokens = (torch.arange(40) * 31) % 97
    together, apart = native.new_cache(40), native.new_cache(40)
    expected = native.forward(tokens, 0, together)
    sizes, found = [11, 1, 1, 2, 3, 1, 4, 5, 6, 5, 1], []
    for size in sizes:
        first = sum(len(part) for part in found)
        found.append(native.forward(tokens[first : first + size], first, apart))
    assert_same(torch.cat(found), expected)
    assert_same(apart.keys, together.keys)
    assert apart.present.all()


@torch.inference_mode()
def test_that_one_thread_computes_what_several_do(native: Decoder) -> None:
    tokens, threads = torch.arange(9), torch.get_num_threads()
    found = []
    try:
        for number in (1, 2, 3):
            torch.set_num_threads(number)
            found.append(logits(native, native.forward(tokens, 0, native.new_cache(9))))
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


@torch.inference_mode()
def test_that_a_hidden_state_that_is_no_number_stays_one(native: Decoder) -> None:
    x = torch.full((1, 64), float("nan"))
    y = native.layer(0, x, native.rows([0], 1), native.new_cache(1))
    assert y.isnan().all()
    assert logits(native, y).isnan().all()


@torch.inference_mode()
def test_that_a_head_on_no_grid_stays_float32() -> None:
    plain, _ = grid_pair("llama")
    plain.head = plain.head_weight = normal(97, 64)
    make_native(plain)
    assert plain.head is plain.head_weight


@torch.inference_mode()
@settings(max_examples=10, deadline=None)
@given(exits=st.lists(st.integers(1, DEPTH), min_size=len(FED), max_size=len(FED)))
def test_that_recompute_leaves_every_entry_as_a_full_depth_pass_would(native: Decoder, exits: list[int]) -> None:
    expected, hidden = full_depth(native)
    context = prefilled(native, KVPolicy.RECOMPUTE)
    for token, left_with in enumerate(feed(context, exits)):
        assert_same(left_with, hidden[token][exits[token] - 1])
    context.flush()
    assert_same(context.cache.keys, expected.cache.keys)
    assert_same(context.cache.values, expected.cache.values)
    assert context.cache.present.all()


@torch.inference_mode()
@pytest.mark.parametrize("policy", KVPolicy)
@pytest.mark.parametrize("family", ["llama", "mistral, sliding window", "qwen3"])
def test_that_every_kv_policy_leaves_what_it_leaves_in_float32(family: str, policy: KVPolicy) -> None:
    contexts = [prefilled(decoder, policy) for decoder in grid_pair(family)]
    exits = [2, DEPTH, 1, 3, DEPTH, DEPTH, 2, 1, 3, DEPTH]
    expected, found = (feed(context, exits) for context in contexts)
    for ours, theirs in zip(found, expected, strict=True):
        assert_same(ours, theirs)
    plain, native = (context.cache for context in contexts)
    assert torch.equal(native.present, plain.present)
    there = plain.present[:, None, :, None]
    assert_same(native.keys * there, plain.keys * there)
    assert_same(native.values * there, plain.values * there)
    assert bool(plain.present.all()) is (policy is not KVPolicy.HOLE)


@pytest.mark.parametrize("policy", [Policy.DENSE, Policy.SPECEE_T1, Policy.CALM, Policy.ORACLE])
def test_that_every_policy_emits_what_it_emits_in_float32(
    models: tuple[LoadedModel, LoadedModel], policy: Policy
) -> None:
    plain, native = (
        run(Engine(model, parts_that_always_propose(model)), policy=policy, max_new_tokens=40) for model in models
    )
    assert ids(native) == ids(plain)
    assert list(native.exit_layers) == list(plain.exit_layers)


@pytest.mark.parametrize("policy", KVPolicy)
def test_that_audit_changes_no_token(models: tuple[LoadedModel, LoadedModel], policy: KVPolicy) -> None:
    engine = Engine(models[1], parts_that_always_propose(models[1]))
    live, audit = (run(engine, kv_policy=policy, record=record) for record in (Record.LIVE, Record.AUDIT))
    assert ids(audit) == ids(live)
    assert list(audit.exit_layers) == list(live.exit_layers)


@pytest.mark.model
def test_that_the_default_models_logits_are_those_of_its_dequantised_weights(
    default_model: LoadedModel, default_model_folder: Path
) -> None:
    native = load_model(default_model_folder, dtype=DType.NATIVE)
    assert native.decoder.head is not native.decoder.head_weight, "the embedding is Q8_0"
    tokens = torch.tensor(default_model.tokenizer.encode_chat("Why is the sky blue?"))
    with torch.inference_mode():
        expected, ours = (
            logits(model.decoder, model.decoder.forward(tokens, 0, model.decoder.new_cache(len(tokens))))
            for model in (default_model, native)
        )
    assert_same(ours, expected)
    assert torch.equal(ours.argmax(-1), expected.argmax(-1))
    plain, fast = (
        run(Engine(m), "Name a fruit.", policy=Policy.DENSE, max_new_tokens=8) for m in (default_model, native)
    )
    assert ids(fast) == ids(plain)
