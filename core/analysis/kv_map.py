"""The K/V map, token × layer: which entries a token's own pass wrote, and what became of those that its exit skipped.

The entries of a generated token are written by the pass that feeds it, the one that emits the next token. So the row of
a token follows from the `KVUpdated` of its successor, and changes when a later pass catches it up.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from core.choices import KVPolicy
from core.trace.events import IntArray, KVUpdated
from core.trace.reading import ReadableTrace


class KVState(IntEnum):
    """One token's keys and values at one layer."""

    NONE = 0
    """The token has not been fed: it is the newest."""
    HELD = 1
    """Written by the token's own pass."""
    SKIPPED = 2
    """Missing: attention skips it, for good under *hole*, until it is caught up under *recompute*."""
    PROPAGATED = 3
    """Made from the state that the pass left with (CALM)."""
    RECOMPUTED = 4
    """Caught up by a later pass, exactly as at full depth."""


LABELS = {
    KVState.NONE: "not fed yet",
    KVState.HELD: "held",
    KVState.SKIPPED: "skipped",
    KVState.PROPAGATED: "propagated",
    KVState.RECOMPUTED: "recomputed",
}


@dataclass(frozen=True, slots=True)
class KVMap:
    """Rows are generated tokens, in order; the prompt's entries are all held and have no row."""

    prompt: int
    """Prompt positions: token t lies at context position prompt + t."""
    states: NDArray[np.uint8]
    """Shape [n, L], values of `KVState`."""
    caught_up_by: IntArray
    """Shape [n, L], the generated token whose pass recomputed the entry; -1 elsewhere."""

    def counts(self) -> dict[KVState, int]:
        """Entries in each state."""
        found = np.bincount(self.states.ravel(), minlength=len(KVState))
        return {state: int(found[state]) for state in KVState}

    @property
    def waiting(self) -> IntArray:
        """Shape [n], entries that each token lacks."""
        missing: IntArray = (self.states == KVState.SKIPPED).sum(1)
        return missing


def kv_map(trace: ReadableTrace, until: int | None = None) -> KVMap:
    """The map as it is once the token `until` (default: the newest) is emitted, for stepping through time."""
    count = trace.emitted_count if until is None else min(until + 1, trace.emitted_count)
    prompt = len(trace.started.prompt_ids) if trace.started else 0
    states = np.zeros((count, trace.depth), np.uint8)
    caught_up_by = np.full((count, trace.depth), -1, np.int64)
    found = KVMap(prompt, states, caught_up_by)
    for token in range(1, count):
        if (update := trace.records[token].kv) is not None:
            enter(found, update, left_behind(trace))
    return found


def left_behind(trace: ReadableTrace) -> KVState:
    """What an exit leaves at the layers that it skips."""
    policy = trace.started.settings.kv_policy if trace.started else KVPolicy.RECOMPUTE
    return KVState.PROPAGATED if policy is KVPolicy.PROPAGATE else KVState.SKIPPED


def enter(found: KVMap, update: KVUpdated, skipped: KVState) -> None:
    """Take in one pass's update in place, so that a growing map costs no more than its new rows."""
    count = len(found.states)
    row = update.position - found.prompt
    if 0 <= row < count:
        found.states[row, : update.skipped_from] = KVState.HELD
        found.states[row, update.skipped_from :] = skipped
    for position, first, last in update.recomputed.tolist():
        if 0 <= (behind := position - found.prompt) < count:
            found.states[behind, first:last] = KVState.RECOMPUTED
            found.caught_up_by[behind, first:last] = update.token
