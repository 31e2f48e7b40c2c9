"""Preallocated K/V entries, one slot a position, and the masks that say who sees which.

Slot = true position, but for the nodes of a token tree: these lie side by side after the context until one path of
them is kept. A layer may lack the entry of a position that exited below it: `present` knows, and attention skips it (KV
policy *hole*, `docs/rules.md`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from core.model.config import ModelConfig


@dataclass(frozen=True, slots=True)
class Branches:
    """Where the nodes of a token tree lie in the cache, and which of them each row sees; all of it on the CPU."""

    slots: Tensor
    """Shape [n], int64, rising: the rows' own slots. Rows of the context may come before rows of the tree."""
    first: int
    """The slot of the tree's first node; below it slot = position."""
    positions: Tensor
    """Shape [m], the true position of each of the tree's nodes."""
    seen: Tensor
    """Shape [n, m], bool."""


@dataclass(slots=True)
class Rows:
    """The positions that run through a layer together, and what depends on nothing else."""

    positions: Tensor
    """Shape [n], int64, rising outside trees."""
    span: int
    """Slots 0…span-1 may be attended to."""
    cos: Tensor
    """Shape [n, 1, head_dim]."""
    sin: Tensor
    """Shape [n, 1, head_dim], first half negated (see `core.model.rope.rotate`)."""
    first: int | None
    """The first slot where the rows' slots are contiguous; None where they have gaps."""
    branches: Branches | None = None
    """None outside trees, where slots are positions and a row sees whatever is not after it."""
    masks: dict[int | None, Tensor | None] = field(default_factory=dict)
    """Visibility by window, made once for all layers."""
    elsewhere: dict[torch.device, Rows] = field(default_factory=dict)
    """What `on` has made."""
    slots: Tensor = field(init=False)
    """Shape [n], int64, rising: where the rows' entries are written."""

    def __post_init__(self) -> None:
        self.slots = self.positions if self.branches is None else self.branches.slots.to(self.positions.device)

    def on(self, device: torch.device) -> Rows:
        """The same rows with their tensors on `device`, copied there once."""
        if device == self.positions.device:
            return self
        if device not in self.elsewhere:
            at, cos, sin = (tensor.to(device) for tensor in (self.positions, self.cos, self.sin))
            self.elsewhere[device] = Rows(at, self.span, cos, sin, self.first, self.branches)
        return self.elsewhere[device]

    def mask(self, window: int | None) -> Tensor | None:
        """Which slots each row sees. Shape [n, span], or None where every row sees all of them."""
        if window not in self.masks:
            self.masks[window] = self._mask(window)
        return self.masks[window]

    def _mask(self, window: int | None) -> Tensor | None:
        if self.branches is not None:
            return _tree_mask(self.positions.cpu(), self.branches, window).to(self.positions.device)
        alone = len(self.positions) == 1
        if alone and (window is None or self.span <= window):
            return None
        slots = torch.arange(self.span, device=self.positions.device)
        own = self.positions[:, None]
        seen = slots[None, :] <= own
        return seen if window is None else seen & (slots[None, :] > own - window)


def _tree_mask(own: Tensor, branches: Branches, window: int | None) -> Tensor:
    """As `Rows.mask`, for rows at the positions `own` [n]."""
    context = torch.arange(branches.first)
    seen = torch.cat([context <= own[:, None], branches.seen], 1)
    if window is None:
        return seen
    return seen & (torch.cat([context, branches.positions]) > own[:, None] - window)


class PerLayer:
    """A zeroed tensor a layer, each on the layer's device; those of one device share an allocation."""

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, devices: Sequence[torch.device]) -> None:
        self._blocks = {
            device: torch.zeros((list(devices).count(device), *shape), dtype=dtype, device=device)
            for device in dict.fromkeys(devices)
        }
        self._devices = list(devices)
        parts = {device: iter(block) for device, block in self._blocks.items()}
        self.layers = [next(parts[device]) for device in devices]

    def below(self, layer: int) -> Iterator[Tensor]:
        """The layers below `layer`, those of each device in one tensor."""
        for device, block in self._blocks.items():
            yield block[: self._devices[:layer].count(device)]

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
        self._keys[layer].index_copy_(1, rows.slots, keys.transpose(0, 1))
        self._values[layer].index_copy_(1, rows.slots, values.transpose(0, 1))
        self._present[layer].index_fill_(0, rows.slots, True)

    def strike(self, layer: int, rows: Rows) -> None:
        """Forget that the rows have entries in a layer."""
        present = self._present[layer]
        present.index_fill_(0, rows.on(present.device).slots, False)

    def keep(self, first: int, rows: int, nodes: Sequence[int], layers_run: int) -> None:
        """Of a tree's rows in the slots from `first` on, move the entries of one path to the path's own positions.

        Only the path is copied. The other rows are forgotten.

        Args:
            first: the slot of the root, which is its position.
            rows: how many nodes the tree has.
            nodes: the path's nodes from the root on, rising.
            layers_run: layers below which there are entries.
        """
        keys, values, present = self._all
        moved = [(place, node) for place, node in enumerate(nodes) if place != node]
        if moved:
            to, source = (torch.tensor(column) + first for column in zip(*moved, strict=True))
            for block in (*keys.below(layers_run), *values.below(layers_run)):
                block[:, :, to.to(block.device)] = block[:, :, source.to(block.device)]
        for block in present.below(len(self.has_holes)):
            block[:, first : first + rows] = False
        for block in present.below(layers_run):
            block[:, first : first + len(nodes)] = True

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
