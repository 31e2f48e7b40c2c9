"""Products of rows with weights of every kind, a tile at a time, for `core.model.native_kernels`."""

from __future__ import annotations

from core.model.native_tiles import (
    BLOCK,
    BYTES_4BIT,
    BYTES_8BIT_WIDE,
    BYTES_PLAIN,
    tile4_1,
    tile4_2,
    tile4_4,
    tile4_8,
    tile32_1,
    tile32_2,
    tile32_4,
    tile32_8,
    wide8_1,
    wide8_2,
    wide8_4,
    wide8_8,
)
from core.model.native_vectors import LANES, compiled

ROWS = 2 * LANES
"""Output rows of a tile."""
TOGETHER = 8
"""The most rows that a tile is multiplied with at once, so that its weights are unpacked once for all of them."""
FOUR_BITS, EIGHT_BITS, PLAIN = 0, 1, 2
"""Kinds of weights: packed on a 4-bit grid, rounded to 8 bits, float32."""


@compiled
def multiply(kind, weights, tile, x, inputs, row, rows, sums, y):  # type: ignore[no-untyped-def]
    """One tile times `group` rows from `row` on; y gets [rows, 32]. x has room up to whole groups of 4."""
    blocks, at = inputs // BLOCK, x + 4 * inputs * row
    if kind == FOUR_BITS:
        _multiply_4bit(weights + tile * blocks * BYTES_4BIT, at, inputs, rows, sums + 4 * blocks * row, y)
    elif kind == EIGHT_BITS:
        _multiply_8bit(weights + tile * blocks * BYTES_8BIT_WIDE, at, inputs, rows, y)
    else:
        _multiply_plain(weights + tile * blocks * BYTES_PLAIN, at, inputs, rows, y)


@compiled
def _multiply_4bit(tile, x, inputs, rows, sums, y):  # type: ignore[no-untyped-def]
    blocks = inputs // BLOCK
    if rows == 1:
        tile4_1(tile, x, 4 * inputs, sums, 4 * blocks, y, blocks)
    elif rows == 2:
        tile4_2(tile, x, 4 * inputs, sums, 4 * blocks, y, blocks)
    elif rows <= 4:
        tile4_4(tile, x, 4 * inputs, sums, 4 * blocks, y, blocks)
    else:
        tile4_8(tile, x, 4 * inputs, sums, 4 * blocks, y, blocks)


@compiled
def _multiply_8bit(tile, x, inputs, rows, y):  # type: ignore[no-untyped-def]
    if rows == 1:
        wide8_1(tile, x, 4 * inputs, 0, 0, y, inputs // BLOCK)
    elif rows == 2:
        wide8_2(tile, x, 4 * inputs, 0, 0, y, inputs // BLOCK)
    elif rows <= 4:
        wide8_4(tile, x, 4 * inputs, 0, 0, y, inputs // BLOCK)
    else:
        wide8_8(tile, x, 4 * inputs, 0, 0, y, inputs // BLOCK)


@compiled
def _multiply_plain(tile, x, inputs, rows, y):  # type: ignore[no-untyped-def]
    if rows == 1:
        tile32_1(tile, x, 4 * inputs, 0, 0, y, inputs // BLOCK)
    elif rows == 2:
        tile32_2(tile, x, 4 * inputs, 0, 0, y, inputs // BLOCK)
    elif rows <= 4:
        tile32_4(tile, x, 4 * inputs, 0, 0, y, inputs // BLOCK)
    else:
        tile32_8(tile, x, 4 * inputs, 0, 0, y, inputs // BLOCK)


@compiled
def group(left):  # type: ignore[no-untyped-def]
    """How many of the rows left a tile takes next: 8 at once take longer than 4 and 2, but not than 4 and 4."""
    return min(left, TOGETHER) if left >= TOGETHER - 1 else min(left, 4)
