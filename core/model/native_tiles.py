"""Products of packed weights with rows, written in LLVM's vector instructions, which every CPU can run; and e^x.

Weights lie in tiles so that a vector's lanes are output rows and no lane is ever summed across: a loop over blocks of
inputs that a compiler is left to vectorise by itself runs fifteen times slower. For each block of 32 inputs a tile
holds, one after the other: 4-bit, 32 rows: 512 bytes, byte [k, j] = row j's q in its low half, row 16 + j's in its high
half, then 32 scales d and 32 offsets m; 8-bit, 16 rows: 512 bytes [k, j] and 16 scales d. d and m are float16 as in a
GGUF, w = d·q + m, and everything is summed in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

BLOCK = 32
"""Inputs that share a scale."""
LANES = 16
STEP = 8
"""Inputs written out after one another; more would only make the compiler slow."""
AHEAD = 8 * 640
"""How far ahead of its use the memory is asked for weights, in bytes."""
BYTES_4BIT, BYTES_8BIT = 640, 544
"""Size of one block of a tile."""

_I8, _I32, _I64, _F16, _F32 = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.HalfType(), ir.FloatType()


def _vector(element: Any, value: Any = None) -> Any:
    kind = ir.VectorType(element, LANES)
    return kind if value is None else ir.Constant(kind, [value] * LANES)


def _number(value: int) -> Any:
    return ir.Constant(_I64, value)


class _Tile:
    """Writes the product of one tile with some rows in LLVM's vector instructions, which every CPU can run."""

    def __init__(self, builder: Any, args: Any, bits: int, rows: int) -> None:
        self.b, self.bits, self.rows = builder, bits, rows
        self.weights, self.x, self.x_stride, self.sums, self.sums_stride, self.y, self.blocks = args
        self.halves = 2 if bits == 4 else 1

    def write(self) -> None:
        totals = [[self.variable() for _ in range(self.halves)] for _ in range(self.rows)]
        with cgutils.for_range(self.b, self.blocks) as loop:
            size = BYTES_4BIT if self.bits == 4 else BYTES_8BIT
            block = self.b.add(self.weights, self.b.mul(loop.index, _number(size)))
            x = self.b.add(self.x, self.b.mul(loop.index, _number(4 * BLOCK)))
            self.fetch(block, size)
            dots = self.dots(block, x)
            for half in range(self.halves):
                self.scale(half, block, loop.index, dots, totals)
        for row in range(self.rows):
            for half in range(self.halves):
                place = self.b.add(self.y, _number(64 * (row * self.halves + half)))
                self.b.store(self.b.load(totals[row][half]), self.pointer(place, _vector(_F32)), align=4)

    def fetch(self, block: Any, size: int) -> None:
        """Ask for the bytes that come up soon: what the CPU foresees by itself ends at every page."""
        kind = ir.FunctionType(ir.VoidType(), [_I8.as_pointer(), _I32, _I32, _I32])
        function = cgutils.get_or_insert_function(self.b.module, kind, "llvm.prefetch.p0")
        read, keep, data = (ir.Constant(_I32, flag) for flag in (0, 3, 1))
        for line in range(0, size, 64):
            place = self.pointer(self.b.add(block, _number(AHEAD + line)), _I8)
            self.b.call(function, [place, read, keep, data])

    def dots(self, block: Any, x: Any) -> list[list[Any]]:
        """The block's sums of q·x by row and half, added up in the same order however many rows there are.

        One half makes two sums, so that additions need not wait for each other.
        """
        parts = [[self.variable() for _ in range(2)] for _ in range(self.rows)]
        with cgutils.for_range_slice(self.b, _number(0), _number(BLOCK), _number(STEP), _I64) as (k, _):
            weights, values = self.b.add(block, self.b.mul(k, _number(LANES))), self.b.add(x, self.b.mul(k, _number(4)))
            for step in range(STEP):
                self.multiply_add(
                    weights, values, step, [row if self.halves == 2 else [row[step % 2]] for row in parts]
                )
        found = [list(map(self.b.load, row)) for row in parts]
        return found if self.halves == 2 else [[self.b.fadd(*row)] for row in found]

    def multiply_add(self, weights: Any, values: Any, k: int, totals: list[list[Any]]) -> None:
        q = self.unpack(self.load(weights, k * LANES, _vector(_I8), 16))
        for row in range(self.rows):
            place = self.b.add(values, self.b.mul(self.x_stride, _number(row)))
            xk = self.spread(self.load(place, 4 * k, _F32, 4))
            for half in range(self.halves):
                self.b.store(self.fma(q[half], xk, self.b.load(totals[row][half])), totals[row][half])

    def unpack(self, packed: Any) -> list[Any]:
        if self.bits == 8:
            return [self.b.sitofp(self.b.sext(packed, _vector(_I32)), _vector(_F32))]
        wide = self.b.zext(packed, _vector(_I32))
        halves = self.b.and_(wide, _vector(_I32, 15)), self.b.lshr(wide, _vector(_I32, 4))
        return [self.b.sitofp(half, _vector(_F32)) for half in halves]

    def scale(self, half: int, block: Any, index: Any, dots: Any, totals: Any) -> None:
        d = self.halfs(block, 512 + 32 * half)
        m = self.halfs(block, 576 + 32 * half) if self.bits == 4 else None
        for row in range(self.rows):
            total = self.fma(d, dots[row][half], self.b.load(totals[row][half]))
            if m is not None:
                place = self.b.add(self.sums, self.b.mul(self.sums_stride, _number(row)))
                place = self.b.add(place, self.b.mul(index, _number(4)))
                total = self.fma(m, self.spread(self.load(place, 0, _F32, 4)), total)
            self.b.store(total, totals[row][half])

    def variable(self) -> Any:
        place = cgutils.alloca_once(self.b, _vector(_F32))
        self.b.store(_vector(_F32, 0.0), place)
        return place

    def halfs(self, base: Any, offset: int) -> Any:
        return self.b.fpext(self.load(base, offset, _vector(_F16), 32), _vector(_F32))

    def load(self, base: Any, offset: int, kind: Any, align: int) -> Any:
        return self.b.load(self.pointer(self.b.add(base, _number(offset)), kind), align=align)

    def pointer(self, address: Any, kind: Any) -> Any:
        return self.b.inttoptr(address, kind.as_pointer())

    def spread(self, value: Any) -> Any:
        undefined = ir.Constant(_vector(_F32), ir.Undefined)
        first = self.b.insert_element(undefined, value, ir.Constant(_I32, 0))
        return self.b.shuffle_vector(first, undefined, _vector(_I32, 0))

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        kind = ir.FunctionType(_vector(_F32), [_vector(_F32)] * 3)
        function = cgutils.get_or_insert_function(self.b.module, kind, "llvm.fmuladd.v16f32")
        return self.b.call(function, [a, b, c])


