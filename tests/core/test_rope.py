"""Positions turn as transformers turns them, over the whole context, or the model is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from core.errors import UserError
from core.model.config import ModelConfig, parse_config
from core.model.rope import RopeTable, rope_frequencies
from tests.decoders import CONFIG_PATH, FAMILIES, SMALL, pair

CPU = torch.device("cpu")
PLAIN: dict[str, Any] = {**SMALL, "architectures": ["LlamaForCausalLM"], "rms_norm_eps": 1e-5, "rope_theta": 1e4}


def config(**changes: Any) -> ModelConfig:
    return parse_config({**PLAIN, **changes}, CONFIG_PATH)


@torch.inference_mode()
@pytest.mark.parametrize("family", [name for name in FAMILIES if "RoPE" in name or name in ("llama", "smollm3")])
def test_that_the_table_equals_transformers_over_the_whole_context(family: str) -> None:
    reference, decoder = pair(family)
    length = decoder.config.context
    rows = decoder.rows(range(length), length)
    cos, sin = reference.model.rotary_emb(torch.zeros(1), torch.arange(length)[None])
    half = decoder.config.head_dim // 2
    signs = torch.cat([-torch.ones(half), torch.ones(half)])
    torch.testing.assert_close(rows.cos[:, 0], cos[0], atol=1e-6, rtol=0)
    torch.testing.assert_close(rows.sin[:, 0], sin[0] * signs, atol=1e-6, rtol=0)


def test_that_rows_with_gaps_turn_like_the_same_positions_among_all() -> None:
    table = RopeTable(config(), torch.float32, CPU)
    every, some = table.rows(range(400), 400), table.rows([3, 299, 301], 400)
    assert torch.equal(some.cos, every.cos[[3, 299, 301]])
    assert torch.equal(some.sin, every.sin[[3, 299, 301]])


@pytest.mark.parametrize("key", ["rope_type", "type"])
def test_that_older_configs_with_rope_scaling_mean_the_same(key: str) -> None:
    scaling = {"rope_type": "linear", "factor": 4.0, "rope_theta": 1e4}
    old = config(rope_scaling={key: "linear", "factor": 4.0})
    new = config(rope_parameters=scaling)
    assert torch.equal(rope_frequencies(old)[0], rope_frequencies(new)[0])


def test_that_a_scaling_that_changes_with_the_texts_length_is_refused() -> None:
    scaling = {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4}
    with pytest.raises(UserError, match=r"'longrope', which gives old tokens other positions .* a cache of keys"):
        rope_frequencies(config(rope_parameters=scaling))


def test_that_an_unknown_scaling_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"'spiral', which is unknown here; known are default, dynamic, linear"):
        rope_frequencies(config(rope_parameters={"rope_type": "spiral"}))


@pytest.mark.parametrize("scaling", [{"rope_type": "linear"}, {"rope_type": "yarn", "factor": "four"}])
def test_that_a_garbled_scaling_is_one_sentence(scaling: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"position scaling lacks or garbles a setting"):
        rope_frequencies(config(rope_parameters=scaling))


def test_that_positions_in_part_of_each_head_are_refused() -> None:
    with pytest.raises(UserError, match=r"positions in part of each head"):
        config(partial_rotary_factor=0.5)


@pytest.mark.parametrize(
    ("changes", "rotary"),
    [
        ({}, (True, True, True, False)),
        ({"no_rope_layer_interval": 2}, (True, False, True, False)),
        ({"no_rope_layers": [0, 1, 1, 1, 1]}, (False, True, True, True)),
    ],
)
def test_that_a_one_in_no_rope_layers_means_that_the_layer_rotates(
    changes: dict[str, Any], rotary: tuple[bool, ...]
) -> None:
    assert config(architectures=["SmolLM3ForCausalLM"], **changes).rotary == rotary


@pytest.mark.parametrize("changes", [{"no_rope_layers": [1]}, {"no_rope_layer_interval": 0}])
def test_that_a_garbled_choice_of_rotating_layers_is_one_sentence(changes: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"lacks or garbles a setting"):
        config(architectures=["SmolLM3ForCausalLM"], **changes)


def test_that_a_config_with_too_few_layer_types_is_one_sentence() -> None:
    with pytest.raises(UserError, match=r"layer_types for 1 of 4 layers"):
        config(
            architectures=["Qwen2ForCausalLM"],
            use_sliding_window=True,
            sliding_window=4,
            layer_types=["sliding_attention"],
        )
