"""The SQLite database that a session file is: its tables, and how one is opened without trusting it.

SQLite's own words never reach the user: whatever it raises becomes one sentence (`explained`).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from core.errors import UserError

APPLICATION = int.from_bytes(b"SpEE", "big")
"""SQLite's `application_id`, by which a session file is told from any other database."""
SCHEMA = 1
"""SQLite's `user_version`. Goes up with any change of `TABLES` or of what their columns mean."""
PAGE_SIZE = 8192
"""Bytes; a few tokens' events share a page, and one transaction rewrites no more than it must."""
LARGEST_VALUE = 2**25
"""Bytes of one value that is read or written."""
RUN_PLACES = 2**32
"""Places of one run's stretches: that of run r and token t is r * RUN_PLACES + t."""
MOST_RUNS = 2**31
"""Numbers of runs are below it."""

TABLES = {
    "facts": "CREATE TABLE facts(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "layouts": "CREATE TABLE layouts(layout INTEGER PRIMARY KEY, kinds TEXT NOT NULL)",
    "predictors": "CREATE TABLE predictors(number INTEGER PRIMARY KEY, digest TEXT NOT NULL, arrays BLOB NOT NULL)",
    "runs": (
        "CREATE TABLE runs(run INTEGER PRIMARY KEY, uid TEXT NOT NULL, began TEXT NOT NULL, layout INTEGER NOT NULL,"
        " predictors INTEGER, started TEXT NOT NULL, prefill TEXT, ended TEXT, in_flight INTEGER NOT NULL)"
    ),
    "tokens": (
        "CREATE TABLE tokens(run INTEGER NOT NULL, token INTEGER NOT NULL, text BLOB NOT NULL, token_id INTEGER NOT"
        " NULL, special INTEGER NOT NULL, exit_layer INTEGER NOT NULL, reason TEXT NOT NULL, refusals INTEGER NOT NULL,"
        " full_depth_id INTEGER NOT NULL, final_rank INTEGER NOT NULL, active INTEGER NOT NULL, seconds REAL NOT NULL,"
        " first INTEGER NOT NULL, states BLOB NOT NULL, PRIMARY KEY(run, token)) WITHOUT ROWID"
    ),
    "stretches": "CREATE TABLE stretches(place INTEGER PRIMARY KEY, reach INTEGER NOT NULL, events BLOB NOT NULL)",
    "marks": (
        "CREATE TABLE marks(run INTEGER NOT NULL, token INTEGER NOT NULL, layer INTEGER NOT NULL, note TEXT NOT NULL,"
        " PRIMARY KEY(run, token, layer)) WITHOUT ROWID"
    ),
}
"""What `sqlite_master` holds, to the letter. A file with any other table, view, trigger or default is not read: reading
could run what it says."""

_MAGIC = b"SQLite format 3\x00"
_WAL = 2
"""At places 18 and 19 of a file that is being recorded, or was when its process was killed."""


def create(path: Path, *, recording: bool = True) -> sqlite3.Connection:
    """A new, empty session file, ready for one transaction a token.

    Args:
        path: where to; nothing may be there.
        recording: False for a file that nobody looks at until it is whole, and that may be lost before.

    Raises:
        UserError: there is something already, or it cannot be made.
    """
    with explained(path):
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
        except FileExistsError:
            raise UserError(f"{path} is there already; choose another name.") from None
        try:
            return _prepared(path, recording)
        except BaseException:
            remove(path)
            raise


def _prepared(path: Path, recording: bool) -> sqlite3.Connection:
    database = _connect(path, "mode=rw")
    database.execute(f"PRAGMA page_size={PAGE_SIZE}")
    if not recording:
        database.execute("PRAGMA synchronous=OFF")
    database.execute("BEGIN")
    for statement in TABLES.values():
        database.execute(statement)
    database.execute(f"PRAGMA application_id={APPLICATION}")
    database.execute(f"PRAGMA user_version={SCHEMA}")
    database.execute("COMMIT")
    if recording:  # only now, so that the file itself says what it is even where its process is killed at once
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
    return database


def settle(database: sqlite3.Connection) -> None:
    """Bring everything into the one file and leave no other beside it."""
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.execute("PRAGMA journal_mode=DELETE")


