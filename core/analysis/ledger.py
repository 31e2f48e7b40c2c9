"""The outcome ledger: one class a token, which tells whether drafter, scheduler, predictor or gate cost the layers.

A token that ran to full depth could have left from its first stable layer on, the earliest from which every layer's own
token is the full-depth one (what the oracle does). The first of these that applies names what kept it from leaving:

1. no earlier layer is stable: *nothing to gain*;
2. the full-depth token is none of the candidates S: *missed by drafter*;
3. an exit was proposed at a stable layer and the check refused it: *missed by gate* (or by the low-rank head's
   shortlist; with a full head and no gate this cannot happen);
4. a stable layer's predictor would have fired, had it been active: *missed by schedule*;
5. its margin alone, below the gate, would have kept such a predictor from it: *missed by gate*;
6. no predictor of a stable layer is above its threshold: *missed by score*. In a tree's pass also where the token's own
   node would have let it go, but another node of the walk did not.

Policies without candidates are told by 1 and by whether their rule looked at a stable layer (score) or not (schedule).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from core.analysis.layer_facts import LayerFacts, portions
from core.analysis.wording import bold, counted
from core.config import RunSettings
from core.trace.events import BoolArray, ExitReason, IntArray
from core.trace.overview import NO_CANDIDATE, REASONS
from core.trace.reading import ReadableTrace


class Entry(IntEnum):
    """What became of a token's chance to leave early."""

    NONE = 0
    """From prefill, still in flight, or not audited."""
    RIGHT_EXIT = 1
    WRONG_EXIT = 2
    MISSED_BY_DRAFTER = 3
    MISSED_BY_SCHEDULE = 4
    MISSED_BY_SCORE = 5
    MISSED_BY_GATE = 6
    NOTHING_TO_GAIN = 7


LABELS = {
    Entry.RIGHT_EXIT: "right exit",
    Entry.WRONG_EXIT: "wrong exit",
    Entry.MISSED_BY_DRAFTER: "missed by drafter",
    Entry.MISSED_BY_SCHEDULE: "missed by schedule",
    Entry.MISSED_BY_SCORE: "missed by score",
    Entry.MISSED_BY_GATE: "missed by gate",
    Entry.NOTHING_TO_GAIN: "nothing to gain",
}
MEANINGS = {
    Entry.RIGHT_EXIT: "left early with the token that full depth gives",
    Entry.WRONG_EXIT: "left early with another token than full depth gives",
    Entry.MISSED_BY_DRAFTER: "could have left, but the token was none of the candidates",
    Entry.MISSED_BY_SCHEDULE: "could have left, but the predictor that would have fired was not active",
    Entry.MISSED_BY_SCORE: "could have left, but no predictor was sure enough",
    Entry.MISSED_BY_GATE: "could have left, but the check found it too close a call",
    Entry.NOTHING_TO_GAIN: "only the last layer settles on this token",
}


