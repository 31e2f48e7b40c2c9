"""The fields of the event classes, and how a column of each is packed, read off their type hints."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from operator import attrgetter
from typing import Any, get_args, get_type_hints

import numpy as np

from core.trace import codec
from core.trace.codec import BadColumn, Reader
from core.trace.events import Event
from core.trace.json_values import DTYPES as DTYPES
from core.trace.json_values import from_json_value, to_json_value

KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Event)}
"""Every class of events, by its name."""
RUN = "run"
"""The field that is not packed: the run's number stands beside its stretches, and a copied run may get another."""
_SCALARS = (int, float, bool, str)
_Codec = tuple[Callable[[list[Any]], bytes], Callable[[Reader, int], list[Any]]]


@dataclass(frozen=True, slots=True)
class Field:
    """One column: a field of a kind of events, or a field of such a field."""

    path: str
    """Its name, as in "layer" or "times.draft"."""
    of: Callable[[Event], Any]
    """Its value in an event."""
    pack: Callable[[list[Any]], bytes]
    unpack: Callable[[Reader, int], list[Any]]
    """Takes a column of so many values; raises ValueError or TypeError where they are not what the field holds."""
    hint: Any
    """Its type."""


def hints_of(kind: type[Any]) -> dict[str, Any]:
    """The types of a dataclass's fields, by name."""
    if kind not in _HINTS:
        _HINTS[kind] = get_type_hints(kind)
    return _HINTS[kind]


def fields_of(kind: type[Any]) -> tuple[Field, ...]:
    """The columns of a kind of events, in order, without the run's number."""
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(one for name in hints_of(kind) if name != RUN for one in _columns(kind, name))
    return _FIELDS[kind]


_HINTS: dict[type[Any], dict[str, Any]] = {}
_FIELDS: dict[type[Any], tuple[Field, ...]] = {}


def _columns(kind: type[Any], name: str) -> list[Field]:
    hint = hints_of(kind)[name]
    inner = hints_of(hint) if dataclasses.is_dataclass(hint) and isinstance(hint, type) else {}
    if not inner or not all(one in _SCALARS for one in inner.values()):
        return [Field(name, attrgetter(name), *_codec(hint), hint)]
    paths = {f"{name}.{part}": one for part, one in inner.items()}
    return [Field(path, attrgetter(path), *_codec(one), one) for path, one in paths.items()]


def _codec(hint: Any) -> _Codec:
    if hint in _PLAIN:
        return _PLAIN[hint]
    if hint is str:
        return _pack_texts, _texts
    if hint is bytes:
        return codec.texts, _byte_strings
    if hint == tuple[bytes, ...]:
        return _pack_tuples, _tuples
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _pack_texts, lambda reader, count: [hint(text) for text in _texts(reader, count)]
    for array, dtype in DTYPES.items():
        if hint in (array, array | None):
            return _array_codec(dtype, optional=hint != array)
    return _json_codec(hint)


def _whole(reader: Reader, count: int) -> list[Any]:
    column = reader.column(count)
    if isinstance(column, np.ndarray) or not all(type(value) is int for value in column):
        raise BadColumn("its values are no whole numbers")
    return list(column)


def _numbers(*kinds: str) -> Callable[[Reader, int], list[Any]]:
    def unpack(reader: Reader, count: int) -> list[Any]:
        column = reader.column(count)
        if isinstance(column, list) or column.dtype.name not in kinds:
            raise BadColumn("its values are of another type")
        values: list[Any] = column.tolist()
        return values

    return unpack


def _byte_strings(reader: Reader, count: int) -> list[bytes]:
    column = reader.column(count)
    if isinstance(column, np.ndarray):
        raise BadColumn("its values are no texts")
    texts = [value for value in column if isinstance(value, bytes)]
    if len(texts) < count:
        raise BadColumn("its values are no texts")
    return texts


def _pack_texts(values: list[str]) -> bytes:
    # A path of broken bytes that a sentence names has half characters in it.
    return codec.texts([value.encode("utf-8", "surrogatepass") for value in values])


def _texts(reader: Reader, count: int) -> list[str]:
    return [value.decode("utf-8", "surrogatepass") for value in _byte_strings(reader, count)]


def _pack_tuples(values: list[tuple[bytes, ...]]) -> bytes:
    return codec.whole([len(value) for value in values]) + codec.texts([text for value in values for text in value])


def _tuples(reader: Reader, count: int) -> list[tuple[bytes, ...]]:
    counts = reader.sizes(count)
    flat = iter(_byte_strings(reader, sum(counts)))
    return [tuple(islice(flat, size)) for size in counts]


def _array_codec(dtype: type[np.generic], *, optional: bool) -> _Codec:
    def pack(values: list[Any]) -> bytes:
        return codec.arrays([None if value is None else np.asarray(value, dtype) for value in values])

    def unpack(reader: Reader, count: int) -> list[Any]:
        column = reader.column(count)
        right = all(_is_array(value, dtype) or (value is None and optional) for value in column)
        if isinstance(column, np.ndarray) or not right:
            raise BadColumn("its arrays are of another type")
        return list(column)

    return pack, unpack


def _is_array(value: Any, dtype: type[np.generic]) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == dtype


def _json_codec(hint: Any) -> _Codec:
    def pack(values: list[Any]) -> bytes:
        return _pack_texts([json.dumps(to_json_value(value), allow_nan=False) for value in values])

    def unpack(reader: Reader, count: int) -> list[Any]:
        return [from_json_value(hint, json.loads(text)) for text in _texts(reader, count)]

    return pack, unpack


_PLAIN: dict[Any, _Codec] = {
    int: (codec.whole, _whole),
    float: (codec.floats, _numbers("float32", "float64")),
    bool: (codec.flags, _numbers("bool")),
}
NUMBERS: dict[Any, type[np.generic]] = {int: np.int64, float: np.float64, bool: np.bool_}
"""By the type of a plain number, that of many."""
