"""The values that events hold as plain JSON values: arrays are lists, bytes base64, NaN null."""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from core.config import RunSettings
from core.plain_values import from_plain
from core.trace import events


def to_json_value(value: Any) -> Any:
    """A field's value as JSON has it."""
    if isinstance(value, np.ndarray):
        return to_json_value(value.tolist())
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [to_json_value(item) for item in value]
    if isinstance(value, RunSettings):
        return to_json_value(value.to_json())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_json_value(dataclasses.asdict(value))
    if isinstance(value, Mapping):
        return {name: to_json_value(item) for name, item in value.items()}
    return value


def from_json_value(kind: Any, value: Any) -> Any:
    """The value of a field of type `kind` that `to_json_value` gave this for.

    Raises:
        UserError, ValueError, TypeError, AttributeError, ArithmeticError: it gave no such thing.
    """
    if kind in DTYPES:
        return _array(value, DTYPES[kind])
    if kind == events.FloatArray | None:
        return None if value is None else _array(value, np.float32)
    if kind == events.Branch | None:
        return None if value is None else from_plain(events.Branch, value, required=("origin", "token", "given"))
    if kind is bytes:
        return base64.b64decode(value, validate=True)
    if kind == tuple[bytes, ...]:
        return tuple(base64.b64decode(item, validate=True) for item in value)
    if kind is RunSettings:
        return RunSettings.from_json(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return from_plain(kind, value)
    if kind is float:
        return _float(value)
    if kind == Mapping[str, str]:
        return {_instance(str, name): _instance(str, text) for name, text in value.items()}
    return _instance(kind, value)


def _instance(kind: type[Any], value: Any) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{value!r:.40} where a {kind.__name__} belongs")
    if kind is int and not -(2**63) < value < 2**63:
        raise ValueError(f"{value!r:.40} is too large a number")
    return value


def _float(value: Any) -> float:
    if isinstance(value, str | bool):
        raise TypeError(f"{value!r:.40} where a number belongs")
    return math.nan if value is None else float(value)


def _array(value: Any, dtype: type[Any]) -> Any:
    items = np.array(value, dtype=object)
    wanted = _ITEMS[dtype]
    for item in items.flat:
        if type(item) not in wanted:
            raise TypeError(f"{item!r:.40} in an array of {wanted[0].__name__} values")
    if dtype is np.float32:
        items[items == None] = math.nan  # noqa: E711 (elementwise)
    return items.astype(dtype)


_ITEMS: dict[type[Any], tuple[type[Any], ...]] = {
    np.float32: (float, int, type(None)),
    np.int64: (int,),
    np.bool_: (bool,),
}
DTYPES: dict[Any, type[np.generic]] = {
    events.FloatArray: np.float32,
    events.IntArray: np.int64,
    events.BoolArray: np.bool_,
}
"""By the type of an array, that of its numbers."""
