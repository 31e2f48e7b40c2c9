"""A GGUF file must become the same weights and the same tokenizer, through the real conversion."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from core.choices import DType
from core.config import DEFAULT_MODEL
from core.errors import UserError
from core.model.config import SUPPORTED
from core.model.convert import convert_gguf
from core.model.gguf_child import ARCHITECTURES, NOT_FROM_GGUF
from core.model.loading import LoadedModel, load_model
from core.model.store import ModelStore
from core.model.tokens import load_tokenizer
from core.progress import Cancelled, quiet
from tests.tiny import CHAT_TEMPLATE, make_tiny_model

NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
"""Hugging Face's name of a layer's weight, and GGUF's."""


def write_gguf(path: Path, model: Path, *, architecture: str = "llama", layers: int = 2) -> None:
    """Store the tiny Llama in `model` as GGUF, in float32."""
    from gguf import GGUFWriter

    config = json.loads((model / "config.json").read_text())
    writer = GGUFWriter(path, architecture)
    writer.add_block_count(layers)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    _add_tokenizer(writer, model)
    weights = {name: tensor.numpy() for name, tensor in load_file(model / "model.safetensors").items()}
    writer.add_tensor("token_embd.weight", weights["model.embed_tokens.weight"])
    writer.add_tensor("output_norm.weight", weights["model.norm.weight"])
    for layer in range(layers):
        for theirs, ours in NAMES.items():
            weight = weights[f"model.layers.{layer}.{theirs}.weight"]
            heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}.get(ours)
            writer.add_tensor(f"blk.{layer}.{ours}.weight", weight if heads is None else interleave(weight, heads))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def interleave(weight: np.ndarray, heads: int) -> np.ndarray:
    """GGUF keeps Llama's rotary pairs side by side rather than in two halves."""
    halves = weight.reshape(heads, 2, weight.shape[0] // heads // 2, weight.shape[1])
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(weight.shape))


def _add_tokenizer(writer, model: Path) -> None:  # type: ignore[no-untyped-def]
    stored = json.loads((model / "tokenizer.json").read_text())
    vocabulary = stored["model"]["vocab"]
    specials = {token["content"] for token in stored["added_tokens"]}
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token in specials else 1 for token in tokens])
    writer.add_token_merges([" ".join(merge) for merge in stored["model"]["merges"]])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(CHAT_TEMPLATE)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("gguf") / "original", depth=2)


def test_that_a_gguf_file_becomes_the_same_model(original: Path, tmp_path: Path) -> None:
    write_gguf(tmp_path / "tiny.gguf", original)
    converted = ModelStore(tmp_path / "cache").resolve(str(tmp_path / "tiny.gguf"))
    before, after = load_file(original / "model.safetensors"), load_file(converted / "model.safetensors")
    assert after.keys() == before.keys()
    assert all(torch.equal(after[name], before[name]) for name in before)
    ours, theirs = load_tokenizer(converted), load_tokenizer(original)
    assert ours.encode_chat("the 🎉 sky") == theirs.encode_chat("the 🎉 sky")
    assert ours.end_ids == {2}
    assert load_model(converted, dtype=DType.FLOAT32, threads=1).info.depth == 2


def test_that_a_gguf_of_another_architecture_is_refused_by_name(original: Path, tmp_path: Path) -> None:
    write_gguf(tmp_path / "other.gguf", original, architecture="gemma")
    with pytest.raises(UserError, match="architecture gemma; specee-viewer runs llama, mistral, qwen2 and qwen3"):
        ModelStore(tmp_path / "cache").resolve(str(tmp_path / "other.gguf"))
    assert list((tmp_path / "cache" / "models").iterdir()) == []


def test_that_smollm3_from_gguf_is_refused_with_the_way_that_works(original: Path, tmp_path: Path) -> None:
    write_gguf(tmp_path / "third.gguf", original, architecture="smollm3")
    with pytest.raises(UserError, match="SmolLM3 model, which transformers cannot read from GGUF; open its folder"):
        ModelStore(tmp_path / "cache").resolve(str(tmp_path / "third.gguf"))


def test_that_every_family_is_read_from_gguf_or_named_as_one_that_cannot_be() -> None:
    from transformers.integrations.ggml import GGUF_CONFIG_MAPPING

    assert set(ARCHITECTURES) <= set(GGUF_CONFIG_MAPPING)
    assert len(ARCHITECTURES) + len(NOT_FROM_GGUF) == len(SUPPORTED)


def test_that_a_damaged_gguf_is_one_sentence_with_the_childs_words_as_details(tmp_path: Path) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + b"\xff" * 100)
    with pytest.raises(UserError, match=r"broken\.gguf cannot be read as a GGUF model") as caught:
        convert_gguf(tmp_path / "broken.gguf", tmp_path / "out", "broken", quiet, None)
    assert "Traceback" in str(caught.value.__cause__)


def test_that_a_conversion_can_be_cancelled(original: Path, tmp_path: Path) -> None:
    write_gguf(tmp_path / "tiny.gguf", original)
    cancel = threading.Event()
    with pytest.raises(Cancelled):
        ModelStore(tmp_path / "cache").resolve(
            str(tmp_path / "tiny.gguf"),
            lambda progress: cancel.set() if "Unpacking" in progress.message else None,
            cancel,
        )
    assert list((tmp_path / "cache" / "models").iterdir()) == []


@pytest.mark.model
def test_that_the_default_model_is_what_its_makers_published(default_model: LoadedModel) -> None:
    assert default_model.info.name == "SmolLM2-135M-Instruct"
    assert (default_model.info.depth, default_model.info.context) == (30, 8192)
    assert ModelStore().find(DEFAULT_MODEL) is not None
    tokenizer = default_model.tokenizer
    assert tokenizer.end_ids == {2}
    text = b"".join(map(tokenizer.token_bytes, tokenizer.encode_chat("日本 🎉")))
    assert text.decode() == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\n日本 🎉<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.model
def test_that_the_default_model_splits_numbers_into_digits_apart_from_the_space_before(
    default_model: LoadedModel,
) -> None:
    ids = default_model.tokenizer.encode("a\n\n12")
    assert [default_model.tokenizer.token_bytes(one) for one in ids] == [b"a", b"\n\n", b"1", b"2"]


@pytest.mark.model
def test_that_the_default_models_fingerprint_is_the_one_that_shipped_parts_name(default_model: LoadedModel) -> None:
    assert default_model.info.fingerprint == "d0e49bfb1589c60547cd77ccb7fa808eb2499129f8f1bb06a892505697683d3a"
