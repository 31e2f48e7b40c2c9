"""Preallocated K/V entries, one slot a position, and the masks that say who sees which.

Slot = true position, always. A layer may lack the entry of a position that exited below it: `present` knows, and
attention skips it (KV policy *hole*, `specee.md` §4).
"""

from __future__ import annotations

from collections.abc import Sequence
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
    elsewhere: dict[torch.device, Rows] = field(default_factory=dict)
    """What `on` has made."""

    def on(self, device: torch.device) -> Rows:
        """The same rows with their tensors on `device`, copied there once."""
        if device == self.positions.device:
            return self
        if device not in self.elsewhere:
            at, cos, sin = (tensor.to(device) for tensor in (self.positions, self.cos, self.sin))
            self.elsewhere[device] = Rows(at, self.span, cos, sin, self.first)
        return self.elsewhere[device]

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


class PerLayer:
    """A zeroed tensor a layer, each on the layer's device; those of one device share an allocation."""

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, devices: Sequence[torch.device]) -> None:
        self._blocks = {
            device: torch.zeros((list(devices).count(device), *shape), dtype=dtype, device=device)
            for device in dict.fromkeys(devices)
        }
        parts = {device: iter(block) for device, block in self._blocks.items()}
        self.layers = [next(parts[device]) for device in devices]

    def whole(self) -> Tensor:
        """All layers in one tensor: the entries themselves on one device, else a copy on the first."""
        first = next(iter(self._blocks))
        if len(self._blocks) == 1:
            return self._blocks[first]
        return torch.stack([layer.to(first) for layer in self.layers])


class KVCache:
    """Keys and values of some layers for up to `capacity` positions."""

    def __init__(self, config: ModelConfig, capacity: int, dtype: torch.dtype, devices: Sequence[torch.device]) -> None:
        """`devices` has the place of each layer."""
        self.group, self.capacity = config.group, capacity
        shape = (config.kv_heads, capacity, config.head_dim)
        self._all = [PerLayer(shape, dtype, devices) for _ in "kv"] + [PerLayer((capacity,), torch.bool, devices)]
        self._keys, self._values, self._present = (entries.layers for entries in self._all)
        self.has_holes = [False] * len(devices)
        """Whether a layer lacks an entry below its newest one."""

    @property
    def keys(self) -> Tensor:
        """Shape [layers, kv_heads, capacity, head_dim]; a copy where the layers lie on several devices."""
        return self._all[0].whole()

    @property
    def values(self) -> Tensor:
        """As `keys`."""
        return self._all[1].whole()

    @property
    def present(self) -> Tensor:
        """Which entries there are, shape [layers, capacity]; a copy as `keys` is."""
        return self._all[2].whole()

    def write(self, layer: int, rows: Rows, keys: Tensor, values: Tensor) -> None:
        """Store the rows' entries. Both shaped [n, kv_heads, head_dim]."""
        if rows.first is not None:
            end = rows.first + len(keys)
            self._keys[layer][:, rows.first : end] = keys.transpose(0, 1)
            self._values[layer][:, rows.first : end] = values.transpose(0, 1)
            self._present[layer][rows.first : end] = True
            return
        self._keys[layer].index_copy_(1, rows.positions, keys.transpose(0, 1))
        self._values[layer].index_copy_(1, rows.positions, values.transpose(0, 1))
        self._present[layer].index_fill_(0, rows.positions, True)

    def strike(self, layer: int, rows: Rows) -> None:
        """Forget that the rows have entries in a layer."""
        present = self._present[layer]
        present.index_fill_(0, rows.on(present.device).positions, False)

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
            there = self._present[layer][: rows.span]
            mask = there.expand(n, -1) if mask is None else mask & there
        q = queries.view(n, kv_heads, self.group, size).permute(1, 2, 0, 3).reshape(1, kv_heads, self.group * n, size)
        out = F.scaled_dot_product_attention(
            q,
            self._keys[layer][None, :, : rows.span],
            self._values[layer][None, :, : rows.span],
            attn_mask=None if mask is None else mask.repeat(self.group, 1),
        )
        return out.view(kv_heads, self.group, n, size).permute(2, 0, 1, 3).reshape(n, heads, size)
