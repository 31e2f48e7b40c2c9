"""Lazy sequences behave as lists, and make only what is looked at."""

from __future__ import annotations

import pytest

from core.trace.lazy import Lazy


class Squares(Lazy[int]):
    def __init__(self, count: int) -> None:
        self.count, self.made = count, list[int]()

    def __len__(self) -> int:
        return self.count

    def item(self, place: int) -> int:
        self.made.append(place)
        return place * place


@pytest.mark.parametrize(
    "at", [slice(None), slice(2, 5), slice(None, None, -2), slice(8, 2, -3), slice(5, 5), slice(3, 99)]
)
def test_that_a_slice_holds_what_a_lists_slice_does_and_so_does_a_slice_of_it(at: slice) -> None:
    squares, plain = Squares(9), [n * n for n in range(9)]
    assert list(squares[at]) == plain[at]
    assert list(squares[at][1:]) == plain[at][1:]


def test_that_only_what_is_looked_at_is_made() -> None:
    squares = Squares(9)
    assert squares[2:][-1] == 64
    assert squares[-2] == 49
    assert squares.made == [8, 7]


def test_that_a_place_outside_is_refused() -> None:
    with pytest.raises(IndexError):
        Squares(3)[3]
