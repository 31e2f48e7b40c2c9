"""Opens one run of a file: of a session, or of JSON Lines that `run --out` or an export wrote."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from app.commands.choosing import chosen
from core.errors import UserError
from core.trace.events import Event, RunStarted
from core.trace.jsonl import read_events
from core.trace.reading import ReadableTrace
from core.trace.session_file import SessionFile
from core.trace.trace import Trace

_SQLITE = b"SQLite format 3\x00"


@contextmanager
def opened_run(path: Path, number: int | None, flag: str) -> Iterator[ReadableTrace]:
    """One run of a file, readable as long as the context lasts.

    Args:
        path: a session file or JSON Lines of events; what it holds tells which, not its name.
        number: the run's, from 1 on, as `chosen` takes it; None for the only one.
        flag: how the command line asks for a run, for the sentence that tells how to choose.

    Raises:
        UserError: the file cannot be read, or has no such run, or has several and none was chosen.
    """
    if _is_database(path):
        with closing(SessionFile(path)) as session:
            numbers = [run.number for run in session.runs]
            yield session.trace(numbers[chosen(path, numbers, number, flag)])
        return
    traces = _traces(path)
    yield traces[chosen(path, [trace.started.run if trace.started else 0 for trace in traces], number, flag)]


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> UserError:
    return UserError(f"{path} cannot be read ({error.strerror or error}); give the path of a recorded run.")


def _traces(path: Path) -> list[Trace]:
    try:
        with path.open(encoding="utf-8") as lines:
            return list(_runs_of(read_events(lines)))
    except UnicodeDecodeError:
        raise UserError(f"{path} holds no recorded run: it is no session file and no text.") from None
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    except OSError as error:
        raise _unreadable(path, error) from error


def _runs_of(events: Iterator[Event]) -> Iterator[Trace]:
    trace: Trace | None = None
    for event in events:
        if trace is None or isinstance(event, RunStarted):
            if trace is not None:
                yield trace
            trace = Trace()
        trace.append(event)
    if trace is not None:
        yield trace
