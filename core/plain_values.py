"""Frozen settings from plain values, as a trace or a card of trained parts carries them.

Every value must be of the type that its field declares: a threshold written as text would otherwise pass every
comparison until it fails in the middle of a run.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from enum import Enum
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def from_plain(kind: type[T], values: object, *, required: Sequence[str] = ()) -> T:
    """An object of the dataclass `kind` from what `dataclasses.asdict` gave, perhaps by way of JSON.

    Args:
        kind: fields may be numbers, text, enums of text, tuples of these, or other such dataclasses.
        values: a field that is missing keeps its default.
        required: fields that may not be missing.

    Raises:
        TypeError, ValueError, OverflowError: a value is of another type, not finite, missing or unknown; the text tells
            which.
        Whatever `kind` itself refuses it with.
    """
    if not isinstance(values, dict):
        raise TypeError(f"{_shown(values)} where named values belong")
    hints = _hints(kind)
    if wrong := [name for name in values if name not in hints]:
        raise ValueError(f"{_shown(wrong[0])} is no setting")
    if missing := [name for name in required if name not in values]:
        raise ValueError(f"{missing[0]} is missing")
    return kind(**{name: _read(name, hints[name], value) for name, value in values.items()})


_HINTS: dict[type, dict[str, Any]] = {}
"""The types of the fields by dataclass, kept: Python compiles every annotation anew each time it is asked."""


def _hints(kind: type) -> dict[str, Any]:
    if kind not in _HINTS:
        _HINTS[kind] = get_type_hints(kind)
    return _HINTS[kind]


def _read(name: str, kind: Any, value: object) -> Any:
    if get_origin(kind) is tuple:
        return _read_tuple(name, get_args(kind), value)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return from_plain(kind, value)
    if issubclass(kind, Enum):
        return kind(value)
    if kind is float and isinstance(value, int | float) and type(value) is not bool and math.isfinite(value):
        return float(value)
    if type(value) is not kind or kind is float:  # a bool is no int here
        raise TypeError(f"{name} is {_shown(value)} instead of {_NAMES[kind]}")
    return value


def _read_tuple(name: str, kinds: tuple[Any, ...], value: object) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"{name} is {_shown(value)} instead of a list")
    if kinds[-1] is Ellipsis:
        kinds = kinds[:1] * len(value)
    if len(kinds) != len(value):
        raise ValueError(f"{name} holds {len(value)} values instead of {len(kinds)}")
    return tuple(_read(name, kind, item) for kind, item in zip(kinds, value, strict=True))


def _shown(value: object) -> str:
    return f"{value!r:.40}"


_NAMES = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
