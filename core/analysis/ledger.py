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

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from core.analysis.wording import bold, counted
from core.config import RunSettings
from core.exits.stability import first_stable
from core.trace.events import Audited, BoolArray, ExitReason, FloatArray, IntArray, WalkEnd
from core.trace.overview import NO_CANDIDATE, final_rank, is_wrong
from core.trace.reading import ReadableTrace
from core.trace.records import TokenRecord


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
        return [self._row(entry) for entry in LABELS]

    def _row(self, entry: Entry) -> LedgerRow:
        at = self.entries == entry
        return LedgerRow(entry, int(at.sum()), int(self.saved[at].sum()), int(self.lost[at].sum()))

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

    @property
    def label(self) -> str:
        return LABELS[self.entry]


def ledger(trace: ReadableTrace, first: int = 0, last: int | None = None) -> Ledger:
    """The emitted tokens from `first` on, up to `last` - 1 where it is given."""
    settings = trace.started.settings if trace.started else RunSettings()
    last = trace.emitted_count if last is None else min(last, trace.emitted_count)
    records = [trace.records[token] for token in range(first, last)]
    exits = trace.exit_layers[first:last]
    entries = np.array([entry_of(record, settings) for record in records], np.uint8)
    early = (entries == Entry.RIGHT_EXIT) | (entries == Entry.WRONG_EXIT)
    begins = trace.overview.passes[first:last] == np.arange(first, last)
    return Ledger(
        first=first,
        entries=entries,
        saved=np.where(early, trace.depth - exits, 0),
        lost=np.array([_lost(r, Entry(e)) for r, e in zip(records, entries, strict=True)], np.int64),
        refusals=np.where(begins, trace.overview.refusals[first:last], 0),
        gated=np.where(begins, np.array([_gated(record) for record in records], np.int64), 0),
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


def entry_of(record: TokenRecord, settings: RunSettings) -> Entry:
    """The class of one token."""
    emitted, audit = record.emitted, record.audit
    if emitted is None or audit is None or emitted.reason is ExitReason.PREFILL:
        return Entry.NONE
    if emitted.exit_layer < record.depth:
        return Entry.WRONG_EXIT if is_wrong(record) else Entry.RIGHT_EXIT
    stable = np.arange(record.depth) >= first_stable(audit.token_ids)
    stable[-1] = False
    if not stable.any():
        return Entry.NOTHING_TO_GAIN
    if record.draft is None and record.tree is None:
        looked = bool((record.evaluated & stable).any())
        return Entry.MISSED_BY_SCORE if looked else Entry.MISSED_BY_SCHEDULE
    return _missed(record, audit, settings, stable)


def _missed(record: TokenRecord, audit: Audited, settings: RunSettings, stable: BoolArray) -> Entry:
    if final_rank(record) == NO_CANDIDATE:
        return Entry.MISSED_BY_DRAFTER
    if any(stable[layer] for layer in _refused_by_check(record)):
        return Entry.MISSED_BY_GATE
    active = record.schedule.active if record.schedule else np.zeros(record.depth, np.bool_)
    fires, sure = _would_fire(record, audit, settings) & stable & ~active, audit.margins >= settings.gate
    if (fires & sure).any():
        return Entry.MISSED_BY_SCHEDULE
    return Entry.MISSED_BY_GATE if fires.any() else Entry.MISSED_BY_SCORE


def _would_fire(record: TokenRecord, audit: Audited, settings: RunSettings) -> BoolArray:
    """Layers whose score is above the threshold; where nothing is known of scores, all. Shape [L]."""
    if np.isnan(audit.scores).all():
        return np.ones(record.depth, np.bool_)
    thresholds = np.array(settings.thresholds(record.depth))
    fires: BoolArray = _scores(record, audit) > thresholds
    return fires


def _scores(record: TokenRecord, audit: Audited) -> FloatArray:
    """The audit's scores, and the engine's own where it asked the predictor. Shape [L]."""
    return np.where(np.isnan(record.scores), audit.scores, record.scores)


def _refused_by_check(record: TokenRecord) -> list[int]:
    """Layers at which the check refused this very token although it was a candidate."""
    if record.tree is None:
        return list(record.verified)
    return [layer for layer, walk in record.tree.verified.items() if walk.end is WalkEnd.GATED]


def _gated(record: TokenRecord) -> int:
    if record.tree is not None:
        return sum(walk.end is WalkEnd.GATED for walk in record.tree.verified.values())
    return sum(check.gated for check in record.verified.values())


def _lost(record: TokenRecord, entry: Entry) -> int:
    if entry in (Entry.NONE, Entry.WRONG_EXIT) or record.audit is None or record.emitted is None:
        return 0
    return max(0, record.emitted.exit_layer - first_stable(record.audit.token_ids) - 1)


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