def open_to_read(path: Path) -> sqlite3.Connection:
    """A session file that is there, read and never changed.

    A recording that was cut off is brought to rest first, where its folder allows it.

    Raises:
        UserError: it is missing, is none, is damaged, or a newer specee-viewer wrote it.
    """
    with explained(path):
        in_wal = _check_header(path)
        if in_wal:
            bring_to_rest(path)
        database = _connect(path, _mode(path))
        try:
            _check_schema(path, database)
        except BaseException:
            database.close()
            raise
        return database


def _check_header(path: Path) -> bool:
    """Whether the file is in the state of a recording; raises `UserError` where it is no session file of ours."""
    if path.is_dir():
        raise UserError(f"{path} is a folder; choose a .specee file in it.")
    if not path.is_file():
        raise UserError(f"There is no file {path}; check its name.")
    with path.open("rb") as file:
        header = file.read(100)
    if len(header) < 100 or not header.startswith(_MAGIC):
        raise UserError(f"{path} is no session of specee-viewer; choose a .specee file.")
    if int.from_bytes(header[68:72], "big") != APPLICATION:
        raise UserError(f"{path} is a database of another program; choose a .specee file.")
    schema = int.from_bytes(header[60:64], "big")
    if schema > SCHEMA:
        raise UserError(
            f"{path} was written by a newer specee-viewer (its form is {schema}, this program reads {SCHEMA}); update "
            "specee-viewer."
        )
    in_wal = _WAL in (header[18], header[19])
    if not in_wal and path.stat().st_size < _size(header):
        raise UserError(f"{path} was cut short, perhaps as it was copied; open another copy of it.")
    return in_wal


def _size(header: bytes) -> int:
    """Bytes of the whole database, by its first page."""
    page = int.from_bytes(header[16:18], "big")
    return int.from_bytes(header[28:32], "big") * (2**16 if page == 1 else page)


def bring_to_rest(path: Path) -> None:
    """Finish what a killed process had begun; where somebody still records, or nothing may be written, all stays."""
    with suppress(sqlite3.Error):
        database = _connect(path, "mode=rw", patience=0.0)
        try:
            settle(database)
        finally:
            database.close()


def _mode(path: Path) -> str:
    """How SQLite may open the file; in a folder that cannot be written, a file at rest is taken to stay as it is."""
    if os.access(path.parent, os.W_OK) and os.access(path, os.W_OK):
        return "mode=ro"
    if beside(path)[0].exists():
        raise UserError(
            f"{path} was not closed and lies where nothing can be written; copy it, with {beside(path)[0].name}, into "
            "a folder of yours and open that."
        )
    return "mode=ro&immutable=1"


def _check_schema(path: Path, database: sqlite3.Connection) -> None:
    found = dict(database.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall())
    if found != TABLES:
        raise damaged(path)


def _connect(path: Path, mode: str, patience: float = 5.0) -> sqlite3.Connection:
    """`patience` is how many seconds to wait for somebody else's lock."""
    name = f"file:{quote(str(path.absolute()))}?{mode}"
    database = sqlite3.connect(name, timeout=patience, isolation_level=None, uri=True, check_same_thread=False)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
    database.execute("PRAGMA trusted_schema=OFF")
    return database


def beside(path: Path) -> tuple[Path, Path]:
    """The files that SQLite keeps beside one that is being recorded."""
    return path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


def remove(path: Path) -> None:
    """Take a session file away, with what lies beside it; nothing happens where that cannot be done."""
    for one in (path, *beside(path)):
        with suppress(OSError):
            one.unlink()


def damaged(path: Path, why: str = "") -> UserError:
    """The sentence for a file whose contents are not what was written; `why` is a clause."""
    clause = f": {why}" if why else ""
    return UserError(f"{path} is damaged{clause}; open another copy of it.")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Put into a sentence what SQLite or the system has against a session file."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explanation(path, error) from error
    except UnicodeDecodeError as error:  # where SQLite's own words quote a broken name
        raise damaged(path) from error
    except OSError as error:
        raise UserError(f"{path} cannot be used ({error.strerror or error}); choose another place.") from error


@contextmanager
def sound(path: Path) -> Iterator[None]:
    """Call a session file damaged where reading its values, which nobody has checked, goes wrong."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise damaged(path, str(error)) from error
    except UserError as error:  # what settings are refused with
        raise damaged(path, str(error).rstrip(".")) from error


def _explanation(path: Path, error: sqlite3.Error) -> UserError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return UserError(f"{path} cannot be written: the disk is full or failing; free some space or choose another.")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return UserError(f"{path} cannot be opened or written there; check the path and its permissions.")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return UserError(f"{path} is in use by another program; close it there, or choose another name.")
    return damaged(path)
