"""Columns of values as bytes and back: what packed events are made of. Nothing that is read can run or grow.

A column is a byte that names its kind, then its values. Whole numbers take the fewest bytes that hold them all, an
even series (0, 1, 2, … or 7, 7, 7, …) only its start and step; the bytes of floating numbers are written first bytes
first, so that those that are alike stand together for the compressor.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from itertools import accumulate, islice
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Kind(IntEnum):
    """The first byte of a column."""

    SERIES = 0
    WHOLE = 1
    SINGLE = 2
    DOUBLE = 3
    FLAGS = 4
    BYTES = 5
    ARRAYS = 6


_SINGLE, _DOUBLE = np.dtype("<f4"), np.dtype("<f8")
WIDTHS = tuple(np.dtype(f"<i{size}") for size in (1, 2, 4, 8))
_BOUNDS = tuple(2 ** (8 * dtype.itemsize - 1) for dtype in WIDTHS)
_LONGEST = 10
"""Bytes of a whole number."""
MOST_AXES = 4
MOST_IN_SERIES = 2**22
"""Whole numbers that all even series of one stretch may make; they take next to no bytes, so that nothing else would
hold them back."""


class BadColumn(ValueError):
    """These bytes are no columns; the text is a clause that says why."""


class Reader:
    """Takes columns off a stretch of bytes, in the order they were written.

    Every method raises `BadColumn` for bytes that no writer made, before it takes memory for what they promise.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._series_left = MOST_IN_SERIES

    @property
    def place(self) -> int:
        """How many bytes have been taken."""
        return self._at

    def skip(self, count: int) -> None:
        """Leave out the next `count` bytes."""
        self._at += count
        if count < 0 or self._at > len(self._data):
            raise BadColumn("it ends too soon")

    def skip_framed(self, count: int) -> None:
        """Leave out so many pieces, each behind its length."""
        data, at = self._data, self._at
        for _ in range(count):
            first, second = data[at], data[at + 1] if at + 1 < len(data) else 0
            if first < 0x80:
                at += 1 + (first >> 1)
            elif second < 0x80:  # the length is one of two bytes, as most others are
                at += 2 + ((first & 0x7F | second << 7) >> 1)
            else:
                self._at = at
                self.skip(self.number())
                at = self._at
        self._at = at
        self.skip(0)

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        start, self._at = self._at, self._at + count
        if count < 0 or self._at > len(self._data):
            raise BadColumn("it ends too soon")
        return self._data[start : self._at]

    def number(self) -> int:
        """A whole number of any sign, below 2^69 either way."""
        if self._at < len(self._data) and (byte := self._data[self._at]) < 0x80:  # as most are
            self._at += 1
            return (byte >> 1) ^ -(byte & 1)
        value = shift = 0
        for byte in self._data[self._at : self._at + _LONGEST]:
            self._at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
        raise BadColumn("a number in it has no end")

    def column(self, count: int) -> Column:
        """A column of `count` values, whatever they are."""
        match self.take(1)[0]:
            case Kind.SERIES | Kind.WHOLE as kind:
                return self._whole(kind, count)
            case Kind.SINGLE:
                return self._floats(_SINGLE, count)
            case Kind.DOUBLE:
                return self._floats(_DOUBLE, count)
            case Kind.FLAGS:
                return self._flags(count)
            case Kind.BYTES:
                return self._texts(count)
            case Kind.ARRAYS:
                return self._arrays(count)
        raise BadColumn("it holds a column of no known kind")

    def sizes(self, count: int) -> list[int]:
        """A column of `count` whole numbers that are none of them negative."""
        found = self._whole(self.take(1)[0], count)
        if count and min(found) < 0:
            raise BadColumn("a size in it is none")
        return found

    def _whole(self, kind: int, count: int) -> list[int]:
        if kind == Kind.SERIES:
            return self._series(self.number(), self.number(), count)
        if kind != Kind.WHOLE or (width := self.take(1)[0]) >= len(WIDTHS):
            raise BadColumn("a number in it is none")
        values: list[int] = np.frombuffer(self.take(count * WIDTHS[width].itemsize), WIDTHS[width]).tolist()
        return values

    def _series(self, first: int, step: int, count: int) -> list[int]:
        self._series_left -= count
        if max(abs(first), abs(first + step * (count - 1))) >= _BOUNDS[-1] or self._series_left < 0:
            raise BadColumn("a number in it is too large")
        return list(range(first, first + step * count, step)) if step else [first] * count

    def _floats(self, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
        mixed = np.frombuffer(self.take(count * dtype.itemsize), np.uint8)
        return np.ascontiguousarray(mixed.reshape(dtype.itemsize, count).T).view(dtype).reshape(count)

    def _flags(self, count: int) -> NDArray[np.bool_]:
        bits = np.frombuffer(self.take((count + 7) // 8), np.uint8)
        return np.unpackbits(bits, count=count).view(np.bool_)

    def _texts(self, count: int) -> list[bytes]:
        return [self.take(size) for size in self.sizes(count)]

    def _arrays(self, count: int) -> list[NDArray[Any] | None]:
        there = self._flags(count).tolist()
        axes = self.sizes(sum(there))
        if axes and max(axes) > MOST_AXES:
            raise BadColumn("an array in it has too many axes")
        lengths = iter(self.sizes(sum(axes)))
        shapes = [tuple(islice(lengths, size)) for size in axes]
        numbers = self.column(sum(map(prod, shapes)))
        flat = np.array(numbers, np.int64) if isinstance(numbers, list) else numbers
        return _cut(flat, there, shapes)


Column = list[int] | list[bytes] | list[NDArray[Any] | None] | NDArray[Any]
"""Whole numbers, texts, arrays (some of them None), or float32, float64 or bool numbers of shape [n]."""


_SERIES, _WHOLE, _SINGLES, _DOUBLES, _FLAGS, _BYTES, _ARRAYS = (bytes([kind]) for kind in Kind)


def number(value: int) -> bytes:
    """A whole number as `Reader.number` takes it."""
    value = value * 2 if value >= 0 else -value * 2 - 1
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def whole(values: Sequence[int]) -> bytes:
    """A column of whole numbers; raises `OverflowError` where one needs more than 64 bits."""
    count = len(values)
    first = int(values[0]) if count else 0
    step = int(values[1]) - first if count > 1 else 0
    if count < 2 or values == list(range(first, first + step * count, step) if step else [first] * count):
        if not -_BOUNDS[-1] < first < _BOUNDS[-1]:
            raise OverflowError("a whole number needs more than 64 bits")
        return _SERIES + number(first) + number(step)
    low, high = min(values), max(values)
    width = next((at for at, bound in enumerate(_BOUNDS) if -bound <= low and high < bound), len(_BOUNDS) - 1)
    return _WHOLE + bytes([width]) + np.array(values, WIDTHS[width]).tobytes()


def floats(values: Sequence[float]) -> bytes:
    """A column of floating numbers in double precision."""
    return _DOUBLES + _mixed(np.array(values, "<f8"))


def singles(values: NDArray[np.float32]) -> bytes:
    """A column of floating numbers in single precision."""
    return _SINGLES + _mixed(values)


def _mixed(array: NDArray[Any]) -> bytes:
    return array.view(np.uint8).reshape(len(array), array.itemsize).T.tobytes()


def flags(values: ArrayLike) -> bytes:
    """A column of truth values."""
    return _FLAGS + np.packbits(np.asarray(values, np.bool_)).tobytes()


def texts(values: Sequence[bytes]) -> bytes:
    """A column of byte strings."""
    return _BYTES + whole([len(value) for value in values]) + b"".join(values)


def arrays(values: Sequence[NDArray[Any] | None]) -> bytes:
    """A column of arrays of one type, int64, float32 or bool, some of them None."""
    there = [value for value in values if value is not None]
    shapes = [length for value in there for length in value.shape]
    present = flags([value is not None for value in values])[1:]
    head = _ARRAYS + present + whole([value.ndim for value in there]) + whole(shapes)
    return head + _flat(np.concatenate([value.ravel() for value in there]) if there else np.zeros(0, np.int64))


def _flat(values: NDArray[Any]) -> bytes:
    if values.dtype == np.float32:
        return singles(values)
    return flags(values) if values.dtype == np.bool_ else whole(values.tolist())


def _cut(flat: NDArray[Any], there: list[bool], shapes: list[tuple[int, ...]]) -> list[NDArray[Any] | None]:
    ends = list(accumulate(map(prod, shapes)))
    made = [flat[start:end].reshape(shape) for start, end, shape in zip([0, *ends], ends, shapes, strict=False)]
    following = iter(made)
    return [next(following) if present else None for present in there]
