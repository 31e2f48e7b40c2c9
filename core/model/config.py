"""A model's shape, read from its `config.json`; torch-free."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import UserError

SUPPORTED = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM", "SmolLM3ForCausalLM")
"""Architectures that `core.model.decoder` runs; SmolLM and SmolLM2 are Llama."""

SILENT: dict[str, dict[str, Any]] = {
    "LlamaForCausalLM": {},
    "MistralForCausalLM": {"num_key_value_heads": 8, "sliding_window": 4096},
    "Qwen2ForCausalLM": {"num_key_value_heads": 32, "sliding_window": 4096},
    "Qwen3ForCausalLM": {"num_key_value_heads": 32, "sliding_window": 4096, "head_dim": 128},
    "SmolLM3ForCausalLM": {"num_key_value_heads": 4, "tie_word_embeddings": True, "rope_theta": 2e6},
}
"""What transformers takes where a config is silent, and may therefore leave out when it writes one."""

DEFAULT_FULL_LAYERS = 28
"""Qwen's `max_window_layers` where the config is silent: the lower layers that see everything."""

DEFAULT_ROPE = {"rope_type": "default"}


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """What the decoder must know of a Llama-like model."""

    architecture: str
    depth: int
    """L, the number of decoder layers."""
    hidden: int
    """d."""
    heads: int
    kv_heads: int
    head_dim: int
    mlp: int
    vocabulary: int
    """V."""
    context: int
    """The most positions that the model was made for."""
    norm_eps: float
    rope_theta: float
    rope_parameters: dict[str, Any]
    """`{"rope_type": "default"}`, or the scaling as transformers writes it."""
    tied: bool
    """Whether the LM head is the embedding."""
    attention_bias: bool
    qk_norm: bool
    windows: tuple[int | None, ...]
    """How far back each layer attends; None is everything. Length L."""
    rotary: tuple[bool, ...]
    """Whether each layer applies RoPE; SmolLM3 leaves it out of every fourth. Length L."""

    @property
    def group(self) -> int:
        """Query heads that share one K/V head."""
        return self.heads // self.kv_heads


def read_config(folder: Path) -> ModelConfig:
    """The shape of the model in `folder`.

    Raises:
        UserError: there is no readable `config.json`, or it names an architecture that we do not run.
    """
    path = folder / "config.json"
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{folder} has no config.json; choose the folder that a model was saved to.") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error}); download the model again.") from error
    return parse_config(raw, path)


def parse_config(raw: Any, path: Path) -> ModelConfig:
    """The shape that a parsed `config.json` describes; `path` is for the error's text.

    Raises:
        UserError: as `read_config`.
    """
    if not isinstance(raw, dict):
        raise UserError(f"{path} does not hold a model's settings; download the model again.")
    architecture = _architecture(raw, path)
    try:
        return _build({**SILENT[architecture], **raw}, architecture)
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise UserError(f"{path} lacks or garbles a setting ({error}); download the model again.") from error


def _architecture(raw: dict[str, Any], path: Path) -> str:
    names = raw.get("architectures") or []
    name = names[0] if isinstance(names, list) and names else None
    if name not in SUPPORTED:
        raise UserError(
            f"{path.parent.name} is a {name or 'model of no named architecture'}; "
            f"specee-viewer runs {', '.join(SUPPORTED[:-1])} and {SUPPORTED[-1]}."
        )
    return str(name)


def _build(raw: dict[str, Any], architecture: str) -> ModelConfig:
    heads, hidden, depth = int(raw["num_attention_heads"]), int(raw["hidden_size"]), int(raw["num_hidden_layers"])
    kv_heads = int(raw.get("num_key_value_heads") or heads)
    if min(heads, hidden, depth, kv_heads) < 1 or heads % kv_heads:
        raise ValueError("sizes that do not fit together")
    rope = dict(raw.get("rope_parameters") or raw.get("rope_scaling") or DEFAULT_ROPE)
    rope.setdefault("rope_type", rope.pop("type", "default"))
    _refuse_what_no_model_has(raw, rope)
    theta = rope.get("rope_theta") or raw.get("rope_theta") or 10000.0
    rotary = _rotary(raw, architecture, depth)
    return ModelConfig(
        architecture=architecture,
        depth=depth,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=int(raw.get("head_dim") or hidden // heads),
        mlp=int(raw["intermediate_size"]),
        vocabulary=int(raw["vocab_size"]),
        context=int(raw["max_position_embeddings"]),
        norm_eps=float(raw["rms_norm_eps"]),
        rope_theta=float(theta),
        rope_parameters=rope,
        tied=bool(raw.get("tie_word_embeddings", False)),
        attention_bias=architecture == "Qwen2ForCausalLM" or bool(raw.get("attention_bias", False)),
        qk_norm=architecture == "Qwen3ForCausalLM",
        windows=_windows(raw, architecture, depth, rotary),
        rotary=rotary,
    )


def _refuse_what_no_model_has(raw: dict[str, Any], rope: dict[str, Any]) -> None:
    """What the decoder does not compute, since no supported model asks for it."""
    activation = raw.get("hidden_act", "silu")
    if activation != "silu":
        raise ValueError(f"activation {activation!r}")
    if raw.get("mlp_bias"):
        raise ValueError("MLP biases, which no supported model has")
    if float(rope.get("partial_rotary_factor") or raw.get("partial_rotary_factor") or 1.0) != 1.0:
        raise ValueError("positions in part of each head, which no supported model has")


def _rotary(raw: dict[str, Any], architecture: str, depth: int) -> tuple[bool, ...]:
    """SmolLM3's `no_rope_layers` has a 1 where a layer does rotate, whatever its name says."""
    if architecture != "SmolLM3ForCausalLM":
        return (True,) * depth
    listed = raw.get("no_rope_layers")
    if listed is None:
        interval = int(raw.get("no_rope_layer_interval", 4))
        return tuple((layer + 1) % interval != 0 for layer in range(depth))
    if len(listed) < depth:
        raise ValueError(f"no_rope_layers for {len(listed)} of {depth} layers")
    return tuple(bool(one) for one in listed[:depth])


def _windows(raw: dict[str, Any], architecture: str, depth: int, rotary: tuple[bool, ...]) -> tuple[int | None, ...]:
    window = raw.get("sliding_window")
    if window is None or architecture == "LlamaForCausalLM":
        return (None,) * depth
    if architecture == "MistralForCausalLM":
        return (int(window),) * depth
    if not raw.get("use_sliding_window", False):
        return (None,) * depth
    kinds = raw.get("layer_types")
    if kinds:
        slides = [kind == "sliding_attention" for kind in kinds]
    elif architecture == "SmolLM3ForCausalLM":
        slides = [not rotates for rotates in rotary]
    else:
        slides = [layer >= int(raw.get("max_window_layers", DEFAULT_FULL_LAYERS)) for layer in range(depth)]
    if len(slides) < depth:
        raise ValueError(f"layer_types for {len(slides)} of {depth} layers")
    return tuple(int(window) if slide else None for slide in slides[:depth])
