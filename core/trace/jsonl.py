"""Events as JSON Lines: one object a line, the first line naming the format and its version.

Arrays are lists, bytes are base64, NaN is null; `{"event": "LayerRun", …}` names the type, and the other keys are the
fields of that class in `core.trace.events`, whose docstrings are the schema.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, TextIO, get_args, get_type_hints

import numpy as np

from core.config import RunSettings
from core.errors import UserError
from core.trace import events
from core.trace.events import Event

FORMAT = "specee-viewer events"
VERSION = 1
KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Event)}


def write_events(lines: TextIO, happened: Iterable[Event]) -> Iterator[Event]:
    """Write each event as it comes and hand it on, so that a run can be watched while it is recorded."""
    lines.write(json.dumps({"format": FORMAT, "version": VERSION}) + "\n")
    for event in happened:
        lines.write(dumps(event) + "\n")
        yield event


def read_events(lines: Iterable[str]) -> Iterator[Event]:
    """The events that `write_events` wrote.

    Raises:
        UserError: the first line is not ours or of a newer version, or a line is damaged (named by its number).
    """
    numbered = enumerate(lines, 1)
    _check_header(next(numbered, (1, ""))[1])
    for number, line in numbered:
        try:
            yield loads(line)
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise UserError(
                f"Line {number} is no event of specee-viewer ({error}); record the run again, or cut the file there."
            ) from error


def dumps(event: Event) -> str:
    """One event as one line of JSON, without its line end."""
    fields = {field.name: _plain(getattr(event, field.name)) for field in dataclasses.fields(event)}
    return json.dumps({"event": type(event).__name__, **fields}, allow_nan=False, separators=(",", ":"))


def loads(line: str) -> Event:
    """The event of one line.

    Raises:
        UserError, ValueError, KeyError, TypeError, ArithmeticError: the line is not one that `dumps` wrote.
    """
    values = json.loads(line)
    kind = KINDS[values.pop("event")]
    hints = get_type_hints(kind)
    # A file that is older than a field with a default does without it.
    needed = {field.name for field in dataclasses.fields(kind) if field.default is dataclasses.MISSING}
    if not needed <= values.keys() <= hints.keys():
        raise ValueError(f"its fields are not those of {kind.__name__}")
    event: Event = kind(**{name: _typed(hints[name], value) for name, value in values.items()})
    return event


def _check_header(line: str) -> None:
    try:
        header = json.loads(line)
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise UserError("This file holds no events of specee-viewer; its first line should name the format.")
    version = header.get("version")
    if version != VERSION:
        raise UserError(
            f"This file's events are of version {version}, and this specee-viewer reads {VERSION}; update the program."
        )


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, RunSettings):
        return _plain(value.to_json())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain(dataclasses.asdict(value))
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return value


def _typed(kind: Any, value: Any) -> Any:
    if kind in _ARRAYS:
        return _array(value, _ARRAYS[kind])
    if kind == events.FloatArray | None:
        return None if value is None else _array(value, np.float32)
    if kind is bytes:
        return base64.b64decode(value, validate=True)
    if kind == tuple[bytes, ...]:
        return tuple(base64.b64decode(item, validate=True) for item in value)
    if kind is RunSettings:
        return RunSettings.from_json(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if kind in (events.ModelInfo, events.StageTimes):
        return kind(**value)
    if kind is float:
        return math.nan if value is None else float(value)
    if kind == Mapping[str, str]:
        return dict(value)
    if not isinstance(value, kind):
        raise TypeError(f"{value!r:.40} where a {kind.__name__} belongs")
    return value


def _array(value: Any, dtype: type[Any]) -> Any:
    if dtype is np.float32:
        array = np.array(value, dtype=object)
        return np.where(array == None, np.nan, array).astype(np.float32)  # noqa: E711 (elementwise)
    return np.array(value, dtype=dtype)


_ARRAYS: dict[Any, type[Any]] = {
    events.FloatArray: np.float32,
    events.IntArray: np.int64,
    events.BoolArray: np.bool_,
}