def _function(name: str, write: Callable[[Any, Any], None]) -> Any:
    """An intrinsic of seven int64 whose code `write` writes: a function of its own, as copies in its callers would only
    keep the compiler busy."""

    @intrinsic  # type: ignore[untyped-decorator]
    def call(_context: Any, _a: Any, _b: Any, _c: Any, _d: Any, _e: Any, _f: Any, _g: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            kind = ir.FunctionType(ir.VoidType(), [_I64] * 7)
            function = cgutils.get_or_insert_function(builder.module, kind, name)
            if function.is_declaration:
                function.linkage = "linkonce_odr"
                function.attributes.add("noinline")
                inner = ir.IRBuilder(function.append_basic_block())
                write(inner, function.args)
                inner.ret_void()
            builder.call(function, args)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 7), generate

    return call


def _tile(bits: int, rows: int) -> Any:
    """tile(weights, x, x_stride, sums, sums_stride, y, blocks): addresses, and strides in bytes."""
    return _function(f"specee_tile_{bits}_{rows}", lambda builder, args: _Tile(builder, args, bits, rows).write())


tile4_1, tile4_2, tile4_4, tile4_8 = (_tile(4, rows) for rows in (1, 2, 4, 8))
tile8_1, tile8_2, tile8_4, tile8_8 = (_tile(8, rows) for rows in (1, 2, 4, 8))


