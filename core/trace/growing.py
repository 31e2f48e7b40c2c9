"""Arrays that a run adds to, token by token."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_LEAST = 64


class Growing:
    """An array whose tail is replaced and added to in time that does not grow with its length."""

    def __init__(self, dtype: type[np.generic], width: tuple[int, ...] = ()) -> None:
        self._buffer: NDArray[Any] = np.zeros((_LEAST, *width), dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def values(self) -> NDArray[Any]:
        """What is there, shape [n, *width]; a view that stays as it is until its own entries are replaced."""
        return self._buffer[: self._count]

    def replace(self, first: int, rows: ArrayLike) -> None:
        """Put `rows`, shape [m, *width], in the place of all entries from `first` on.

        Raises:
            ValueError: entries before `first` are missing.
        """
        if not 0 <= first <= self._count:
            raise ValueError(f"entries start at {first}, but {self._count} are there")
        added = np.asarray(rows, self._buffer.dtype).reshape(-1, *self._buffer.shape[1:])
        self._reserve(first, first + len(added))
        self._buffer[first : first + len(added)] = added
        self._count = first + len(added)

    def _reserve(self, kept: int, count: int) -> None:
        if count <= len(self._buffer):
            return
        grown = np.zeros((1 << (count - 1).bit_length(), *self._buffer.shape[1:]), self._buffer.dtype)
        grown[:kept] = self._buffer[:kept]
        self._buffer = grown
