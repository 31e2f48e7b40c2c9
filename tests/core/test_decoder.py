"""The decoder computes what transformers computes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import LlamaConfig, MistralConfig, PreTrainedModel, Qwen2Config, Qwen3Config, SmolLM3Config

from core.drafting.head import DraftHead
from core.errors import UserError
from core.model import decoder as decoder_module
from core.model.config import parse_config
from core.model.decoder import Decoder
from core.model.loading import LoadedModel
from tests.decoders import CONFIG_PATH, FAMILIES, pair
from tests.pieces import whole_sequences


@pytest.fixture(params=FAMILIES)
def models(request: pytest.FixtureRequest) -> tuple[PreTrainedModel, Decoder]:
    return pair(request.param)


def logits(decoder: Decoder, hidden: torch.Tensor) -> torch.Tensor:
    return decoder.logits(decoder.norm(hidden))


@torch.inference_mode()
def test_that_prefill_logits_equal_those_of_transformers(models: tuple[PreTrainedModel, Decoder]) -> None:
    reference, decoder = models
    ids = torch.arange(40) % 97
    ours = logits(decoder, decoder.forward(ids, 0, decoder.new_cache(40)))
    torch.testing.assert_close(ours, reference(ids[None]).logits[0], atol=1e-4, rtol=0)


@torch.inference_mode()
def test_that_cached_decoding_equals_transformers_at_every_position(models: tuple[PreTrainedModel, Decoder]) -> None:
    reference, decoder = models
    ids = (torch.arange(40) * 31) % 97
    expected = reference(ids[None]).logits[0]
    cache = decoder.new_cache(40)
    decoder.forward(ids[:11], 0, cache)
    for at in range(11, 40):
        ours = logits(decoder, decoder.forward(ids[at : at + 1], at, cache))
        torch.testing.assert_close(ours[0], expected[at], atol=1e-4, rtol=0)


@torch.inference_mode()
def test_that_prefill_in_chunks_equals_prefill_at_once(models: tuple[PreTrainedModel, Decoder]) -> None:
    _, decoder = models
    ids = (torch.arange(30) * 13) % 97
    whole = logits(decoder, decoder.forward(ids, 0, decoder.new_cache(30)))
    cache = decoder.new_cache(30)
    chunks = [logits(decoder, decoder.forward(ids[at : at + 8], at, cache)) for at in range(0, 30, 8)]
    torch.testing.assert_close(torch.cat(chunks), whole, atol=1e-4, rtol=0)


@torch.inference_mode()
def test_that_rows_with_gaps_between_them_equal_the_same_rows_run_one_by_one() -> None:
    _, decoder = pair("llama")
    ids = (torch.arange(12) * 13) % 97
    x = decoder.embed(ids)
    one_by_one, together = decoder.new_cache(12), decoder.new_cache(12)
    expected = [decoder.layer(0, x[p : p + 1], decoder.rows([p], p + 1), one_by_one) for p in range(12)]
    late = [2, 5, 6, 11]
    early = [p for p in range(12) if p not in late]
    decoder.layer(0, x[early], decoder.rows(early, 12), together)
    late_rows = decoder.layer(0, x[late], decoder.rows(late, 12), together)
    torch.testing.assert_close(late_rows, torch.cat(expected)[late], atol=1e-4, rtol=0)
    torch.testing.assert_close(together.keys[0], one_by_one.keys[0], atol=1e-4, rtol=0)


@torch.inference_mode()
def test_that_a_drafter_fed_token_by_token_predicts_what_it_predicts_for_the_whole_sequence() -> None:
    _, decoder = pair("qwen3")
    head = DraftHead.random(decoder, torch.Generator().manual_seed(3))
    ids, features = (torch.arange(9) * 5) % 97, torch.randn(9, 48, generator=torch.Generator().manual_seed(4))
    whole = whole_sequences(head, decoder.embed(ids)[None], features[None])[0]
    cache = head.new_cache(9)
    steps = [head.advance(ids[i : i + 1], features[i : i + 1], i, cache) for i in range(9)]
    torch.testing.assert_close(torch.cat(steps), whole, atol=1e-4, rtol=0)


def test_that_a_missing_weight_is_named() -> None:
    reference, decoder = pair("llama")
    weights = dict(reference.state_dict())
    del weights["model.layers.2.mlp.up_proj.weight"]
    with pytest.raises(UserError, match=r"lacks the weight model\.layers\.2\.mlp\.up_proj\.weight"):
        Decoder(decoder.config, weights, torch.float32, torch.device("cpu"))


def test_that_a_weight_of_another_shape_is_named_with_both_shapes() -> None:
    reference, decoder = pair("llama")
    weights = dict(reference.state_dict()) | {"model.norm.weight": torch.ones(3)}
    with pytest.raises(UserError, match=r"model\.norm\.weight has shape \[3\] where its config\.json says \[48\]"):
        Decoder(decoder.config, weights, torch.float32, torch.device("cpu"))


@pytest.mark.parametrize("kind", [LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config, SmolLM3Config])
def test_that_a_config_is_filled_in_where_it_is_silent_as_transformers_does(kind: type[Any]) -> None:
    told = {
        "hidden_size": 96,
        "num_attention_heads": 32,
        "num_hidden_layers": 4,
        "intermediate_size": 80,
        "vocab_size": 97,
        "max_position_embeddings": 512,
        "rms_norm_eps": 1e-5,
        "use_sliding_window": True,
        "max_window_layers": 2,
        **({"pad_token_id": None} if kind is SmolLM3Config else {}),
    }
    theirs = kind(**told)
    ours = parse_config({**told, "architectures": [kind.__name__.replace("Config", "ForCausalLM")]}, CONFIG_PATH)
    assert ours.tied == theirs.tie_word_embeddings
    assert ours.kv_heads == theirs.num_key_value_heads
    assert ours.head_dim == (getattr(theirs, "head_dim", None) or 96 // 32)
    assert ours.rope_theta == theirs.rope_parameters["rope_theta"]
    window = getattr(theirs, "sliding_window", None)
    kinds = getattr(theirs, "layer_types", None) or ["sliding_attention"] * 4
    assert ours.windows == tuple(window if one == "sliding_attention" else None for one in kinds)


def test_that_an_unsupported_architecture_is_refused_by_name() -> None:
    with pytest.raises(UserError, match=r"is a GPT2LMHeadModel; specee-viewer runs LlamaForCausalLM, "):
        parse_config({"architectures": ["GPT2LMHeadModel"]}, CONFIG_PATH)


def test_that_many_rows_at_once_have_the_logits_of_each(tiny: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder_module, "COLUMNS", 64)
    normed = torch.randn(12, tiny.config.hidden, generator=torch.Generator().manual_seed(0))
    assert len(normed) >= decoder_module.MANY_ROWS
    each = torch.cat([tiny.decoder.logits(row[None]) for row in normed])
    torch.testing.assert_close(tiny.decoder.logits(normed), each, atol=1e-5, rtol=0)
