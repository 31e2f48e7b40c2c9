"""Models whose weights lie on the grids of a 4-bit GGUF, for tests of the format `native`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from core.model.config import parse_config
from core.model.decoder import Decoder
from core.model.native import make_native
from core.model.native_grid import Grid
from tests.decoders import CONFIG_PATH, FAMILIES, SMALL
from tests.tiny import make_tiny_model

SIZES: dict[str, Any] = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "head_dim": 16}
"""Every product's inputs come in whole blocks of 32; the K/V rows do not fill a whole tile."""


def q4_1(weights: Tensor) -> Tensor:
    """The nearest weights that a GGUF's Q4_1 can hold, made as llama.cpp makes them."""
    w = weights.float().reshape(len(weights), -1, 32)
    low, high = w.amin(-1), w.amax(-1)
    d = (high - low) / 15
    q = ((w - low[..., None]) / d[..., None].clamp_min(1e-30)).round().clamp(0, 15).to(torch.int8)
    return Grid(q, d.half(), low.half()).weights()


def q8_0(weights: Tensor) -> Tensor:
    """The nearest weights that a GGUF's Q8_0 can hold."""
    w = weights.float().reshape(len(weights), -1, 32)
    d = w.abs().amax(-1) / 127
    q = (w / d[..., None].clamp_min(1e-30)).round().clamp(-127, 127).to(torch.int8)
    return Grid(q, d.half(), None).weights()


def snapped(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A model's weights with every product on a grid: four bits in the layers, eight in embedding and head."""
    kinds = {"proj.weight": q4_1, "embed_tokens.weight": q8_0, "lm_head.weight": q8_0}
    found = dict(weights)
    for name, weight in weights.items():
        for ending, snap in kinds.items():
            if name.endswith(ending):
                found[name] = snap(weight)
    return found


def grid_pair(family: str) -> tuple[Decoder, Decoder]:
    """One random model on a grid: in float32, and native."""
    model_class, config_class, extra = FAMILIES[family]
    torch.manual_seed(7)
    model = model_class(config_class(**{**SMALL, **SIZES, **extra}))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(("bias", "norm.weight", "layernorm.weight")):
                weight.add_(torch.randn_like(weight) * 0.2)
    raw = {**model.config.to_dict(), "architectures": [model_class.__name__]}
    config, weights = parse_config(raw, CONFIG_PATH), snapped(model.state_dict())
    plain, native = (Decoder(config, weights, torch.float32, torch.device("cpu")) for _ in range(2))
    make_native(native)
    return plain, native


def make_tiny_grid_model(folder: Path, **config: Any) -> Path:
    """As `make_tiny_model`, its weights on a grid."""
    make_tiny_model(folder, hidden=64, heads=4, kv_heads=2, mlp=96, **config)
    path = folder / "model.safetensors"
    save_file(snapped(load_file(path)), path, metadata={"format": "pt"})
    return folder
