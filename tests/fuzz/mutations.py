"""Ways to spoil a file, drawn from a seed: bytes anywhere, values of JSON, cells of SQLite, a tensor file's header."""

from __future__ import annotations

import contextlib
import json
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

Mutation = Callable[[Path, random.Random], None]

ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1,
    2**31,
    10**12,
    -(10**18),
    10**30,
    0.5,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    "\u0000",
    "\ud800",
    "../../../etc/passwd",
    "a" * 5000,
    [],
    {},
    [[]],
    [1, [2, [3]]],
    [None] * 300,
    {"__class__": "os.system"},
)
ODD_CELLS: tuple[Any, ...] = (None, -1, 0, 1, 7, 2**31, 10**12, -(10**18), 0.5, 1e308)
ODD_CELLS += ("", "text", "1", "{}", "[]", "[" * 900, b"", b"\x00", b"\x78\x9c")


def bytes_anywhere(path: Path, chance: random.Random) -> None:
    """Flip, overwrite, cut, repeat or insert bytes, in one to eight places."""
    data = bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 8)):
        _spoil(data, chance)
    path.write_bytes(data)


def _spoil(data: bytearray, chance: random.Random) -> None:
    at, size = chance.randrange(len(data) + 1), chance.choice((1, 2, 4, 8, 64, 512))
    match chance.randrange(6):
        case 0:
            data[at : at + 1] = bytes([chance.randrange(256)])
        case 1:
            data[at : at + size] = chance.randbytes(size)
        case 2:
            data[at : at + size] = bytes([chance.choice((0, 0x7F, 0x80, 0xFF))]) * size
        case 3:
            del data[at:]
        case 4:
            data[at:at] = data[at : at + size]
        case _:
            del data[at : at + size]


def json_value(path: Path, chance: random.Random) -> None:
    """Put an odd value into the place of one to three others, or take some away."""
    value = json.loads(path.read_text(encoding="utf-8"))
    for _ in range(chance.randint(1, 3)):
        value = _replaced(value, chance)
    path.write_text(json.dumps(value), encoding="utf-8")


def json_line(path: Path, chance: random.Random) -> None:
    """Spoil a value of one line of JSON Lines, or repeat, drop or swap lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(6):
        case 0:
            lines[at:at] = [lines[other]]
        case 1:
            del lines[at]
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case _:
            lines[at] = json.dumps(_replaced(json.loads(lines[at]), chance))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _replaced(value: Any, chance: random.Random, depth: int = 0) -> Any:
    """The value with something inside replaced; deeper places are as likely as shallow ones."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        if chance.random() < 0.15:
            return {name: one for name, one in value.items() if name != key}
        return {**value, key: _replaced(value[key], chance, depth + 1)}
    if isinstance(value, list) and value and chance.random() < 0.7:
        at = chance.randrange(len(value))
        if chance.random() < 0.2:
            return value[:at] + value[at + 1 :]
        return [*value[:at], _replaced(value[at], chance, depth + 1), *value[at + 1 :]]
    if type(value) is int and chance.random() < 0.5:
        return value + chance.choice((-1, 1, 7, 1000))
    return chance.choice(ODD_VALUES)


def sqlite_cell(path: Path, chance: random.Random) -> None:
    """Put odd values into one to three cells, or drop or repeat a row."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for _ in range(chance.randint(1, 3)):
            _spoil_table(database, chance.choice(tables), chance)


def _spoil_table(database: sqlite3.Connection, table: str, chance: random.Random) -> None:
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    key = columns[0] if table != "tokens" else "token"
    keys = [row[0] for row in database.execute(f"SELECT {key} FROM {table}")]
    if not keys:
        return
    row, column = chance.choice(keys), chance.choice(columns)
    with contextlib.suppress(sqlite3.Error):  # what a column refuses by itself is no case
        if chance.random() < 0.1:
            database.execute(f"DELETE FROM {table} WHERE {key} IS ?", (row,))
        elif chance.random() < 0.3:
            database.execute(
                f"UPDATE {table} SET {column} = {column} + ? WHERE {key} IS ?", (chance.choice((-1, 1, 99)), row)
            )
        else:
            database.execute(f"UPDATE {table} SET {column} = ? WHERE {key} IS ?", (chance.choice(ODD_CELLS), row))


def sqlite_blob(path: Path, chance: random.Random) -> None:
    """Spoil the inside of one packed stretch: what is compressed is unpacked, spoiled and compressed again."""
    import zlib

    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        table, column, key = chance.choice((("stretches", "events", "place"), ("predictors", "arrays", "number")))
        place, packed = chance.choice(database.execute(f"SELECT {key}, {column} FROM {table}").fetchall())
        data = bytearray(zlib.decompress(packed))
        for _ in range(chance.randint(1, 4)):
            _spoil(data, chance)
        database.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (zlib.compress(bytes(data), 1), place))


def tensor_header(path: Path, chance: random.Random) -> None:
    """Spoil a value of a safetensors file's header, or the size that it claims for the header."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    if chance.random() < 0.2:
        path.write_bytes(chance.choice((0, 1, size - 1, size + 1, 2**40, 2**63)).to_bytes(8, "little") + data[8:])
        return
    header = json.dumps(_replaced(json.loads(data[8 : 8 + size]), chance)).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data[8 + size :])
