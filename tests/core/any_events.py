"""Any events at all, made from the types of their fields: what storing them must not depend on."""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import Any

import numpy as np
from hypothesis import strategies as st

from core.choices import Policy
from core.config import RunSettings, SchedulerSettings, TreeSettings
from core.trace.events import BoolArray, Branch, Event, FloatArray, IntArray, KVUpdated
from core.trace.fields import KINDS, hints_of

_ODD = (np.nan, np.inf, -np.inf, -0.0, 3.4e38, 1e-45)


def _floats(seed: int, shape: tuple[int, ...]) -> FloatArray:
    chance = np.random.default_rng(seed)
    made = chance.normal(size=shape).astype(np.float32)
    return np.where(chance.random(shape) < 0.3, chance.choice(_ODD, shape), made).astype(np.float32)


def _whole(seed: int, shape: tuple[int, ...]) -> IntArray:
    chance = np.random.default_rng(seed)
    most = int(chance.choice([1, 100, 2**15, 2**40, 2**62]))
    return chance.integers(-most, most, shape)


def _flags(seed: int, shape: tuple[int, ...]) -> BoolArray:
    return np.random.default_rng(seed).random(shape) < 0.5


_SHAPES = st.lists(st.integers(0, 5), min_size=1, max_size=3).map(tuple)
_SEEDS = st.integers(0, 2**16)
_TEXTS = st.text(st.characters(codec=None), max_size=8)
_SETTINGS = st.sampled_from(
    [
        RunSettings(),
        RunSettings(Policy.DENSE, stop=("é",), tree=TreeSettings("4-2")),
        RunSettings(threshold=0.25, layer_thresholds=((3, 0.5),), scheduler=SchedulerSettings(window=2, distinct=True)),
    ]
)
_NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(-3, 40)
_ARRAYS = {
    FloatArray: st.builds(_floats, _SEEDS, _SHAPES),
    IntArray: st.builds(_whole, _SEEDS, _SHAPES),
    BoolArray: st.builds(_flags, _SEEDS, _SHAPES),
}
_SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    int: _NUMBERS,
    float: st.floats(),
    bool: st.booleans(),
    str: _TEXTS,
    bytes: st.binary(max_size=6),
    RunSettings: _SETTINGS,
    tuple[bytes, ...]: st.lists(st.binary(max_size=4), max_size=5).map(tuple),
    Branch | None: st.none() | st.builds(Branch, _NUMBERS, _NUMBERS, _NUMBERS, st.lists(_TEXTS, max_size=3).map(tuple)),
}


def of_type(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a field's type."""
    for array, strategy in _ARRAYS.items():
        if hint in (array, array | None):
            return strategy if hint == array else strategy | st.none()
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return st.builds(hint, **{name: of_type(part) for name, part in hints_of(hint).items()})
    return st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=2)


def events_of(name: str) -> st.SearchStrategy[Event]:
    """Any event of a kind."""
    fields = {field: of_type(hint) for field, hint in hints_of(KINDS[name]).items()}
    if name == KVUpdated.__name__:
        fields["recomputed"] = st.builds(_whole, _SEEDS, st.tuples(st.integers(0, 4), st.just(3)))
    return st.builds(KINDS[name], **fields)


ANY_EVENT = st.one_of([events_of(name) for name in KINDS])


def same(one: Any, other: Any) -> bool:
    """Whether two fields' values are the same to the bit, NaN being equal to itself."""
    if isinstance(one, np.ndarray):
        kind = one.dtype.kind == "f"
        return one.dtype == other.dtype and one.shape == other.shape and np.array_equal(one, other, equal_nan=kind)
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        parts = [(getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(one)]
        return type(one) is type(other) and all(same(*pair) for pair in parts)
    if isinstance(one, float) and one != one:
        return bool(other != other)
    return bool(one == other)


def same_events(ones: list[Event], others: list[Event]) -> bool:
    """Whether two series of events are the same, field by field."""
    return len(ones) == len(others) and all(map(same, ones, others))
