"""Events as JSON Lines: one object a line, the first line naming the format and its version.

Arrays are lists, bytes are base64, NaN is null; `{"event": "LayerRun", …}` names the type, and the other keys are the
fields of that class in `core.trace.events`, whose docstrings are the schema.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator
from typing import TextIO

from core.errors import UserError
from core.trace.checking import EventCheck
from core.trace.events import Event
from core.trace.fields import KINDS, hints_of
from core.trace.json_values import from_json_value, to_json_value

FORMAT = "specee-viewer events"
VERSION = 1


def write_events(lines: TextIO, happened: Iterable[Event]) -> Iterator[Event]:
    """Write each event as it comes and hand it on, so that a run can be watched while it is recorded."""
    lines.write(json.dumps({"format": FORMAT, "version": VERSION}) + "\n")
    for event in happened:
        lines.write(dumps(event) + "\n")
        yield event


def read_events(lines: Iterable[str]) -> Iterator[Event]:
    """The events that `write_events` wrote, of one run or several, one run after the other.

    Raises:
        UserError: the first line is not ours or of a newer version, or a line is damaged or does not fit those before
            it (named by its number).
    """
    numbered = enumerate(lines, 1)
    _check_header(next(numbered, (1, ""))[1])
    check = EventCheck()
    for number, line in numbered:
        try:
            event = loads(line)
            check.check(event)
        except UserError as error:
            raise UserError(f"Line {number}: {error}") from error
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise UserError(
                f"Line {number} is no event of specee-viewer ({error}); record the run again, or cut the file there."
            ) from error
        yield event


def dumps(event: Event) -> str:
    """One event as one line of JSON, without its line end."""
    fields = {field.name: to_json_value(getattr(event, field.name)) for field in dataclasses.fields(event)}
    return json.dumps({"event": type(event).__name__, **fields}, allow_nan=False, separators=(",", ":"))


def loads(line: str) -> Event:
    """The event of one line.

    Raises:
        UserError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError: the line is not
            one that `dumps` wrote.
    """
    values = json.loads(line)
    kind = KINDS[values.pop("event")]
    hints = hints_of(kind)
    # A file that is older than a field with a default does without it.
    needed = {field.name for field in dataclasses.fields(kind) if field.default is dataclasses.MISSING}
    if not needed <= values.keys() <= hints.keys():
        raise ValueError(f"its fields are not those of {kind.__name__}")
    event: Event = kind(**{name: from_json_value(hints[name], value) for name, value in values.items()})
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