@dataclass(frozen=True, slots=True)
class Ledger:
    """The classes of a stretch of a run's emitted tokens."""

    first: int
    """Index of the first token here."""
    entries: NDArray[np.uint8]
    """Shape [n], values of `Entry`."""
    saved: IntArray
    """Shape [n], layers that an early exit left out."""
    lost: IntArray
    """Shape [n], layers run after the first stable one where the token was right; 0 where nothing was to gain."""
    refusals: IntArray
    """Shape [n], proposed exits that were refused; a tree's pass counts at its first token."""
    gated: IntArray
    """Shape [n], those of them that the margin gate refused."""

    def tokens(self, entry: Entry) -> IntArray:
        """The tokens of a class."""
        return np.flatnonzero(self.entries == entry) + self.first

    @property
    def rows(self) -> list[LedgerRow]:
        """One a class, in the order of `Entry`, empty ones too."""
        counts = np.bincount(self.entries, minlength=len(Entry))
        sums = [
            np.bincount(self.entries, one, len(Entry)).astype(np.int64)
            for one in (self.saved, self.lost, self.refusals)
        ]
        return [LedgerRow(entry, int(counts[entry]), *(int(one[entry]) for one in sums)) for entry in LABELS]

    @property
    def told(self) -> int:
        """Tokens that have a class."""
        return int((self.entries != Entry.NONE).sum())


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One class."""

    entry: Entry
    count: int
    saved: int
    """Layers, all its tokens together."""
    lost: int
    refused: int
    """Proposed exits."""

    @property
    def label(self) -> str:
        return LABELS[self.entry]


def ledger(
    trace: ReadableTrace, first: int = 0, last: int | None = None, watch: Callable[[int], object] | None = None
) -> Ledger:
    """The emitted tokens from `first` on, up to `last` - 1 where it is given.

    `watch` is told the last token of those looked at, now and then, and may raise to end it.
    """
    last = trace.emitted_count if last is None else min(last, trace.emitted_count)
    found = Ledger(first, np.zeros(0, np.uint8), *(np.zeros(0, np.int64) for _ in range(4)))
    for facts in portions(trace, first, last):
        found = extended(found, _of(trace, facts))
        if watch is not None:
            watch(facts.first + len(facts) - 1)
    return found


def _of(trace: ReadableTrace, facts: LayerFacts) -> Ledger:
    seen, here = trace.overview, slice(facts.first, facts.first + len(facts))
    entries, exits = _entries(trace, facts), trace.exit_layers[here]
    early = (entries == Entry.RIGHT_EXIT) | (entries == Entry.WRONG_EXIT)
    begins = seen.passes[here] == np.arange(here.start, here.stop)
    lost = np.where((entries == Entry.NONE) | (entries == Entry.WRONG_EXIT), 0, exits - _stable(facts).argmax(1) - 1)
    return Ledger(
        first=facts.first,
        entries=entries,
        saved=np.where(early, trace.depth - exits, 0),
        lost=np.maximum(lost, 0),
        refusals=np.where(begins, seen.refusals[here], 0),
        gated=np.where(begins, facts.gated, 0),
    )


def extended(before: Ledger, tail: Ledger) -> Ledger:
    """One ledger of both; where both know a token, `tail` is right.

    Raises:
        ValueError: tokens between the two are missing.
    """
    kept = tail.first - before.first
    if not 0 <= kept <= len(before.entries):
        raise ValueError(f"the ledgers do not meet: {before.first}, {len(before.entries)} tokens, and {tail.first}")
    pairs = (
        (getattr(before, name)[:kept], getattr(tail, name))
        for name in ("entries", "saved", "lost", "refusals", "gated")
    )
    return Ledger(before.first, *(np.concatenate(pair) for pair in pairs))


def _entries(trace: ReadableTrace, facts: LayerFacts) -> NDArray[np.uint8]:
    """The class of each token. Shape [n]."""
    seen, here = trace.overview, slice(facts.first, facts.first + len(facts))
    stable = _stable(facts)
    stable[:, -1] = False
    settings = trace.started.settings if trace.started else RunSettings()
    missed = np.where(facts.drafted, _missed(facts, settings, stable, seen.final_ranks[here]), _unlooked(facts, stable))
    wrong = facts.own_ids[:, -1] != seen.token_ids[here]
    found = np.where(stable.any(1), missed, Entry.NOTHING_TO_GAIN)
    found = np.where(trace.exit_layers[here] < trace.depth, np.where(wrong, Entry.WRONG_EXIT, Entry.RIGHT_EXIT), found)
    told = facts.audited & (seen.reasons[here] != _PREFILL)
    return np.where(told, found, Entry.NONE).astype(np.uint8)


_PREFILL = REASONS.index(ExitReason.PREFILL)


def _stable(facts: LayerFacts) -> BoolArray:
    """Layers from which on every layer's own token is the full-depth one. Shape [n, L]."""
    found: BoolArray = np.logical_and.accumulate(facts.agrees[:, ::-1], axis=1)[:, ::-1].copy()
    return found


def _unlooked(facts: LayerFacts, stable: BoolArray) -> IntArray:
    """What kept tokens for which nothing was drafted. Shape [n]."""
    return np.where((facts.asked & stable).any(1), Entry.MISSED_BY_SCORE, Entry.MISSED_BY_SCHEDULE)


def _missed(facts: LayerFacts, settings: RunSettings, stable: BoolArray, ranks: IntArray) -> IntArray:
    """What kept tokens with candidates; `ranks` are the full-depth tokens' among them. Shape [n]."""
    fires = _would_fire(facts, settings) & stable & ~facts.active
    sure = facts.margins >= settings.gate
    reasons = (
        (ranks == NO_CANDIDATE, Entry.MISSED_BY_DRAFTER),
        ((facts.refused & stable).any(1), Entry.MISSED_BY_GATE),
        ((fires & sure).any(1), Entry.MISSED_BY_SCHEDULE),
        (fires.any(1), Entry.MISSED_BY_GATE),
    )
    return np.select([applies for applies, _ in reasons], [entry for _, entry in reasons], Entry.MISSED_BY_SCORE)


def _would_fire(facts: LayerFacts, settings: RunSettings) -> BoolArray:
    """Layers whose score is above the threshold; where nothing is known of scores, all. Shape [n, L]."""
    silent = np.isnan(facts.audit_scores).all(1, keepdims=True)
    fires: BoolArray = silent | (facts.best_scores > np.array(settings.thresholds(facts.margins.shape[1])))
    return fires


def what_is_missing(trace: ReadableTrace) -> str:
    """Why a run has no ledger, as a sentence; "" where it has one."""
    if trace.emitted_count < 2:
        return "The ledger starts with the second token: the first comes from the prompt’s own pass."
    if not trace.overview.audited.any():
        return (
            "The ledger needs to know what full depth would have said, which this recording does not tell; record the "
            "run in audit depth (--record audit)."
        )
    return ""


def blame(found: Ledger) -> str:
    """Which part cost the most layers, as a sentence (minimal HTML); "" where nothing was missed."""
    missed = (Entry.MISSED_BY_DRAFTER, Entry.MISSED_BY_SCHEDULE, Entry.MISSED_BY_SCORE, Entry.MISSED_BY_GATE)
    rows = [row for row in found.rows if row.entry in missed]
    most = max(rows, key=lambda row: row.lost)
    if not most.lost:
        return ""
    part = most.label.removeprefix("missed by ")
    total = sum(row.lost for row in rows)
    return (
        f"The {bold(part)} cost the most: {counted(most.lost, 'layer')} of the {bold(total)} that were missed, at "
        f"{counted(most.count, 'token')}."
    )
