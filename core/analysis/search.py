"""Searches and filters a run's tokens by text, exit layer, outcome and ledger class."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.analysis.breakpoints import CHUNK
from core.analysis.ledger import Entry, Ledger
from core.analysis.summaries import Outcome, outcomes
from core.analysis.text_conditions import TokenMatches
from core.analysis.texts import meant
from core.trace.events import BoolArray, IntArray
from core.trace.reading import ReadableTrace


@dataclass(frozen=True, slots=True)
class Query:
    """What tokens shall be like; whatever is left as it is demands nothing."""

    text: str = ""
    """Characters of the generated text: all tokens that a finding touches are found. A control token is found by its
    own name. Marks such as · and ⏎ stand for themselves and for what chips show by them."""
    pattern: bool = False
    """Whether `text` is a regular expression, which is tried on each token by itself."""
    match_case: bool = False
    least_layers: int = 1
    """Exit layers from here on, as a count of layers run."""
    most_layers: int | None = None
    outcomes: frozenset[Outcome] = field(default_factory=frozenset)
    """Any of these; empty for all."""
    entries: frozenset[Entry] = field(default_factory=frozenset)
    """Any of these classes of the ledger, which must be given; empty for all."""


def search(trace: ReadableTrace, query: Query, ledger: Ledger | None = None) -> IntArray:
    """The emitted tokens that are as the query says, in order.

    Args:
        trace: the run.
        query: what to look for.
        ledger: of the whole run; needed where the query names classes.

    Raises:
        ValueError: it names classes, and no ledger of all these tokens is given.
        UserError: its text is no regular expression, or one that takes too long.
    """
    count = trace.emitted_count
    layers = trace.exit_layers[:count]
    met = (layers >= query.least_layers) & (layers <= (query.most_layers or trace.depth))
    if query.outcomes:
        met &= np.isin(outcomes(trace)[:count], list(query.outcomes))
    if query.entries:
        if ledger is None or ledger.first or len(ledger.entries) != len(met):
            raise ValueError("a query for classes needs the ledger of the whole run")
        met &= np.isin(ledger.entries, list(query.entries))
    if query.text and query.pattern:
        met &= tokens_matching(trace, query.text, count, match_case=query.match_case)
    elif query.text:
        wanted = {query.text, meant(query.text)}  # · may stand in the text itself, or be read off a chip for a space
        met &= np.any([tokens_with(trace, one, match_case=query.match_case)[:count] for one in wanted], axis=0)
    return np.flatnonzero(met)


def tokens_matching(trace: ReadableTrace, pattern: str, count: int, *, match_case: bool = False) -> BoolArray:
    """Which of the first `count` tokens a regular expression matches somewhere. Shape [count].

    Raises:
        UserError: it is none, or takes too long.
    """
    condition = TokenMatches(pattern, match_case=match_case)
    stretches = [condition.found(trace, first, min(first + CHUNK, count)) for first in range(0, count, CHUNK)]
    return np.concatenate([np.zeros(0, np.bool_), *stretches])


def tokens_with(trace: ReadableTrace, wanted: str, *, match_case: bool = False) -> BoolArray:
    """Which emitted tokens hold a part of some occurrence of `wanted` in the text. Shape [n]."""
    fold, texts = (str if match_case else str.casefold), list(trace.overview.texts)
    special = trace.overview.special[: len(texts)]
    text = b"".join(one for one, hidden in zip(texts, special, strict=True) if not hidden)
    shown = text.decode("utf-8", errors="surrogateescape")
    starts, ends = _occurrences(shown, wanted, match_case=match_case)
    plain = np.where(special, 0, [len(one) for one in texts]).astype(np.int64)
    met = np.array(
        [
            bool(hidden) and fold(wanted) in fold(one.decode("utf-8", errors="surrogateescape"))
            for one, hidden in zip(texts, special, strict=True)
        ],
        np.bool_,
    )
    upto = np.cumsum(plain)
    # A token of bytes a…b - 1 overlaps an occurrence iff fewer occurrences have ended by a than have begun before b.
    touched = np.searchsorted(starts, upto) > np.searchsorted(ends, upto - plain, side="right")
    return met | (touched & (plain > 0))


def _occurrences(text: str, wanted: str, *, match_case: bool) -> tuple[IntArray, IntArray]:
    """First byte and last byte + 1 of each place where `wanted` stands, both rising; overlapping places too."""
    sizes = _byte_lengths(text)
    if not match_case:
        folded = [char.casefold() for char in text] if len(text.casefold()) != len(text) else []
        # Where folding makes several characters of one, each of them stands for it.
        owner = np.repeat(np.arange(len(folded)), [len(one) for one in folded]) if folded else np.arange(len(text))
        text, wanted = text.casefold(), wanted.casefold()
    else:
        owner = np.arange(len(text))
    at = _places(text, wanted)
    before = np.concatenate([[0], np.cumsum(sizes)])
    last = owner[at + len(wanted) - 1] if len(at) else at
    return before[owner[at]], before[last + 1]


def _places(text: str, wanted: str) -> IntArray:
    found, at = [], text.find(wanted)
    while at >= 0:
        found.append(at)
        at = text.find(wanted, at + 1)
    return np.array(found, np.int64)


def _byte_lengths(text: str) -> NDArray[np.int64]:
    """How many UTF-8 bytes each character takes; an escaped byte is one. Shape [characters]."""
    codes = np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), np.uint32)
    escaped = (codes >= 0xDC80) & (codes <= 0xDCFF)
    lengths = 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000)
    return np.where(escaped, 1, lengths).astype(np.int64)
