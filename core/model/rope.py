"""Rotary positions (RoPE, Su et al. 2021): their frequencies, scaled or not, and a table of cosines and sines."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from core.errors import UserError
from core.model.config import ModelConfig
from core.model.kv_cache import Branches, Rows

FIRST_LENGTH = 256
"""Positions that the table starts with; it doubles when more are asked for."""


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """RoPE. `sin` carries the minus sign of its first half, so a roll replaces the split and negation."""
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, -1), sin)


class RopeTable:
    """Cosines and sines of rotary positions, grown as needed."""

    def __init__(self, config: ModelConfig, dtype: torch.dtype, device: torch.device) -> None:
        """Raises `UserError` as `rope_frequencies` does."""
        self._frequencies, self._scale = rope_frequencies(config)
        self._dtype, self._device = dtype, device
        self._cos = self._sin = torch.empty(0)
        self._grow(FIRST_LENGTH)

    def rows(self, positions: Sequence[int], span: int) -> Rows:
        """Describe rows at these rising positions, with slots 0…span-1 to attend to."""
        first, last = positions[0], positions[-1]
        self._reach(last)
        at = torch.tensor(list(positions), device=self._device)
        if last - first + 1 == len(positions):
            cos, sin = self._cos[first : last + 1], self._sin[first : last + 1]
            return Rows(at, span, cos, sin, first)
        return Rows(at, span, self._cos[at], self._sin[at], None)

    def tree_rows(self, positions: Tensor, branches: Branches) -> Rows:
        """Describe rows at these positions [n], some or all of them a token tree's."""
        self._reach(int(positions.max()))
        at, slots = positions.to(self._device), branches.slots
        first = int(slots[0])
        contiguous = int(slots[-1]) - first + 1 == len(slots)
        span = branches.first + len(branches.positions)
        return Rows(at, span, self._cos[at], self._sin[at], first if contiguous else None, branches)

    def _reach(self, position: int) -> None:
        while position >= len(self._cos):
            self._grow(2 * len(self._cos))

    def _grow(self, length: int) -> None:
        angles = torch.arange(length, dtype=torch.float32)[:, None] * self._frequencies
        cos, sin = angles.cos() * self._scale, angles.sin() * self._scale
        self._cos = torch.cat([cos, cos], -1)[:, None].to(self._device, self._dtype)
        self._sin = torch.cat([-sin, sin], -1)[:, None].to(self._device, self._dtype)


def rope_frequencies(config: ModelConfig) -> tuple[Tensor, float]:
    """Inverse frequencies [head_dim / 2] in float32 and the scale of cosine and sine.

    Linear, dynamic, YaRN and Llama 3 scaling are taken from transformers. Dynamic scaling stretches the frequencies
    only beyond `max_position_embeddings`, where no run goes: within it they are the plain ones.

    Raises:
        UserError: the scaling is unknown, garbled, or makes old positions turn with the text's length.
    """
    kind = config.rope_parameters["rope_type"]
    if kind == "default":
        exponents = torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim
        return 1.0 / config.rope_theta**exponents, 1.0
    from transformers import PretrainedConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    _check_kind(kind, sorted(ROPE_INIT_FUNCTIONS))
    try:
        stand_in = PretrainedConfig(
            rope_parameters=_complete(config),
            hidden_size=config.hidden,
            num_attention_heads=config.heads,
            head_dim=config.head_dim,
            max_position_embeddings=config.context,
        )
        frequencies, scale = ROPE_INIT_FUNCTIONS[kind](stand_in, torch.device("cpu"))
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise UserError(
            f"This model's {kind!r} position scaling lacks or garbles a setting ({error}); download the model again."
        ) from error
    return frequencies.float(), float(scale)


CHANGING = "longrope"
"""Two sets of frequencies, by the text's length: a text that grows past the border would turn its cached keys."""
UNROTATED = "proportional"
"""Leaves part of each head alone; no supported family uses it."""


def _check_kind(kind: str, known: list[str]) -> None:
    taken = ["default", *(name for name in known if name not in (CHANGING, UNROTATED))]
    if kind == CHANGING:
        raise UserError(
            "This model scales its positions by 'longrope', which gives old tokens other positions once the text is "
            f"long; a cache of keys cannot follow. Choose a model with {', '.join(taken[:-1])} or {taken[-1]} scaling."
        )
    if kind not in taken:
        raise UserError(
            f"This model scales its positions by {kind!r}, which is unknown here; known are {', '.join(taken)}."
        )


def _complete(config: ModelConfig) -> dict[str, object]:
    """The scaling's parameters with what transformers fills in before it reads them."""
    filled = {"original_max_position_embeddings": config.context, "partial_rotary_factor": 1.0}
    return {**filled, **config.rope_parameters, "rope_theta": config.rope_theta}
