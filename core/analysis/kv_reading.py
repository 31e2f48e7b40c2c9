"""A K/V map that is read as far as somebody looks at it: 100 000 tokens of a file cannot be read at once.

Which tokens to read is asked of the map, reading them may be done in another thread, and taking in what was read
belongs to the map's own thread. Tokens may be read in any order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.analysis.kv_map import KVState, left_behind
from core.analysis.texts import visible
from core.choices import KVPolicy
from core.trace.events import BoolArray, IntArray, KVUpdated
from core.trace.growing import Growing
from core.trace.reading import ReadableTrace

BLOCK = 128
"""Tokens that are read at once."""
FURTHER = 512
"""Passes beyond the rows in view that are searched for what caught these up."""
AT_ONCE = 4
"""Of these passes, how many are read before looking again: one that ran to full depth is enough."""

UNREAD = 255
"""In `KVLook.rows`: nothing was read of this row yet."""

Updates = list[tuple[int, KVUpdated | None]]
"""Tokens and what their passes did to the K/V cache."""


class KVReading:
    """The rows of `core.analysis.kv_map.KVMap` of one run, those that were read."""

    def __init__(self, trace: ReadableTrace) -> None:
        self.trace = trace
        self.prompt = len(trace.started.prompt_ids) if trace.started else 0
        self.skipped = left_behind(trace)
        settings = trace.started.settings if trace.started else None
        self.catches_up = settings is None or settings.kv_policy is KVPolicy.RECOMPUTE
        """Whether later passes may fill what an exit skipped."""
        depth = trace.depth
        self._states, self._caught = Growing(np.uint8, (depth,)), Growing(np.int64, (depth,))
        self._read = Growing(np.bool_)
        """By token, whether what its pass did was taken in; prefill's holds all of the prompt."""
        self.grow(0)

    @property
    def states(self) -> NDArray[np.uint8]:
        """Shape [n, L], values of `KVState`; NONE where `known` says that nothing was read."""
        return self._states.values

    @property
    def caught_up_by(self) -> IntArray:
        """Shape [n, L], the generated token whose pass recomputed the entry; -1 elsewhere."""
        return self._caught.values

    @property
    def known(self) -> BoolArray:
        """Shape [n], rows whose own pass was read; the newest token's is yet to come."""
        read: BoolArray = self._read.values
        return np.append(read[1:], True) if len(read) else read

    @property
    def is_silent(self) -> bool:
        """Whether none of the passes that were read tells what it did, as in traces of some other engines."""
        return bool(self._read.values[1:].any()) and not self._states.values.any()

    def grow(self, first: int) -> None:
        """The trace changed from token `first` on; what was read of these is read again."""
        count, depth = self.trace.emitted_count, self.trace.depth
        first = min(first, count, len(self._read))
        if first < len(self._read):
            self._forget(first)
        added = count - first
        self._states.replace(first, np.zeros((added, depth), np.uint8))
        self._caught.replace(first, np.full((added, depth), -1, np.int64))
        self._read.replace(first, np.arange(first, count) == 0)

    def _forget(self, first: int) -> None:
        """Undo what the passes from token `first` on have done."""
        states, caught = self._states.values, self._caught.values
        gone = caught >= first
        states[gone], caught[gone] = self.skipped, -1
        states[max(first - 1, 0) : first] = KVState.NONE

    def unread(self, first: int, last: int) -> list[int]:
        """Up to `BLOCK` tokens to read for the rows first…last - 1; [] where all is known of them."""
        read, count = self._read.values, len(self._read)
        first, last = max(first, 0), min(last, count)
        own = np.flatnonzero(~read[first + 1 : last + 1]) + first + 1
        found = own if len(own) or not self.catches_up else self._catching_up(first, last)
        return [int(token) for token in found[:BLOCK]]

    def _catching_up(self, first: int, last: int) -> IntArray:
        """The next passes deep enough to fill what rows first…last - 1 lack."""
        waiting = self._states.values[first:last] == KVState.SKIPPED
        if not waiting.any():
            return np.zeros(0, np.int64)
        lowest = int(np.flatnonzero(waiting.any(0))[0])
        unread = ~self._read.values[last + 1 : last + 1 + FURTHER]
        # A run that goes on may be ahead of what this has grown to.
        beyond = self.trace.exit_layers[last + 1 : last + 1 + len(unread)] > lowest
        nearest = np.flatnonzero(beyond & unread)
        return nearest[:AT_ONCE] + last + 1

    def take(self, updates: Iterable[tuple[int, KVUpdated | None]]) -> None:
        """Take in what was read."""
        read = self._read.values
        for token, update in updates:
            if token < len(read):
                read[token] = True
                if update is not None:
                    self._enter(update)

    def _enter(self, update: KVUpdated) -> None:
        states, caught = self._states.values, self._caught.values
        row = update.position - self.prompt
        if 0 <= row < len(states):
            states[row, : update.skipped_from] = KVState.HELD
            rest = states[row, update.skipped_from :]
            rest[rest != KVState.RECOMPUTED] = self.skipped
        for position, first, last in update.recomputed.tolist():
            if 0 <= (behind := position - self.prompt) < len(states):
                states[behind, first:last] = KVState.RECOMPUTED
                caught[behind, first:last] = update.token


@dataclass(frozen=True, slots=True)
class KVLook:
    """What a view shows of a reading: as it is now, or as it was once a token had been emitted."""

    reading: KVReading
    until: int | None = None
    """That token; None shows the newest state."""

    @property
    def count(self) -> int:
        return len(self.reading.states)

    @property
    def depth(self) -> int:
        return self.reading.trace.depth

    def rows(self, first: int, last: int) -> NDArray[np.uint8]:
        """The rows first…last - 1, values of `KVState` or `UNREAD`. Shape [last - first, L]."""
        reading = self.reading
        states = reading.states[first:last].copy()
        states[~reading.known[first:last]] = UNREAD
        if self.until is not None:
            states[reading.caught_up_by[first:last] > self.until] = reading.skipped
            states[max(self.until - first, 0) :] = KVState.NONE
        return states

    def caught_up_by(self, token: int) -> IntArray:
        """The tokens whose passes recomputed this row's entries; -1 elsewhere. Shape [L]."""
        found = self.reading.caught_up_by[token]
        return found if self.until is None else np.where(found > self.until, -1, found)

    def text(self, token: int) -> str:
        """The visible form of the token that was fed in."""
        seen = self.reading.trace.overview
        return visible(seen.texts[token], bool(seen.special[token]))


def read_updates(trace: ReadableTrace, tokens: Iterable[int]) -> Updates:
    """What the passes of these tokens did; any thread may ask. Raises `UserError` where a file is damaged."""
    return [(token, trace.records[token].kv) for token in tokens]
