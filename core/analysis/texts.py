"""Token texts in forms where nothing is invisible or ambiguous."""

from __future__ import annotations

import unicodedata
from functools import lru_cache


@lru_cache(maxsize=2**16)
def visible(token_bytes: bytes, special: bool = False) -> str:
    """A form of these bytes for a chip or an axis, in which nothing is invisible.

    Spaces become `·`, newlines `⏎`, tabs `⇥`. Other control characters, for which few fonts have pictures, become
    `<08>` or their `\\u` escape, bytes that are not UTF-8 on their own `<E2>`. A combining mark without a letter gets a
    dotted circle to sit on, and a joiner with nothing to join is escaped. Control tokens are shown as they are written.
    """
    return _spelled(token_bytes, special, space="·")


def quoted(token_bytes: bytes, special: bool = False) -> str:
    """`visible` for running text: in quotation marks, between which a space can stay a space."""
    return f"‘{_spelled(token_bytes, special, space=' ')}’"


def meant(text: str) -> str:
    """A text to look for, where the marks that `visible` puts for spaces, line breaks and tabs stand for these."""
    return text.translate(_MEANT)


def _spelled(token_bytes: bytes, special: bool, space: str) -> str:
    text = token_bytes.decode("utf-8", errors="surrogateescape")
    if special and text.isprintable() and text.strip():
        return text
    shown = "".join(space if text[at] == " " else _character(text, at) for at in range(len(text)))
    starts_with_mark = bool(text) and unicodedata.category(text[0]).startswith("M")
    return ("◌" + shown if starts_with_mark else shown) or "∅"


def _character(text: str, at: int) -> str:
    character = text[at]
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"<{code - 0xDC00:02X}>"
    if character in _SPELLED:
        return _SPELLED[character]
    if code < 0x20 or code == 0x7F:
        return f"<{code:02X}>"
    if character in _JOINERS and 0 < at < len(text) - 1:
        return character
    if character.isprintable() and character not in _BLANK:
        return character
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


_SPELLED = {"\n": "⏎", "\t": "⇥", "\u00a0": "⍽"}
_MEANT = str.maketrans({"·": " ", **{mark: character for character, mark in _SPELLED.items()}})
_JOINERS = "\u200c\u200d"
_BLANK = "\u034f\u115f\u1160\u2800\u3164\uffa0"
"""Printable to Unicode, blank on every screen."""
