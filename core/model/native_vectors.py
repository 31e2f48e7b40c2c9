"""LLVM's vector instructions, which every CPU can run, for the code of the `native` format; and threads' counters.

Numba would leave a loop to a compiler that vectorises it or not. What decides speed is therefore written as vectors of
16 float32, and called from compiled functions as intrinsics of addresses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16

I8, I32, I64, F16, F32 = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.HalfType(), ir.FloatType()


def vector(element: Any, value: Any = None) -> Any:
    """The type of a vector, or a vector of one constant."""
    kind = ir.VectorType(element, LANES)
    return kind if value is None else ir.Constant(kind, [value] * LANES)


def number(value: int) -> Any:
    """A constant address or stride."""
    return ir.Constant(I64, value)


class Writer:
    """Writes vector instructions."""

    def __init__(self, builder: Any) -> None:
        self.b = builder

    def variable(self, value: float = 0.0) -> Any:
        """A vector that may be stored to, of this constant at first."""
        place = cgutils.alloca_once(self.b, vector(F32))
        self.b.store(vector(F32, value), place)
        return place

    def load(self, base: Any, offset: int, kind: Any, align: int) -> Any:
        """What lies so many bytes behind an address."""
        return self.b.load(self.pointer(self.b.add(base, number(offset)), kind), align=align)

    def store(self, value: Any, base: Any, offset: int) -> None:
        """Write a vector of float32 so many bytes behind an address."""
        self.b.store(value, self.pointer(self.b.add(base, number(offset)), vector(F32)), align=4)

    def pointer(self, address: Any, kind: Any) -> Any:
        """An address as a pointer to this kind."""
        return self.b.inttoptr(address, kind.as_pointer())

    def at(self, base: Any, index: Any, stride: Any) -> Any:
        """The address of the index-th thing from one on."""
        return self.b.add(base, self.b.mul(index, stride))

    def spread(self, value: Any) -> Any:
        """One number in all lanes."""
        undefined = ir.Constant(vector(F32), ir.Undefined)
        first = self.b.insert_element(undefined, value, ir.Constant(I32, 0))
        return self.b.shuffle_vector(first, undefined, vector(I32, 0))

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """a·b + c."""
        return self._call("llvm.fmuladd.v16f32", a, b, c)

    def floor(self, a: Any) -> Any:
        """The next whole numbers below."""
        return self._call("llvm.floor.v16f32", a)

    def _call(self, name: str, *args: Any) -> Any:
        kind = ir.FunctionType(vector(F32), [vector(F32)] * len(args))
        return self.b.call(cgutils.get_or_insert_function(self.b.module, kind, name), args)


def function(name: str, write: Callable[[Any, Any], None]) -> Any:
    """An intrinsic of seven int64 whose code `write` writes: a function of its own, as copies in its callers would only
    keep the compiler busy."""

    @intrinsic  # type: ignore[untyped-decorator]
    def call(_context: Any, _a: Any, _b: Any, _c: Any, _d: Any, _e: Any, _f: Any, _g: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            kind = ir.FunctionType(ir.VoidType(), [I64] * 7)
            found = cgutils.get_or_insert_function(builder.module, kind, name)
            if found.is_declaration:
                found.linkage = "linkonce_odr"
                found.attributes.add("noinline")
                inner = ir.IRBuilder(found.append_basic_block())
                write(inner, found.args)
                inner.ret_void()
            builder.call(found, args)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 7), generate

    return call


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
        return builder.atomic_rmw("add", builder.inttoptr(args[0], I64.as_pointer()), args[1], "seq_cst")

    return types.int64(types.int64, types.int64), write


@intrinsic  # type: ignore[untyped-decorator]
def read(_context: Any, _address: Any) -> Any:
    """What the counter at an address holds, and with it whatever was written before it was counted up."""

    def write(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.load_atomic(builder.inttoptr(args[0], I64.as_pointer()), "acquire", 8)

    return types.int64(types.int64), write


@intrinsic  # type: ignore[untyped-decorator]
def ask(_context: Any, _address: Any) -> Any:
    """Call the C function without arguments at an address; the int that it returns."""

    def write(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        function = builder.inttoptr(args[0], ir.FunctionType(I32, []).as_pointer())
        return builder.call(function, [])

    return types.int32(types.int64), write


# Sums may be reordered, but a NaN must come through: no `nnan`.
compiled = njit(nogil=True, fastmath={"contract", "reassoc", "nsz", "arcp"}, error_model="numpy")
