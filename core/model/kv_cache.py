"""Preallocated K/V entries, one slot a position, and the masks that say who sees which.

Slot = true position, always. A layer may lack the entry of a position that exited below it: `present` knows, and
attention skips it (KV policy *hole*, `specee.md` §4).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from core.model.config import ModelConfig


@dataclass(slots=True)
class Rows:
    """The positions that run through a layer together, and what depends on nothing else."""

    positions: Tensor
    """Shape [n], int64, rising."""
    span: int
    """Slots 0…span-1 may be attended to."""
    cos: Tensor
    """Shape [n, 1, head_dim]."""
    sin: Tensor
    """Shape [n, 1, head_dim], first half negated (see `decoder.rotate`)."""
    first: int | None
    """The first position where the rows are contiguous; None where they have gaps."""
    masks: dict[int | None, Tensor | None] = field(default_factory=dict)
    """Visibility by window, made once for all layers."""

    def mask(self, window: int | None) -> Tensor | None:
        """Which slots each row sees. Shape [n, span], or None where every row sees all of them."""
        if window not in self.masks:
            self.masks[window] = self._mask(window)
        return self.masks[window]

    def _mask(self, window: int | None) -> Tensor | None:
        alone = len(self.positions) == 1
        if alone and (window is None or self.span <= window):
            return None
        slots = torch.arange(self.span, device=self.positions.device)
        own = self.positions[:, None]
        seen = slots[None, :] <= own
        return seen if window is None else seen & (slots[None, :] > own - window)


class KVCache:
    """Keys and values of `depth` layers for up to `capacity` positions."""

    def __init__(
        self, config: ModelConfig, capacity: int, dtype: torch.dtype, device: torch.device, depth: int | None = None
    ) -> None:
        layers = config.depth if depth is None else depth
        shape = (layers, config.kv_heads, capacity, config.head_dim)
        self.group = config.group
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)
        self.present = torch.zeros((layers, capacity), dtype=torch.bool, device=device)
        """Shape [layers, capacity]."""
        self.has_holes = [False] * layers
        """Whether a layer lacks an entry below its newest one."""

    @property
    def capacity(self) -> int:
        return self.keys.shape[2]

    def write(self, layer: int, rows: Rows, keys: Tensor, values: Tensor) -> None:
        """Store the rows' entries. Both shaped [n, kv_heads, head_dim]."""
        if rows.first is not None:
            end = rows.first + len(keys)
            self.keys[layer, :, rows.first : end] = keys.transpose(0, 1)
            self.values[layer, :, rows.first : end] = values.transpose(0, 1)
            self.present[layer, rows.first : end] = True
            return
        self.keys[layer].index_copy_(1, rows.positions, keys.transpose(0, 1))
        self.values[layer].index_copy_(1, rows.positions, values.transpose(0, 1))
        self.present[layer].index_fill_(0, rows.positions, True)

    def skip(self, from_layer: int) -> None:
        """Note that a position will never get entries in the layers from `from_layer` on."""
        for layer in range(from_layer, len(self.has_holes)):
            self.has_holes[layer] = True

    def attend(self, layer: int, rows: Rows, queries: Tensor, window: int | None) -> Tensor:
        """Attention of the rows over the layer's entries. Queries and result shaped [n, heads, head_dim].

        The query heads that share a K/V head are laid out as further query rows, so no key is copied.
        """
        n, heads, size = queries.shape
        kv_heads = heads // self.group
        mask = rows.mask(window)
        if self.has_holes[layer]:
            there = self.present[layer, : rows.span]
            mask = there.expand(n, -1) if mask is None else mask & there
        q = queries.view(n, kv_heads, self.group, size).permute(1, 2, 0, 3).reshape(1, kv_heads, self.group * n, size)
        out = F.scaled_dot_product_attention(
            q,
            self.keys[layer, :, : rows.span][None],
            self.values[layer, :, : rows.span][None],
            attn_mask=None if mask is None else mask.repeat(self.group, 1),
        )
        return out.view(kv_heads, self.group, n, size).permute(2, 0, 1, 3).reshape(n, heads, size)
