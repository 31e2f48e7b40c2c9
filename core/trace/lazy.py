"""Sequences whose items are read or made when somebody looks at them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class Lazy(Sequence[T]):
    """Override `__len__` and `item`; slices are lazy, too."""

    @abstractmethod
    def item(self, place: int, /) -> T:
        """The one at this place, 0…n - 1."""

    @overload
    def __getitem__(self, at: int) -> T: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...

    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        places = range(len(self))[at]
        return self.item(places) if isinstance(places, int) else _Part(self, places)


class _Part(Lazy[T]):
    """Some of the items, in the order of `places`."""

    def __init__(self, of: Lazy[T], places: range) -> None:
        self._of, self._places = of, places

    def __len__(self) -> int:
        return len(self._places)

    def item(self, place: int) -> T:
        return self._of.item(self._places[place])
