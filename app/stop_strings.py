r"""Stop strings as they are typed: one a line, with \n for a line break within one."""

from __future__ import annotations

import re

_SHORT = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LONG = {written: char for char, written in _SHORT.items()}
_ESCAPE = re.compile(r"\\(?:[\\ntr]|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})")
SURROGATES = range(0xD800, 0xE000)
LAST = 0x10FFFF


def read_stop_strings(text: str) -> tuple[str, ...]:
    r"""The strings of the lines that hold more than blanks; spaces count, and a backslash before another letter too."""
    return tuple(_ESCAPE.sub(_read, line) for line in text.split("\n") if line.strip())


def write_stop_strings(stop: tuple[str, ...]) -> str:
    """The lines that `read_stop_strings` reads as `stop`, whatever the strings hold."""
    return "\n".join(_written(text) for text in stop)


def _written(text: str) -> str:
    if not text.strip():  # a line of blanks would not count
        return "".join(_SHORT.get(char) or f"\\u{ord(char):04x}" for char in text)
    return "".join(_SHORT.get(char) or (char if char.isprintable() else _numbered(char)) for char in text)


def _numbered(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def _read(found: re.Match[str]) -> str:
    written = found[0]
    if written in _LONG:
        return _LONG[written]
    number = int(written[2:], 16)
    return written if number in SURROGATES or number > LAST else chr(number)
