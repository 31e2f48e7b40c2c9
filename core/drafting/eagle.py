"""EAGLE-1 draft heads in the layout in which they are published, turned into our names.

`fc.weight` [d, 2d], perhaps `fc.bias`, and one decoder layer as transformers names it under `layers.0`; a copy of the
target's `embed_tokens.weight` often lies beside them and is left alone, since our head shares the target's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from core.errors import UserError

LAYER = "layers.0."
FILE = "model.safetensors"
_SINGLE = {
    "fc.weight": "fc.weight",
    "fc.bias": "fc.bias",
    LAYER + "input_layernorm.weight": "layer.attention_norm",
    LAYER + "self_attn.o_proj.weight": "layer.out",
    LAYER + "self_attn.o_proj.bias": "layer.out_bias",
    LAYER + "self_attn.q_norm.weight": "layer.q_norm",
    LAYER + "self_attn.k_norm.weight": "layer.k_norm",
    LAYER + "post_attention_layernorm.weight": "layer.mlp_norm",
    LAYER + "mlp.down_proj.weight": "layer.down",
}
_FUSED = {
    "layer.qkv": tuple(f"{LAYER}self_attn.{name}_proj.weight" for name in "qkv"),
    "layer.qkv_bias": tuple(f"{LAYER}self_attn.{name}_proj.bias" for name in "qkv"),
    "layer.gate_up": tuple(f"{LAYER}mlp.{name}_proj.weight" for name in ("gate", "up")),
}
_IGNORED = ("embed_tokens.weight", LAYER + "self_attn.rotary_emb.inv_freq")


def read_eagle(path: Path) -> dict[str, Tensor]:
    """The weights of a published head as `DraftHead.from_state` takes them.

    Args:
        path: the safetensors file, or the folder that holds it.

    Raises:
        UserError: there is no such file, it is damaged or not finite, or it is no EAGLE-1 head.
    """
    file = path / FILE if path.is_dir() else path
    if not file.is_file() or file.suffix != ".safetensors":
        raise UserError(
            f"{path} holds no draft head as safetensors; files of other kinds are never read, so convert it first."
        )
    try:
        state = load_file(file)
    except (SafetensorError, OSError) as error:
        raise UserError(f"{file} is damaged; download or convert the draft head again.") from error
    found = rename(state)
    if not all(tensor.is_floating_point() and bool(torch.isfinite(tensor).all()) for tensor in found.values()):
        raise UserError(f"{file} holds numbers that are not finite; download or convert the draft head again.")
    return found


def rename(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Published names to ours, the fused products joined.

    Raises:
        UserError: a name is missing or belongs to another kind of drafter.
    """
    known = {*_SINGLE, *_IGNORED, *(name for parts in _FUSED.values() for name in parts)}
    for name in sorted(state.keys() - known):
        raise UserError(f"The draft head's weight {name} is none of EAGLE-1's; only heads of one layer can be read.")
    found = {ours: state[name] for name, ours in _SINGLE.items() if name in state}
    for ours, parts in _FUSED.items():
        present = [name for name in parts if name in state]
        if present and len(present) < len(parts):
            missing = next(name for name in parts if name not in state)
            raise UserError(f"The draft head lacks its weight {missing}; download or convert it again.")
        if present:
            found[ours] = _joined([state[name] for name in parts], ours)
    return found


def _joined(tensors: list[Tensor], name: str) -> Tensor:
    if len({(tensor.ndim, tensor.shape[1:]) for tensor in tensors}) > 1:
        raise UserError(f"The draft head's parts of {name} do not fit each other; download or convert it again.")
    return torch.cat(tensors)