TOGETHER_HEADS = 4
"""Heads that `mix4` takes at once."""
WIDE = 4 * LANES
"""Lanes of `mix1` to `mix4`; `mix_narrow` has 16."""


def _mix(rows: int, vectors: int) -> Any:
    """mix(weights, stride, x, x_stride, y, y_stride, count): y[r] = Σ_k x[r, k]·weights[k], over 16·`vectors` lanes.

    Addresses, and strides in bytes; `count` is the number of weights.
    """

    def write(b: Any, args: Any) -> None:
        weights, stride, x, x_stride, y, y_stride, count = args
        helper = _Tile(b, args, 8, rows)
        totals = [[helper.variable() for _ in range(vectors)] for _ in range(rows)]
        with cgutils.for_range(b, count) as loop:
            place = b.add(weights, b.mul(loop.index, stride))
            found = [helper.load(place, 4 * LANES * vector, _vector(_F32), 4) for vector in range(vectors)]
            for row in range(rows):
                at = b.add(b.add(x, b.mul(x_stride, _number(row))), b.mul(loop.index, _number(4)))
                xk = helper.spread(helper.load(at, 0, _F32, 4))
                for vector, total in enumerate(totals[row]):
                    b.store(helper.fma(found[vector], xk, b.load(total)), total)
        for row in range(rows):
            for vector, total in enumerate(totals[row]):
                at = b.add(b.add(y, b.mul(y_stride, _number(row))), _number(4 * LANES * vector))
                b.store(b.load(total), helper.pointer(at, _vector(_F32)), align=4)

    return _function(f"specee_mix_{rows}_{vectors}", write)


mix1, mix2, mix3, mix4 = (_mix(rows, WIDE // LANES) for rows in (1, 2, 3, 4))
mix_narrow = _mix(1, 1)


@intrinsic  # type: ignore[untyped-decorator]
def pointer(_context: Any, _address: Any) -> Any:
    """An address as a pointer that `carray` takes."""

    def write(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), write


@intrinsic  # type: ignore[untyped-decorator]
def count(_context: Any, _address: Any, _by: Any) -> Any:
    """Add to the counter at an address, which other threads see at once; what it held before."""

    def write(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", builder.inttoptr(args[0], _I64.as_pointer()), args[1], "seq_cst")

    return types.int64(types.int64, types.int64), write


@intrinsic  # type: ignore[untyped-decorator]
def read(_context: Any, _address: Any) -> Any:
    """What the counter at an address holds, and with it whatever was written before it was counted up."""

    def write(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.load_atomic(builder.inttoptr(args[0], _I64.as_pointer()), "acquire", 8)

    return types.int64(types.int64), write


@intrinsic  # type: ignore[untyped-decorator]
def ask(_context: Any, _address: Any) -> Any:
    """Call the C function without arguments at an address; the int that it returns."""

    def write(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        function = builder.inttoptr(args[0], ir.FunctionType(_I32, []).as_pointer())
        return builder.call(function, [])

    return types.int32(types.int64), write


# Sums may be reordered, but a NaN must come through: no `nnan`.
compiled = njit(nogil=True, fastmath={"contract", "reassoc", "nsz", "arcp"}, error_model="numpy")


@compiled
def exp(x):  # type: ignore[no-untyped-def]
    """e^x to float32's precision (Cephes' polynomial), in a form that vectorises; 0 below -87."""
    bounded = min(max(x, np.float32(-87.0)), np.float32(88.0))
    power = np.floor(bounded * np.float32(1.44269504) + np.float32(0.5))
    r = bounded - power * np.float32(0.693359375) + power * np.float32(2.12194440e-4)
    p = np.float32(1.9875691e-4)
    p = p * r + np.float32(1.3981999e-3)
    p = p * r + np.float32(8.3334519e-3)
    p = p * r + np.float32(4.1665796e-2)
    p = p * r + np.float32(1.6666665e-1)
    p = p * r + np.float32(5.0000001e-1)
    two = np.int32((np.int32(power) + 127) << 23).view(np.float32)
    return (p * r * r + r + np.float32(1.0)) * two if x >= np.float32(-87.0) else np.float32(0.0)
