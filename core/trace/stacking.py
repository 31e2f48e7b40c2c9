"""One field's columns of many stretches, decoded together: NumPy works on thousands of numbers at a time then.

Only what is as writers make it is taken: numbers of the field's type, and arrays that all have one shape. Everything
else is left to `core.trace.packing`, which knows all that a column may be.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.trace.codec import MOST_AXES, WIDTHS, BadColumn, Kind, Reader
from core.trace.events import BoolArray, IntArray

MOST_IN_SERIES = 2**16
"""Numbers of one even series, which takes next to no bytes."""
MOST_VALUES = 2**22
"""Numbers, and values that hold them, that are decoded together of all fields: a portion of the largest models' runs
has a tenth of that. They take 8 bytes each, for a moment a few times."""
_BOUND = 2**63
_SIZES: dict[int, int] = {Kind.SINGLE: 4, Kind.DOUBLE: 8}
KINDS_OF: dict[type[np.generic], frozenset[int]] = {
    np.int64: frozenset((Kind.SERIES, Kind.WHOLE)),
    np.float32: frozenset((Kind.SINGLE,)),
    np.float64: frozenset((Kind.SINGLE, Kind.DOUBLE)),
    np.bool_: frozenset((Kind.FLAGS,)),
}
Shape = tuple[int | None, ...]
"""Lengths; None for one of any length."""
_Data = bytes | tuple[int, int]
"""Numbers as bytes; of an even series its first number and step."""


class Likeness(NamedTuple):
    """What columns share that are decoded together."""

    places: int
    """For values."""
    present: int
    """How many values are there."""
    kind: int
    """Of the numbers, a `codec.Kind`."""
    width: int
    """Of whole numbers, a place in `codec.WIDTHS`."""
    numbers: int


class Taken(NamedTuple):
    """One stretch's column, not yet decoded."""

    like: Likeness
    flags: bytes
    """Which values are there; empty where all values are plain numbers."""
    data: _Data
    sizes: IntArray | None = None
    """Shape [present, axes], lengths of arrays that are not alike (`core.trace.ragged`)."""


@dataclass(frozen=True, slots=True)
class Values:
    """A field of m events."""

    values: NDArray[Any]
    """Shape [p, …], those that are there; of arrays that are not alike all numbers, one array after the other."""
    present: BoolArray
    """Shape [m], p of them True."""
    sizes: IntArray | None = None
    """Shape [p, axes], the lengths of arrays that are not alike; None where all are."""

    def kept(self, which: BoolArray) -> Values:
        """Only of those events; shape [m]."""
        there = which[self.present]
        if self.sizes is None:
            return Values(self.values[there], self.present[which])
        return Values(self.values[np.repeat(there, self.counts)], self.present[which], self.sizes[there])

    def lengths(self, axis: int) -> IntArray:
        """Of those that are there, along an axis. Shape [p]."""
        return np.full(len(self.values), self.values.shape[1 + axis]) if self.sizes is None else self.sizes[:, axis]

    @property
    def counts(self) -> IntArray:
        """How many numbers each of those that are there has. Shape [p]."""
        if self.sizes is not None:
            found: IntArray = self.sizes.prod(1)
            return found
        return np.full(len(self.values), prod(self.values.shape[1:]))

    @property
    def owners(self) -> IntArray:
        """The event that each number is of, as a place among the m. Shape [numbers]."""
        return np.repeat(np.flatnonzero(self.present), self.counts)

    @property
    def texts(self) -> list[bytes]:
        """The values of a field that holds texts."""
        ends = np.cumsum(self.counts).tolist()
        return [self.values[begin:end].tobytes() for begin, end in zip([0, *ends], ends, strict=False)]


class Stack:
    """Takes a field's columns, one a stretch, and decodes them in the end."""

    def __init__(self, dtype: type[np.generic], shape: Shape | None, *, optional: bool = False) -> None:
        """Of numbers of one type.

        Args:
            dtype: int64, float32, float64 or bool.
            shape: what the field's arrays have to be like; None where it holds plain numbers.
            optional: whether arrays may be missing.
        """
        self._dtype, self._kinds, self._wanted, self._optional = dtype, KINDS_OF[dtype], shape, optional
        self._shape: tuple[int, ...] | None = None
        self._heads: dict[int, dict[bytes, tuple[int, ...]]] = {}
        """By the number of arrays, the bytes that tell their shapes, and the one shape that they tell."""
        self._groups: dict[Likeness, list[tuple[int, Taken]]] = {}

    def look(self, count: int, column: bytes) -> Taken:
        """The column of `count` values, checked but not decoded.

        Raises:
            BadColumn: it is not of the usual kind.
        """
        if self._wanted is None:
            return taken(self._kinds, column, 0, (count, count, count), b"")
        flags, present = present_in(count, column, optional=self._optional)
        if not present:
            return Taken(Likeness(count, 0, Kind.SERIES, 0, 0), flags, (0, 0))
        begin = 1 + len(flags)
        size, shape = self._head(column, begin, present)
        return taken(self._kinds, column, begin + size, (count, present, present * prod(shape)), flags)

    def take(self, place: int, one: Taken) -> None:
        """Keep the column of the stretch that is the `place`-th here."""
        self._groups.setdefault(one.like, []).append((place, one))

    def values(self, starts: IntArray, total: int) -> Values:
        """All values; those of the stretch at a place begin at `starts`[place], of `total` in all."""
        present, rows = np.zeros(total, np.bool_), []
        for like, group in self._groups.items():
            at = starts[[place for place, _ in group]][:, None] + np.arange(like.places)
            rows.append(at[flags_of(like, [one.flags for _, one in group])])
            present[rows[-1]] = True
        shape, before = self._shape or tuple(length or 0 for length in self._wanted or ()), np.cumsum(present) - 1
        values = np.zeros((int(present.sum()), *shape), self._dtype)
        for (like, group), at in zip(self._groups.items(), rows, strict=True):
            if like.present:
                values[before[at]] = decoded(like, [one.data for _, one in group]).reshape(len(at), *shape)
        return Values(values, present)

    def _head(self, column: bytes, at: int, present: int) -> tuple[int, tuple[int, ...]]:
        """How many bytes tell the arrays' shapes, and their shape."""
        known = self._heads.setdefault(present, {})
        for head, shape in known.items():
            if column.startswith(head, at):
                return len(head), shape
        reader = Reader(column)
        reader.skip(at)
        shape = self._one_shape(reader, present)
        known[column[at : reader.place]] = shape
        return reader.place - at, shape

    def _one_shape(self, reader: Reader, present: int) -> tuple[int, ...]:
        axes = reader.sizes(present)
        if axes[0] > MOST_AXES or axes != axes[:1] * present:
            raise BadColumn("its arrays are not alike")
        lengths = reader.sizes(sum(axes))
        shape = tuple(lengths[: axes[0]])
        if lengths != list(shape) * present or not self._fits(shape):
            raise BadColumn("its arrays are not alike")
        self._shape = shape
        return shape

    def _fits(self, shape: tuple[int, ...]) -> bool:
        wanted = self._wanted or ()
        alike = all(one in (None, length) for one, length in zip(wanted, shape, strict=False))
        return alike and len(shape) == len(wanted) and self._shape in (None, shape)


