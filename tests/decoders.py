"""Random transformers models of every supported family, and our decoder over the same weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    SmolLM3Config,
    SmolLM3ForCausalLM,
)

from core.model.config import parse_config
from core.model.decoder import Decoder

CONFIG_PATH = Path("tiny/config.json")
SMALL: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 4,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "initializer_range": 0.3,
}
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 1e4,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
YARN_ROPE = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 8.0, "original_max_position_embeddings": 64}
_SMOLLM3 = {"pad_token_id": None, "bos_token_id": None, "eos_token_id": None}
FAMILIES: dict[str, tuple[type[Any], type[Any], dict[str, Any]]] = {
    "llama": (LlamaForCausalLM, LlamaConfig, {}),
    "llama, tied head": (LlamaForCausalLM, LlamaConfig, {"tie_word_embeddings": True}),
    "llama, attention bias": (LlamaForCausalLM, LlamaConfig, {"attention_bias": True}),
    "llama, llama3 RoPE": (LlamaForCausalLM, LlamaConfig, {"rope_parameters": LLAMA3_ROPE}),
    "llama, linear RoPE": (
        LlamaForCausalLM,
        LlamaConfig,
        {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0}},
    ),
    "llama, dynamic RoPE": (
        LlamaForCausalLM,
        LlamaConfig,
        {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0}},
    ),
    "qwen2, yarn RoPE": (Qwen2ForCausalLM, Qwen2Config, {"rope_parameters": YARN_ROPE}),
    "mistral, sliding window": (MistralForCausalLM, MistralConfig, {"sliding_window": 7}),
    "mistral, no window": (MistralForCausalLM, MistralConfig, {"sliding_window": None}),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config, {}),
    "qwen2, windows on upper layers": (
        Qwen2ForCausalLM,
        Qwen2Config,
        {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 2},
    ),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config, {"head_dim": 16}),
    "qwen3, attention bias": (Qwen3ForCausalLM, Qwen3Config, {"head_dim": 16, "attention_bias": True}),
    "smollm3": (SmolLM3ForCausalLM, SmolLM3Config, _SMOLLM3),
    "smollm3, windows on the layers without RoPE": (
        SmolLM3ForCausalLM,
        SmolLM3Config,
        {**_SMOLLM3, "no_rope_layers": [1, 0, 1, 0], "use_sliding_window": True, "sliding_window": 5},
    ),
}


def pair(family: str) -> tuple[PreTrainedModel, Decoder]:
    """A random transformers model and our decoder over its weights."""
    model_class, config_class, extra = FAMILIES[family]
    torch.manual_seed(7)
    reference = model_class(config_class(**SMALL, **extra)).eval()
    with torch.no_grad():
        for name, weight in reference.named_parameters():
            if name.endswith(("bias", "norm.weight", "layernorm.weight")):
                weight.add_(torch.randn_like(weight) * 0.2)
    raw = {**reference.config.to_dict(), "architectures": [model_class.__name__]}
    config = parse_config(raw, CONFIG_PATH)
    return reference, Decoder(config, reference.state_dict(), torch.float32, torch.device("cpu"))
