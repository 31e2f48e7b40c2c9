"""Where each piece of a model lies: on one device, or on several by accelerate's plan."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from core.errors import UserError
from core.model.config import ModelConfig
from core.model.weights import StoredTensor

AUTO = "auto"
"""The device's name that asks for `plan`."""

CONTEXT_RESERVE = 8192
"""Positions whose K/V a plan leaves room for, where the model's context is not shorter."""

FLOATS = ("F64", "F32", "F16", "BF16")
_LAYER = re.compile(r"model\.layers\.(\d+)\.")


@dataclass(frozen=True, slots=True)
class Placement:
    """The device of each piece."""

    embedding: torch.device
    """Where token ids go in."""
    layers: tuple[torch.device, ...]
    """Length L."""
    head: torch.device
    """Where the final norm, the LM head, the drafter and the predictors lie."""

    @property
    def devices(self) -> list[torch.device]:
        """Each device once, in the order a token meets them."""
        return list(dict.fromkeys((self.embedding, *self.layers, self.head)))

    def __str__(self) -> str:
        return ", ".join(str(device) for device in self.devices)


def on_one(device: torch.device, depth: int) -> Placement:
    """Everything on one device."""
    return Placement(device, (device,) * depth, device)


@dataclass(frozen=True, slots=True)
class PieceBytes:
    """What each piece will take up once loaded."""

    embedding: int
    layers: tuple[int, ...]
    head: int

    @property
    def total(self) -> int:
        return self.embedding + sum(self.layers) + self.head


def piece_bytes(stored: Mapping[str, StoredTensor], config: ModelConfig, itemsize: int) -> PieceBytes:
    """The weights' bytes in a number format of `itemsize` bytes; what is stored as integers stays as it is."""
    layers, embedding, head = [0] * config.depth, 0, 0
    for name, tensor in stored.items():
        size = _elements(tensor) * itemsize if tensor.dtype in FLOATS else tensor.length
        if (match := _LAYER.match(name)) and int(match[1]) < config.depth:
            layers[int(match[1])] += size
        elif name.startswith("model.embed_tokens."):
            embedding += size
        elif not (config.tied and name.startswith("lm_head.")):
            head += size
    return PieceBytes(embedding, tuple(layers), head)


def _elements(tensor: StoredTensor) -> int:
    count = 1
    for size in tensor.shape:
        count *= size
    return count


def plan(
    sizes: PieceBytes, config: ModelConfig, itemsize: int, memory: Mapping[int | str, int] | None = None
) -> Placement:
    """Let accelerate fill the devices in turn, accelerators first, then the CPU.

    Each layer is counted with the K/V of `CONTEXT_RESERVE` positions, and the head with a drafter; where the LM head
    is the embedding and they part, the head's device holds a copy.

    Args:
        sizes: of the weights.
        config: the model's shape.
        itemsize: bytes of a number of the K/V cache.
        memory: bytes to use by device, numbers for CUDA's, as accelerate writes it; None measures what is free.

    Raises:
        UserError: the devices together do not hold the model.
    """
    from accelerate import infer_auto_device_map
    from accelerate.utils import get_max_memory

    room = dict(memory) if memory is not None else get_max_memory()
    cached = 2 * config.kv_heads * config.head_dim * min(config.context, CONTEXT_RESERVE) * itemsize
    tail = sizes.head + (sizes.embedding if config.tied else 0)
    drafter = max(sizes.layers) + 2 * config.hidden**2 * itemsize
    pieces = [sizes.embedding, *(size + cached for size in sizes.layers), tail + drafter]
    chosen = infer_auto_device_map(
        _Skeleton(pieces), max_memory=room, no_split_module_classes=[_Piece.__name__], offload_buffers=True
    )
    places = [_place(chosen, index) for index in range(len(pieces))]
    if None in places:
        free = ", ".join(f"{size / 2**30:.1f} GiB on {_name(device)}" for device, size in room.items())
        raise UserError(
            f"The model needs {sum(pieces) / 2**30:.1f} GiB and {free} are free; choose a smaller model or number "
            "format (dtype)."
        )
    embedding, *layers, head = (torch.device(place) for place in places if place is not None)
    return Placement(embedding, tuple(layers), head)


def _place(chosen: Mapping[str, int | str], index: int) -> str | None:
    """The device of a piece; a map may name the whole of which it is a part."""
    place = chosen.get(f"pieces.{index}", chosen.get("pieces", chosen.get("")))
    return None if place is None or place == "disk" else _name(place)


def _name(device: int | str) -> str:
    return f"cuda:{device}" if isinstance(device, int) else device


class _Piece(nn.Module):
    """As many bytes as a piece has, taking up none."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size, dtype=torch.uint8, device="meta"), requires_grad=False)


class _Skeleton(nn.Module):
    """The model as accelerate needs to see it: pieces of some size, in the order of the forward pass."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        self.pieces = nn.ModuleList(_Piece(size) for size in sizes)
