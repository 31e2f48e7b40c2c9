"""Events as few bytes: a token's events of one kind become columns, field by field, and all columns are compressed.

Which kinds and fields there are is read off the event classes, so that a new one needs nothing here. What a stretch
was packed by is its `Layout`, kept once beside many stretches: a field that came later, with a default, may be missing.
"""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from core.trace import codec
from core.trace.codec import Reader
from core.trace.events import Event
from core.trace.fields import KINDS, RUN, fields_of, hints_of

LEVEL = 6
"""zlib's; see `docs/measurements.md` for what others cost."""
LARGEST = 2**24
"""Bytes that one stretch may hold once it is no longer compressed: far more than a pass over the largest tree."""


class BadStretch(ValueError):
    """These bytes are no packed events; the text is a clause that says why."""


@dataclass(frozen=True)
class Layout:
    """The kinds of events by number, each with its name and its fields."""

    kinds: tuple[tuple[str, tuple[str, ...]], ...]

    def to_json(self) -> str:
        return json.dumps(self.kinds, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Layout:
        """The layout that `to_json` wrote.

        Raises:
            BadStretch: it is none, or has kinds or fields that this program does not know.
        """
        try:
            layout = cls(tuple((str(name), tuple(map(str, fields))) for name, fields in json.loads(text)))
        except (ValueError, TypeError, RecursionError) as error:
            raise BadStretch("its list of events is damaged") from error
        named = [name for name, _ in layout.kinds]
        if any(len(set(names)) < len(names) for names in (named, *(fields for _, fields in layout.kinds))):
            raise BadStretch("its list of events names one twice")
        known = {name: {field.path for field in fields_of(kind)} for name, kind in KINDS.items()}
        if len(layout.kinds) > 255 or not all(set(fields) <= known.get(name, set()) for name, fields in layout.kinds):
            raise BadStretch("it holds events that this specee-viewer does not know")
        return layout


def current() -> Layout:
    """The layout of the events as they are now."""
    return Layout(tuple((name, tuple(field.path for field in fields_of(kind))) for name, kind in KINDS.items()))


def pack(events: Sequence[Event]) -> bytes:
    """A stretch of one run's events, packed by the layout `current()`."""
    numbers = {kind: number for number, kind in enumerate(KINDS.values())}
    order = [numbers[type(event)] for event in events]
    parts = [codec.number(len(order)), bytes(order)]
    for number in sorted(set(order)):
        alike = [event for event, of in zip(events, order, strict=True) if of == number]
        for field in fields_of(type(alike[0])):
            column = field.pack([field.of(event) for event in alike])
            parts += (codec.number(len(column)), column)
    return zlib.compress(b"".join(parts), LEVEL)


def unpack(stretch: bytes, layout: Layout, run: int) -> list[Event]:
    """The events of a stretch, as those of the run `run`.

    Raises:
        BadStretch: the bytes are not what `pack` makes. Whether values fit each other is not looked at.
    """
    try:
        reader = Reader(inflated(stretch))
        order = bytes(reader.take(reader.number()))
        alike = {number: _events(reader, order.count(number), number, layout, run) for number in sorted(set(order))}
    except (ValueError, TypeError, ArithmeticError, LookupError, RecursionError) as error:
        raise BadStretch(f"its events are damaged ({error})") from error
    following = {number: iter(events) for number, events in alike.items()}
    return [next(following[number]) for number in order]


def inflated(stretch: bytes, most: int = LARGEST) -> bytes:
    """The columns of a stretch as bytes, at most so many; raises `BadStretch`."""
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(stretch, most)
    except zlib.error as error:
        raise BadStretch("they do not unpack") from error
    if not inflater.eof:
        raise BadStretch("they end too soon or are too many")
    return data


def _events(reader: Reader, count: int, number: int, layout: Layout, run: int) -> list[Event]:
    if number >= len(layout.kinds):
        raise BadStretch("one is of no known kind")
    name, paths = layout.kinds[number]
    kind = KINDS[name]
    fields = {field.path: field for field in fields_of(kind)}
    columns = {path: fields[path].unpack(Reader(reader.take(reader.number())), count) for path in paths}
    return list(map(kind, *(_argument(kind, field, columns, count, run) for field in dataclasses.fields(kind))))


def _argument(
    owner: type[Any], field: dataclasses.Field[Any], columns: dict[str, list[Any]], count: int, run: int
) -> Iterable[Any]:
    """The field's values for all `count` events of its owner's kind."""
    if field.name == RUN:
        return repeat(run, count)
    if field.name in columns:
        return columns[field.name]
    inner = {path.partition(".")[2]: column for path, column in columns.items() if path.startswith(f"{field.name}.")}
    if inner:
        kind = hints_of(owner)[field.name]
        return [kind(**dict(zip(inner, values, strict=True))) for values in zip(*inner.values(), strict=True)]
    if field.default is dataclasses.MISSING:
        raise BadStretch(f"their {field.name} is missing")
    return repeat(field.default, count)
