"""A drafter beside native layers computes what its weights, rounded to eight bits, compute by torch."""

from __future__ import annotations

import pytest
import torch

from core.drafting.head import DraftHead
from core.drafting.packed import PackedHead
from core.model.decoder import Decoder
from tests.grids import grid_pair

pytest.importorskip("numba")

ROUNDING = 0.02
"""The most that eight bits a weight may change, as a share of the largest value."""


@pytest.fixture(scope="module")
def decoders() -> tuple[Decoder, Decoder]:
    """The same tiny model for torch and packed."""
    return grid_pair("llama")


@pytest.mark.parametrize("taps", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
def test_that_a_packed_drafter_guesses_as_the_plain_one(
    decoders: tuple[Decoder, Decoder], taps: bool, layers: int
) -> None:
    plain, native = decoders
    state = DraftHead.random(plain, torch.Generator().manual_seed(2), taps=taps, layers=layers).state()
    heads = [DraftHead.from_state(decoder, dict(state)) for decoder in (plain, native)]
    assert heads[0].packed is None
    assert isinstance(heads[1].packed, PackedHead)
    width = plain.config.hidden * (1 + len(heads[0].taps))
    ids, states = torch.arange(11) % 7, torch.randn(11, width, generator=torch.Generator().manual_seed(3))
    outputs = []
    for head in heads:
        cache = head.new_cache(16)
        first = head.advance(ids[:8], states[:8], 0, cache)
        outputs.append(torch.cat([first, head.advance(ids[8:], states[8:], 8, cache)]))
    torch.testing.assert_close(outputs[1], outputs[0], atol=ROUNDING * float(outputs[0].abs().max()), rtol=0)
