"""Conditions on what a token says. Nothing a user or a file gives as a pattern can hold the program up for long."""

from __future__ import annotations

import functools
import math
import re
import time
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import regex

from core.analysis.conditions import Condition
from core.analysis.texts import meant
from core.config import is_text
from core.errors import UserError
from core.trace.events import BoolArray
from core.trace.reading import ReadableTrace

LONGEST_TEXT = 200
"""Characters of a text or pattern to look for."""
LONGEST_TOKEN = 1000
"""Characters of a token that a pattern is tried on."""
MOST_REPEATS = 1000
"""What the counts of a pattern's `{n}` may multiply to: compiling writes every repetition out."""
TOKEN_SECONDS, CALL_SECONDS = 0.05, 0.25
"""Computing time that a pattern may take for one token, and for all tokens looked at in one call."""


@dataclass(frozen=True, slots=True)
class TextContains(Condition):
    """The generated text holds these characters, the last of them in this token; of a control token, its own name does.

    Bytes are compared, so that characters which several tokens share are found. Marks such as · and ⏎ stand for
    themselves and for what chips show by them.
    """

    kind: ClassVar[str] = "text contains"
    text: str

    def __post_init__(self) -> None:
        _require_text(self.text, "text to look for")

    @property
    def label(self) -> str:
        return f"text contains ‘{self.text}’"

    def found(self, trace: ReadableTrace, first: int, last: int) -> BoolArray:
        wanted = {self.text.encode(), meant(self.text).encode()}
        return np.any([self._holding(one, trace, first, last) for one in wanted], axis=0)  # type: ignore[no-any-return]

    def _holding(self, wanted: bytes, trace: ReadableTrace, first: int, last: int) -> BoolArray:
        texts, special = trace.overview.texts, trace.overview.special
        start = first
        before = 0
        while start > 0 and before < len(wanted) - 1:
            start -= 1
            before += 0 if special[start] else len(texts[start])
        plain = [b"" if special[at] else texts[at] for at in range(start, last)]
        ends = np.cumsum([len(text) for text in plain])
        met = np.array([special[at] and wanted in texts[at] for at in range(start, last)], np.bool_)
        for end in _ends(b"".join(plain), wanted):
            met[np.searchsorted(ends, end)] = True
        return met[first - start :]


def _ends(text: bytes, wanted: bytes) -> list[int]:
    """Where each occurrence of `wanted` ends, overlapping ones too."""
    found, at = [], text.find(wanted)
    while at >= 0:
        found.append(at + len(wanted))
        at = text.find(wanted, at + 1)
    return found


@dataclass(frozen=True, slots=True)
class TokenMatches(Condition):
    """A regular expression matches somewhere in the token's own text."""

    kind: ClassVar[str] = "token matches"
    pattern: str
    match_case: bool = True

    def __post_init__(self) -> None:
        _require_text(self.pattern, "pattern")
        if not isinstance(self.match_case, bool):
            raise UserError(f"Whether case matters is {self.match_case!r:.40}; it must be true or false.")
        _compiled(self.pattern, self.match_case)

    @property
    def label(self) -> str:
        return f"token matches /{self.pattern}/{'' if self.match_case else 'i'}"

    def found(self, trace: ReadableTrace, first: int, last: int) -> BoolArray:
        pattern = _compiled(self.pattern, self.match_case)
        texts, begun = trace.overview.texts, time.thread_time()
        met = np.zeros(last - first, np.bool_)
        try:
            for token in range(first, last):
                text = texts[token].decode("utf-8", errors="replace")[:LONGEST_TOKEN]
                met[token - first] = pattern.search(text, timeout=TOKEN_SECONDS) is not None
                if time.thread_time() - begun > CALL_SECONDS:
                    raise TimeoutError
        except TimeoutError:
            raise UserError(f"The pattern /{self.pattern}/ takes too long; write a simpler one.") from None
        return met


@functools.lru_cache(maxsize=64)
def _compiled(pattern: str, match_case: bool) -> Any:
    counts = [int(digits) for digits in re.findall(r"\d+(?=[\d,]*\})", pattern, re.ASCII)]
    if math.prod(max(1, count) for count in counts) > MOST_REPEATS:
        raise UserError(f"The pattern /{pattern}/ repeats more than {MOST_REPEATS} times; use * or + instead.")
    try:
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            re.compile(pattern)  # of the two dialects only what both know, which leaves out recursion
        return regex.compile(pattern, 0 if match_case else regex.IGNORECASE)
    except (re.error, regex.error, OverflowError, RecursionError, ValueError) as error:
        raise UserError(f"The pattern /{pattern}/ is no regular expression ({error}); correct it.") from None


def _require_text(text: object, what: str) -> None:
    if not isinstance(text, str) or not text or len(text) > LONGEST_TEXT or not is_text(text):
        raise UserError(f"The {what} must have between 1 and {LONGEST_TEXT} characters.")
