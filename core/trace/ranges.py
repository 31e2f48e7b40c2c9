"""Small checks of one value each; each raises `Unfit` with a clause that names the value."""

from __future__ import annotations

import math
from collections.abc import Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.trace.events import IntArray, ModelInfo

MOST_NUMBER = 2**53
"""Ids, positions and counts are below it, where JSON readers everywhere are exact."""


class Unfit(ValueError):
    """An event does not fit; the text is a clause that says why."""


def within(name: str, value: int, least: int, most: int) -> None:
    """A whole number in a range, both ends included."""
    if not least <= value <= most:
        raise Unfit(f"its {name} is {value}, which is not between {least} and {most}")


def all_within(name: str, values: IntArray, least: int, most: int) -> None:
    """Whole numbers, each in a range."""
    wrong = values[(values < least) | (values > most)]
    if wrong.size:
        within(name, int(wrong.flat[0]), least, most)


def known_ids(name: str, values: IntArray | int, model: ModelInfo) -> None:
    """Tokens of the model's vocabulary."""
    all_within(name, np.atleast_1d(np.asarray(values, np.int64)), 0, model.vocabulary - 1)


def shaped(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    """An array of this very shape."""
    if array.shape != shape:
        raise Unfit(f"its {name} have the shape {list(array.shape)} instead of {list(shape)}")


def listed(name: str, array: NDArray[Any]) -> int:
    """A list of values, of any length; returns that."""
    if array.ndim != 1:
        raise Unfit(f"its {name} are no list")
    return len(array)


def counted(name: str, values: Sized, count: int) -> None:
    """So many values."""
    if len(values) != count:
        raise Unfit(f"its {name} are {len(values)} instead of {count}")


def finite(name: str, value: float) -> None:
    """A number that is neither infinite nor missing."""
    if not math.isfinite(value):
        raise Unfit(f"its {name} hold something that is no number")
