"""Tiny random models with a real byte-level tokenizer, for tests that must not download anything."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

ARCHITECTURES = {
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "smollm3": "SmolLM3ForCausalLM",
}

SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
"""Ids 0, 1 and 2; `<|im_end|>` ends an answer."""

CORPUS = ("the quick brown fox jumps over the lazy dog", "early exit of a language model", "sun sea sky blue and green")

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def make_tiny_model(
    folder: Path,
    family: str = "llama",
    *,
    depth: int = 4,
    hidden: int = 32,
    heads: int = 4,
    kv_heads: int = 2,
    mlp: int = 48,
    context: int = 256,
    tied: bool = True,
    chat_template: bool = True,
    seed: int = 0,
    dtype: str = "float32",
    **config: Any,
) -> Path:
    """Save a random model of `family` with its tokenizer into `folder`, and return `folder`.

    `config` adds or replaces keys of `config.json` (head_dim, rope_parameters, sliding_window, …). The same arguments
    give the same weights. The vocabulary has 300 tokens or so: three special ones, every byte, and a few merges.
    """
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = save_tiny_tokenizer(folder, chat_template=chat_template)
    settings: dict[str, Any] = {
        "architectures": [ARCHITECTURES[family]],
        "model_type": family,
        "num_hidden_layers": depth,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": hidden // heads,
        "intermediate_size": mlp,
        "vocab_size": vocabulary,
        "max_position_embeddings": context,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "hidden_act": "silu",
        "tie_word_embeddings": tied,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "dtype": dtype,
    }
    settings |= {"sliding_window": None} if family == "mistral" else {}
    settings |= config
    _write_json(folder / "config.json", settings)
    _write_json(folder / "generation_config.json", {"bos_token_id": 1, "eos_token_id": [2, 0]})
    _save_weights(folder, family, settings, seed)
    return folder


def save_tiny_tokenizer(folder: Path, *, chat_template: bool = True) -> int:
    """Train and save the tokenizer; returns the size of its vocabulary."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|im_start|>", "eos_token": "<|im_end|>"}
    _write_json(
        folder / "tokenizer_config.json", settings | ({"chat_template": CHAT_TEMPLATE} if chat_template else {})
    )
    return int(tokenizer.get_vocab_size())


def _save_weights(folder: Path, family: str, settings: dict[str, Any], seed: int) -> None:
    import torch
    from safetensors.torch import save_file

    generator = torch.Generator().manual_seed(seed)
    dtype = getattr(torch, settings["dtype"])
    weights = {}
    for name, shape in _shapes(family, settings).items():
        values = torch.randn(shape, generator=generator)
        if name.endswith("norm.weight"):
            weight = 1 + 0.1 * values
        elif name.endswith(".bias"):
            weight = 0.1 * values
        else:
            weight = values / math.sqrt(shape[-1])
        weights[name] = weight.to(dtype)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def _shapes(family: str, settings: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    d, size, mlp = settings["hidden_size"], settings["head_dim"], settings["intermediate_size"]
    q, kv = settings["num_attention_heads"] * size, settings["num_key_value_heads"] * size
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (settings["vocab_size"], d)}
    for layer in range(settings["num_hidden_layers"]):
        base = f"model.layers.{layer}."
        shapes |= {f"{base}{name}_layernorm.weight": (d,) for name in ("input", "post_attention")}
        for name, rows in (("q", q), ("k", kv), ("v", kv)):
            shapes[f"{base}self_attn.{name}_proj.weight"] = (rows, d)
            if family == "qwen2" or settings.get("attention_bias"):
                shapes[f"{base}self_attn.{name}_proj.bias"] = (rows,)
        shapes[f"{base}self_attn.o_proj.weight"] = (d, q)
        if settings.get("attention_bias") and family in ("llama", "qwen3"):
            shapes[f"{base}self_attn.o_proj.bias"] = (d,)
        if family == "qwen3":
            shapes |= {f"{base}self_attn.{name}_norm.weight": (size,) for name in ("q", "k")}
        shapes |= {f"{base}mlp.{name}_proj.weight": (mlp, d) for name in ("gate", "up")}
        shapes[f"{base}mlp.down_proj.weight"] = (d, mlp)
    shapes["model.norm.weight"] = (d,)
    return shapes if settings["tie_word_embeddings"] else shapes | {"lm_head.weight": (settings["vocab_size"], d)}


def _write_json(path: Path, values: dict[str, Any]) -> None:
    path.write_text(json.dumps(values, indent=2), encoding="utf-8")