def present_in(count: int, column: bytes, *, optional: bool) -> tuple[bytes, int]:
    """Which of a column's `count` arrays are there, as bits, and how many that are.

    Raises:
        BadColumn: it holds no arrays, or some are missing that are not `optional`.
    """
    flags = column[1 : 1 + (count + 7) // 8]
    bits = int.from_bytes(flags, "big")
    beyond = bits & ((1 << -count % 8) - 1)
    present = bits.bit_count()
    if len(column) <= 1 + len(flags) or column[0] != Kind.ARRAYS or beyond or not (present == count or optional):
        raise BadColumn("it holds other arrays")
    return flags, present


def taken(kinds: frozenset[int], column: bytes, at: int, counts: tuple[int, int, int], flags: bytes) -> Taken:
    """A column's numbers, which begin at a place, checked but not decoded.

    Args:
        kinds: of numbers that may stand there.
        column: the whole column.
        at: where they begin.
        counts: of values, of values that are there, and of numbers.
        flags: which values are there.

    Raises:
        BadColumn: they are of another kind, or others in number.
    """
    count, present, numbers = counts
    kind = column[at] if at < len(column) else -1
    if kind not in kinds:
        raise BadColumn("its numbers are of another type")
    if kind == Kind.SERIES:
        return Taken(Likeness(count, present, kind, 0, numbers), flags, _series(column, at + 1, numbers))
    begin = at + 1 + (kind == Kind.WHOLE)
    width = column[at + 1] if kind == Kind.WHOLE and begin <= len(column) else 0
    if width >= len(WIDTHS) or len(column) - begin != _bytes_of(kind, width, numbers):
        raise BadColumn("it has another length")
    return Taken(Likeness(count, present, kind, width, numbers), flags, column[begin:])


def _bytes_of(kind: int, width: int, numbers: int) -> int:
    if kind == Kind.FLAGS:
        return (numbers + 7) // 8
    return numbers * _SIZES.get(kind, WIDTHS[width].itemsize)


def _series(column: bytes, at: int, count: int) -> tuple[int, int]:
    reader = Reader(column)
    reader.skip(at)
    first, step = reader.number(), reader.number()
    if count > MOST_IN_SERIES or max(abs(first), abs(step), abs(first + step * (count - 1))) >= _BOUND:
        raise BadColumn("a number in it is too large")
    return first, step


def flags_of(like: Likeness, flags: list[bytes]) -> BoolArray:
    """Which values are there. Shape [columns, count]."""
    if not flags[0]:
        return np.full((len(flags), like.places), like.present > 0, np.bool_)
    packed = np.frombuffer(b"".join(flags), np.uint8).reshape(len(flags), -1)
    return np.unpackbits(packed, axis=1, count=like.places).view(np.bool_)


def decoded(like: Likeness, data: list[_Data]) -> NDArray[Any]:
    """The numbers of columns that are alike. Shape [columns, numbers]."""
    if like.kind == Kind.SERIES:
        ends = np.array(data, np.int64)
        return ends[:, :1] + ends[:, 1:] * np.arange(like.numbers)
    joined = b"".join(one for one in data if isinstance(one, bytes))
    if not joined:
        return np.zeros((len(data), 0), np.bool_)
    rows = np.frombuffer(joined, np.uint8).reshape(len(data), -1)
    if like.kind == Kind.BYTES:
        return rows
    if like.kind == Kind.FLAGS:
        return np.unpackbits(rows, axis=1, count=like.numbers).view(np.bool_)
    if like.kind == Kind.WHOLE:
        return rows.view(WIDTHS[like.width])
    size = _SIZES[like.kind]
    mixed = rows.reshape(len(rows), size, like.numbers).transpose(0, 2, 1)
    return np.ascontiguousarray(mixed).view(f"<f{size}")[..., 0]
