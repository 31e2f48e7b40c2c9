"""Products of packed weights with rows.

Weights lie in tiles so that a vector's lanes are output rows and no lane is ever summed across: a loop over blocks of
inputs that a compiler is left to vectorise by itself runs fifteen times slower. For each block of 32 inputs a tile
holds, one after the other: 4-bit, 32 rows: 512 bytes, byte [k, j] = row j's q in its low half, row 16 + j's in its high
half, then 32 scales d and 32 offsets m; 8-bit, 16 or 32 rows: the bytes [k, j] and the rows' scales d. d and m are
float16 as in a GGUF, w = d·q + m, and everything is summed in float32. Weights that are not packed lie in tiles of 32
rows too, [k, j].
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

from core.model.native_vectors import F16, F32, I8, I32, I64, LANES, Writer, function, number, vector

BLOCK = 32
"""Inputs that share a scale."""
STEP = 8
"""Inputs written out after one another; more would only make the compiler slow."""
AHEAD = 8 * 640
"""How far ahead of its use the memory is asked for weights, in bytes."""
BYTES_4BIT, BYTES_8BIT, BYTES_8BIT_WIDE, BYTES_PLAIN = 640, 544, 1088, 4096
"""Size of one block of a tile; wide is that of 32 rows."""


class _Tile(Writer):
    """Writes the product of one packed tile with some rows."""

    def __init__(self, builder: Any, args: Any, bits: int, rows: int, halves: int) -> None:
        super().__init__(builder)
        self.bits, self.rows, self.halves = bits, rows, halves
        self.weights, self.x, self.x_stride, self.sums, self.sums_stride, self.y, self.blocks = args
        self.scales = BLOCK * LANES * (1 if bits == 4 else halves)
        """Bytes of a block before its scales."""

    def write(self) -> None:
        totals = [[self.variable() for _ in range(self.halves)] for _ in range(self.rows)]
        with cgutils.for_range(self.b, self.blocks) as loop:
            size = self.scales + 2 * LANES * self.halves * (2 if self.bits == 4 else 1)
            block = self.b.add(self.weights, self.b.mul(loop.index, number(size)))
            x = self.b.add(self.x, self.b.mul(loop.index, number(4 * BLOCK)))
            self.fetch(block, size)
            dots = self.dots(block, x)
            for half in range(self.halves):
                self.scale(half, block, loop.index, dots, totals)
        for row in range(self.rows):
            for half in range(self.halves):
                self.store(self.b.load(totals[row][half]), self.y, 64 * (row * self.halves + half))

    def fetch(self, block: Any, size: int) -> None:
        """Ask for the bytes that come up soon: what the CPU foresees by itself ends at every page."""
        kind = ir.FunctionType(ir.VoidType(), [I8.as_pointer(), I32, I32, I32])
        function = cgutils.get_or_insert_function(self.b.module, kind, "llvm.prefetch.p0")
        read, keep, data = (ir.Constant(I32, flag) for flag in (0, 3, 1))
        for line in range(0, size, 64):
            place = self.pointer(self.b.add(block, number(AHEAD + line)), I8)
            self.b.call(function, [place, read, keep, data])

    def dots(self, block: Any, x: Any) -> list[list[Any]]:
        """The block's sums of q·x by row and half, added up in the same order however many rows there are.

        One half makes two sums, so that additions need not wait for each other.
        """
        parts = [[self.variable() for _ in range(2)] for _ in range(self.rows)]
        with cgutils.for_range_slice(self.b, number(0), number(BLOCK), number(STEP), I64) as (k, _):
            weights, values = self.at(block, k, number(self.scales // BLOCK)), self.at(x, k, number(4))
            for step in range(STEP):
                self.multiply_add(
                    weights, values, step, [row if self.halves == 2 else [row[step % 2]] for row in parts]
                )
        found = [list(map(self.b.load, row)) for row in parts]
        return found if self.halves == 2 else [[self.b.fadd(*row)] for row in found]

    def multiply_add(self, weights: Any, values: Any, k: int, totals: list[list[Any]]) -> None:
        q = self.unpack(weights, k * self.scales // BLOCK)
        for row in range(self.rows):
            place = self.b.add(values, self.b.mul(self.x_stride, number(row)))
            xk = self.spread(self.load(place, 4 * k, F32, 4))
            for half in range(self.halves):
                self.b.store(self.fma(q[half], xk, self.b.load(totals[row][half])), totals[row][half])

    def unpack(self, weights: Any, offset: int) -> list[Any]:
        """The weights of one input, a vector a half."""
        found = [self.load(weights, offset + LANES * part, vector(I8), 16) for part in range(self.scales // 512)]
        if self.bits == 8:
            return [self.b.sitofp(self.b.sext(packed, vector(I32)), vector(F32)) for packed in found]
        wide = self.b.zext(found[0], vector(I32))
        halves = self.b.and_(wide, vector(I32, 15)), self.b.lshr(wide, vector(I32, 4))
        return [self.b.sitofp(half, vector(F32)) for half in halves]

    def scale(self, half: int, block: Any, index: Any, dots: Any, totals: Any) -> None:
        d = self.halfs(block, self.scales + 32 * half)
        m = self.halfs(block, self.scales + 64 + 32 * half) if self.bits == 4 else None
        for row in range(self.rows):
            total = self.fma(d, dots[row][half], self.b.load(totals[row][half]))
            if m is not None:
                place = self.b.add(self.sums, self.b.mul(self.sums_stride, number(row)))
                place = self.b.add(place, self.b.mul(index, number(4)))
                total = self.fma(m, self.spread(self.load(place, 0, F32, 4)), total)
            self.b.store(total, totals[row][half])

    def halfs(self, base: Any, offset: int) -> Any:
        return self.b.fpext(self.load(base, offset, vector(F16), 32), vector(F32))


class _PlainTile(Writer):
    """Writes the same for 32 rows of float32 weights, which need no unpacking."""

    def __init__(self, builder: Any, args: Any, rows: int) -> None:
        super().__init__(builder)
        self.rows = rows
        self.weights, self.x, self.x_stride, _, _, self.y, self.blocks = args

    def write(self) -> None:
        totals = [[self.variable() for _ in range(2)] for _ in range(self.rows)]
        inputs = self.b.mul(self.blocks, number(BLOCK))
        with cgutils.for_range_slice(self.b, number(0), inputs, number(STEP), I64) as (k, _):
            weights, values = self.at(self.weights, k, number(8 * LANES)), self.at(self.x, k, number(4))
            for step in range(STEP):
                found = [self.load(weights, 4 * LANES * (2 * step + half), vector(F32), 4) for half in range(2)]
                for row in range(self.rows):
                    factor = self.spread(self.load(self.at(values, number(row), self.x_stride), 4 * step, F32, 4))
                    for half, total in zip(found, totals[row], strict=True):
                        self.b.store(self.fma(half, factor, self.b.load(total)), total)
        for row in range(self.rows):
            for half, total in enumerate(totals[row]):
                self.store(self.b.load(total), self.y, 64 * (row * 2 + half))


def _tile(bits: int, rows: int, halves: int = 2) -> Any:
    """tile(weights, x, x_stride, sums, sums_stride, y, blocks): addresses, and strides in bytes."""

    def write(builder: Any, args: Any) -> None:
        tile = _PlainTile(builder, args, rows) if bits == 32 else _Tile(builder, args, bits, rows, halves)
        tile.write()

    return function(f"specee_tile_{bits}_{rows}_{halves}", write)


tile4_1, tile4_2, tile4_4, tile4_8 = (_tile(4, rows) for rows in (1, 2, 4, 8))
tile8_1, tile8_2, tile8_4, tile8_8 = (_tile(8, rows, 1) for rows in (1, 2, 4, 8))
wide8_1, wide8_2, wide8_4, wide8_8 = (_tile(8, rows) for rows in (1, 2, 4, 8))
tile32_1, tile32_2, tile32_4, tile32_8 = (_tile(32, rows) for rows in (1, 2, 4, 8))
