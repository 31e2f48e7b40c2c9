"""One field's columns of many stretches where arrays are not alike, or where the values are texts.

As `core.trace.stacking`, but all numbers lie one after the other, with the lengths of each array beside them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from core.trace.codec import BadColumn, Kind, Reader
from core.trace.events import IntArray
from core.trace.stacking import KINDS_OF, MOST_VALUES, Likeness, Taken, Values, decoded, flags_of, present_in, taken


class Ragged:
    """Takes a field's columns, one a stretch in their order, and decodes them in the end."""

    def __init__(self, dtype: type[np.generic], axes: int, *, optional: bool = False) -> None:
        """Of arrays of one type.

        Args:
            dtype: int64, float32 or bool; uint8 for texts.
            axes: how many each array has; 1 for texts.
            optional: whether arrays may be missing.
        """
        self._dtype, self._axes, self._optional = dtype, axes, optional
        self._taken: list[tuple[int, Taken]] = []

    def look(self, count: int, column: bytes) -> Taken:
        """The column of `count` values, checked but not decoded.

        Raises:
            BadColumn: it is not of the usual kind.
        """
        return self._texts(count, column) if self._dtype is np.uint8 else self._arrays(count, column)

    def take(self, place: int, one: Taken) -> None:
        """Keep the column of the stretch that is the `place`-th here."""
        self._taken.append((place, one))

    def values(self, starts: IntArray, total: int) -> Values:
        """All values; those of the stretch at a place begin at `starts`[place], of `total` in all."""
        present = np.zeros(total, np.bool_)
        numbers = np.array([one.like.numbers for _, one in self._taken], np.int64)
        before = np.cumsum(numbers) - numbers
        flat: Any = np.zeros(int(numbers.sum()), self._dtype)
        for like, group in self._groups().items():
            columns = [self._taken[at][1] for at in group]
            at = starts[[self._taken[one][0] for one in group]][:, None] + np.arange(like.places)
            present[at[flags_of(like, [one.flags for one in columns])]] = True
            if like.numbers:
                flat[before[group][:, None] + np.arange(like.numbers)] = decoded(like, [one.data for one in columns])
        sizes = [one.sizes for _, one in self._taken if one.sizes is not None]
        return Values(flat, present, np.concatenate([np.zeros((0, self._axes), np.int64), *sizes]))

    def _groups(self) -> dict[Likeness, list[int]]:
        """Which columns are decoded together."""
        groups: dict[Likeness, list[int]] = {}
        for at, (_, one) in enumerate(self._taken):
            groups.setdefault(one.like, []).append(at)
        return groups

    def _texts(self, count: int, column: bytes) -> Taken:
        if column[:1] != bytes([Kind.BYTES]):
            raise BadColumn("its values are no texts")
        reader = Reader(column)
        reader.skip(1)
        sizes = reader.sizes(count)
        if reader.place + sum(sizes) != len(column):
            raise BadColumn("it has another length")
        like = Likeness(count, count, Kind.BYTES, 0, sum(sizes))
        return Taken(like, b"", column[reader.place :], np.array(sizes, np.int64)[:, None])

    def _arrays(self, count: int, column: bytes) -> Taken:
        flags, present = present_in(count, column, optional=self._optional)
        if not present:
            return Taken(Likeness(count, 0, Kind.SERIES, 0, 0), flags, (0, 0))
        reader = Reader(column)
        reader.skip(1 + len(flags))
        if reader.sizes(present) != [self._axes] * present:
            raise BadColumn("its arrays have other axes")
        sizes = np.array(reader.sizes(self._axes * present), np.int64).reshape(present, self._axes)
        numbers = float(sizes.prod(1, dtype=np.float64).sum())
        if numbers > MOST_VALUES:  # else it is exact
            raise BadColumn("its arrays are too long")
        one = taken(KINDS_OF[self._dtype], column, reader.place, (count, present, int(numbers)), flags)
        return one._replace(sizes=sizes)
