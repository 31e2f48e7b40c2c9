"""A model over several devices: every tensor of a layer on the layer's device, the hidden state moved at the borders.

No machine with several devices is needed: torch's fake tensors carry the name of a device that is not there, and
refuse to compute with tensors of two devices. The name is "lazy": a build of torch for the CPU lets none of the
others be indexed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from core.choices import KVPolicy
from core.context import Context
from core.drafting.chain import ChainDrafter
from core.drafting.head import DraftHead
from core.errors import UserError
from core.model.decoder import Decoder
from core.model.placement import PieceBytes, Placement, on_one, piece_bytes, plan
from core.model.weights import StoredTensor
from tests.decoders import CONFIG_PATH, SMALL, pair

CPU, FIRST, SECOND = torch.device("cpu"), torch.device("lazy:0"), torch.device("lazy:1")
CUDA = [torch.device("cuda:0"), torch.device("cuda:1")]
SPREAD = Placement(FIRST, (FIRST, FIRST, SECOND, CPU), CPU)
DEPTH = SMALL["num_hidden_layers"]
HIDDEN = SMALL["hidden_size"]


class Watched(FakeTensorMode):
    """Fake tensors, with a note of every copy of hidden states to another device, as (from, to)."""

    def __init__(self) -> None:
        super().__init__()
        self.crossings: list[tuple[str, str]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for tensor in args:
            if isinstance(tensor, FakeTensor):
                tensor.constant = None  # else one-element tensors are also computed for real, on no real device
        result = super().__torch_dispatch__(func, types, args, kwargs)
        if func is torch.ops.aten._to_copy.default and args[0].shape[-1] == HIDDEN and args[0].is_floating_point():
            self.crossings.append((str(args[0].device), str(result.device)))
        return result


@pytest.fixture
def fake() -> Iterator[Watched]:
    with Watched() as watched, torch.inference_mode():
        yield watched


def spread_decoder(family: str = "llama", place: Placement = SPREAD) -> Decoder:
    """A decoder whose weights have no values, only shapes and devices; call it under a fake mode."""
    with torch.device("cpu"):
        reference, plain = pair(family)
    return Decoder(plain.config, reference.state_dict(), torch.float32, place)


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("family", ["llama", "llama, tied head", "qwen3", "smollm3"])
def test_that_every_tensor_of_a_layer_is_on_the_layers_device(family: str) -> None:
    decoder = spread_decoder(family)
    for layer, place in zip(decoder.layers, SPREAD.layers, strict=True):
        tensors = [value for name in layer.__slots__ if isinstance(value := getattr(layer, name), torch.Tensor)]
        assert len(tensors) >= 6
        assert {tensor.device for tensor in tensors} == {place}
    assert decoder.embedding.device == FIRST
    assert decoder.head_weight.device == decoder.final_norm.device == CPU


def test_that_a_pass_crosses_each_border_once_and_nowhere_else(fake: Watched) -> None:
    decoder = spread_decoder()
    cache = decoder.new_cache(12)
    fake.crossings.clear()
    x = decoder.forward(torch.arange(7, device=FIRST), 0, cache)
    logits = decoder.logits(decoder.norm(x))
    assert fake.crossings == [("lazy:0", "lazy:1"), ("lazy:1", "cpu")]
    assert logits.device == CPU


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("policy", KVPolicy)
@pytest.mark.parametrize("family", ["llama", "mistral, sliding window"])
def test_that_exits_and_what_they_leave_missing_never_mix_devices(family: str, policy: KVPolicy) -> None:
    decoder = spread_decoder(family)
    context = Context(decoder, 40, policy)
    context.length = 9
    x, rows = decoder.embed(torch.arange(9, device=FIRST)), decoder.rows(range(9), 9)
    for layer in range(DEPTH):
        x = context.prefill_layer(layer, x, rows)
    for layers_run in (1, 3, 2, 2, 4, 1, 3):
        context.begin(5)
        hidden = [context.run(layer) for layer in range(layers_run)]
        assert {decoder.norm(state).device for state in hidden} == {CPU}
        assert {state.device for state in context.finish(layers_run)} <= {CPU}
        context.end(layers_run)
    context.flush()


@pytest.mark.usefixtures("fake")
def test_that_the_drafter_lives_where_the_head_is() -> None:
    decoder = spread_decoder()
    head = DraftHead.from_state(decoder, DraftHead.random(decoder, torch.Generator()).state())
    drafter = ChainDrafter(head, 20)
    ids = torch.arange(6, device=FIRST)
    drafter.feed(ids, torch.zeros(6, HIDDEN))
    draft = drafter.propose(ids[:1], torch.zeros(HIDDEN), 4)
    assert {tensor.device for tensor in head.state().values()} == {draft.ids.device} == {CPU}


@torch.inference_mode()
def test_that_borders_change_no_number() -> None:
    reference, plain = pair("mistral, sliding window")
    other = torch.device("cpu:0")  # unlike "cpu" to the placement, the same to torch
    place = Placement(CPU, (CPU, other, other, CPU), other)
    spread = Decoder(plain.config, reference.state_dict(), torch.float32, place)
    ids = torch.arange(30) % 97
    caches = [decoder.new_cache(40) for decoder in (plain, spread)]
    for first, end in ((0, 20), (20, 21), (21, 30)):
        one, other_one = (
            decoder.logits(decoder.norm(decoder.forward(ids[first:end], first, cache)))
            for decoder, cache in zip((plain, spread), caches, strict=True)
        )
        assert torch.equal(one, other_one)
    assert torch.equal(caches[0].keys, caches[1].keys)


@pytest.mark.parametrize(
    ("memory", "place"),
    [
        ({0: 10**9}, on_one(CUDA[0], DEPTH)),
        ({"mps": 10**9}, on_one(torch.device("mps"), DEPTH)),
        ({"cpu": 10**9}, on_one(CPU, DEPTH)),
        ({0: 10**5, "cpu": 10**9}, on_one(CPU, DEPTH)),
        ({0: 1_700_000, 1: 2_000_000}, Placement(CUDA[0], (*CUDA[:1] * 2, *CUDA[1:] * 2), CUDA[1])),
    ],
)
def test_that_the_plan_fills_the_devices_in_turn(memory: dict[int | str, int], place: Placement) -> None:
    config = pair("llama")[1].config
    assert plan(PieceBytes(200_000, (300_000,) * DEPTH, 200_000), config, 4, memory) == place


def test_that_a_model_too_large_for_all_devices_is_told_with_what_is_free() -> None:
    config = pair("llama")[1].config
    gib = 2**30
    sizes = PieceBytes(gib, (gib,) * DEPTH, gib)
    with pytest.raises(UserError, match=r"needs 7\.0 GiB and 2\.0 GiB on cuda:0, 1\.0 GiB on cpu are free; choose"):
        plan(sizes, config, 4, {0: 2 * gib, "cpu": gib})


def test_that_pieces_are_counted_in_the_number_format_to_come() -> None:
    config = pair("llama, tied head")[1].config

    def stored(dtype: str, *shape: int, length: int = 0) -> StoredTensor:
        return StoredTensor(CONFIG_PATH, dtype, shape, 0, length)

    sizes = piece_bytes(
        {
            "model.embed_tokens.weight": stored("BF16", 97, 48),
            "model.layers.2.mlp.down_proj.weight": stored("F32", 48, 80),
            "model.layers.2.mlp.up_proj.qweight": stored("I32", 6, 80, length=1920),
            "model.norm.weight": stored("F32", 48),
            "lm_head.weight": stored("F32", 97, 48),
        },
        config,
        2,
    )
    assert sizes == PieceBytes(97 * 48 * 2, (0, 0, 48 * 80 * 2 + 1920, 0), 48 * 2)
    assert sizes.total == 97 * 48 * 2 + 48 * 80 * 2 + 1920 + 96
