"""Four-bit and eight-bit grids: found again in dequantised weights, and packed for `core.model.native_kernels`.

A GGUF's Q4_1, Q4_0 and Q8_0 write each run of 32 weights of a row as w = d·q + m with d and m in float16. From such
weights in float32, q, d and m follow exactly; only `nearest_eight_bits` rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

BLOCK, LANES = 32, 16
TINY = 1e-30
"""Stands in for a scale of 0, where all of a block's weights are equal."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Weights [out, in] as w = d·q + m."""

    q: Tensor
    """Shape [out, blocks, 32], int8: 0…15, or -127…127 where `m` is None."""
    d: Tensor
    """Shape [out, blocks], float16."""
    m: Tensor | None
    """Shape [out, blocks], float16; None for eight bits."""

    def weights(self) -> Tensor:
        """The weights, [out, in] in float32."""
        w = self.d.float()[..., None] * self.q
        return (w if self.m is None else w + self.m.float()[..., None]).flatten(1)


def four_bit_grid(weights: Tensor) -> Grid | None:
    """The grid of 16 steps that float32 weights [out, in] lie on exactly; None where there is none."""
    if weights.shape[1] % BLOCK:
        return None
    w = _blocks(weights)
    low, high = w.amin(-1), w.amax(-1)
    grid = _fit(w, (high - low) / 15, low)
    off = _blocks(grid.weights() != weights).any(-1)
    if off.any():  # Q4_0: the weight of largest magnitude is -8 steps, and the other end may lack steps.
        far = torch.where(-low > high, low, high)[off]
        second = _fit(w[off], far / -8, far)
        for mine, other in ((grid.q, second.q), (grid.d, second.d), (grid.m, second.m)):
            assert mine is not None, "four-bit grids have an offset"
            assert other is not None, "four-bit grids have an offset"
            mine[off] = other
    return grid if torch.equal(grid.weights(), weights) else None


def eight_bit_grid(weights: Tensor) -> Grid | None:
    """The grid of 255 steps around 0 that float32 weights [out, in] lie on exactly; None where there is none."""
    if weights.shape[1] % BLOCK:
        return None
    grid = nearest_eight_bits(weights)
    return grid if torch.equal(grid.weights(), weights) else None


def nearest_eight_bits(weights: Tensor) -> Grid:
    """The grid of 255 steps around 0 that comes nearest to weights [out, in], which here are rounded; the inputs are
    filled up with zeros to whole blocks."""
    missing = -weights.shape[1] % BLOCK
    w = _blocks(torch.nn.functional.pad(weights.float(), (0, missing)))
    d = (w.abs().amax(-1) / 127).half()
    q = (w / d.float().clamp_min(TINY)[..., None]).round().clamp(-127, 127).to(torch.int8)
    return Grid(q, d, None)


def _blocks(weights: Tensor) -> Tensor:
    return weights.reshape(len(weights), -1, BLOCK)


def _fit(w: Tensor, d: Tensor, m: Tensor) -> Grid:
    d, m = d.half(), m.half()
    step = d.float()
    step = torch.where(step == 0, TINY, step)
    q = ((w - m.float()[..., None]) / step[..., None]).round().clamp(0, 15).to(torch.int8)
    return Grid(q, d, m)


def pack_four_bit(grid: Grid) -> Tensor:
    """The kernels' tiles of 32 rows, [tiles, blocks, 640] in bytes; the last tile is filled up with zeros."""
    assert grid.m is not None, "four-bit grids have an offset"
    q = _tiles(grid.q, 2 * LANES).to(torch.uint8)
    packed = (q[:, :LANES] | q[:, LANES:] << 4).permute(0, 2, 3, 1).flatten(2)
    scales = [_tiles(scale, 2 * LANES).transpose(1, 2).contiguous().view(torch.uint8) for scale in (grid.d, grid.m)]
    return torch.cat([packed, *scales], -1).contiguous()


def pack_eight_bit(grid: Grid) -> Tensor:
    """The kernels' tiles of 16 rows, [tiles, blocks, 544] in bytes; the last tile is filled up with zeros."""
    q = _tiles(grid.q, LANES).permute(0, 2, 3, 1).flatten(2).contiguous().view(torch.uint8)
    return torch.cat([q, _tiles(grid.d, LANES).transpose(1, 2).contiguous().view(torch.uint8)], -1).contiguous()


def pack_wide_eight_bit(grid: Grid) -> Tensor:
    """The same in tiles of 32 rows, [tiles, blocks, 1088] in bytes."""
    q = _tiles(grid.q, 2 * LANES).permute(0, 2, 3, 1).flatten(2).contiguous().view(torch.uint8)
    return torch.cat([q, _tiles(grid.d, 2 * LANES).transpose(1, 2).contiguous().view(torch.uint8)], -1).contiguous()


def pack_plain(weights: Tensor) -> Tensor:
    """The tiles of 32 rows of weights [out, in] as float32, [tiles, blocks, 4096] in bytes, filled up likewise."""
    tiles = _tiles(_blocks(weights.float()), 2 * LANES)
    return tiles.permute(0, 2, 3, 1).contiguous().view(torch.uint8).flatten(2)


def gate_up_order(mlp: int) -> Tensor:
    """The order of gate and up rows [2 mlp] in which a tile's low half are gates and its high half their ups."""
    rows = torch.arange(2 * mlp).view(2, mlp // LANES, LANES)
    return rows.transpose(0, 1).flatten()


def _tiles(rows: Tensor, size: int) -> Tensor:
    missing = -len(rows) % size
    if missing:
        rows = torch.cat([rows, rows.new_zeros(missing, *rows.shape[1:])])
    return rows.view(-1, size, *rows.shape[1:])
