"""What an audit and the engine say of every layer of a stretch of tokens, as arrays: ledger and judgements start here.

A stored run is read many tokens at once; a run in memory, and what is unusual about a token, by each one's record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from core.analysis.fact_filling import fill_record, fill_swept, wanted
from core.trace.events import BoolArray, FloatArray, IntArray
from core.trace.reading import ReadableTrace
from core.trace.sweep import PORTION, Sweep, swept_of


@dataclass(frozen=True, slots=True)
class LayerFacts:
    """One row a token of n emitted ones; the rows of tokens that no audit covers are empty."""

    first: int
    """Index of the first token here."""
    audited: BoolArray
    """Shape [n]."""
    drafted: BoolArray
    """Shape [n], whether there were candidates, of the token's own or of a tree's nodes."""
    own_ids: IntArray
    """Shape [n, L], each layer's own token by the audit; the last is the full-depth token. -1 without an audit."""
    margins: FloatArray
    """Shape [n, L], p₁ - p₂ over the whole vocabulary."""
    audit_scores: FloatArray
    """Shape [n, L], of every layer's predictor; NaN where there is none."""
    scores: FloatArray
    """Shape [n, L], the engine's own; NaN where it did not ask, and in a tree's pass, where each node has one."""
    among: BoolArray
    """Shape [n, L], whether the layer's own token is a candidate."""
    asked: BoolArray
    """Shape [n, L], whether the run itself asked the layer's predictor, in a tree's pass for any node."""
    active: BoolArray
    """Shape [n, L], the active set of the token's pass; none where there was no schedule."""
    refused: BoolArray
    """Shape [n, L], layers at which a check refused this very token although it was a candidate."""
    gated: IntArray
    """Shape [n], checks of the token's pass that the margin gate refused."""

    def __len__(self) -> int:
        return len(self.audited)

    @property
    def agrees(self) -> BoolArray:
        """Shape [n, L], whether the layer's own token is the full-depth one; nowhere without an audit."""
        same: BoolArray = (self.own_ids == self.own_ids[:, -1:]) & self.audited[:, None]
        return same

    @property
    def best_scores(self) -> FloatArray:
        """Shape [n, L], the engine's scores where it asked, else the audit's."""
        return np.where(np.isnan(self.scores), self.audit_scores, self.scores)


def portions(trace: ReadableTrace, first: int, last: int) -> Iterator[LayerFacts]:
    """The emitted tokens first…last - 1, some at a time, so many that they take about a tenth of a second.

    Raises:
        UserError: a token cannot be read, and nobody else is told of damage.
    """
    sweep = trace.sweep(wanted(trace))
    for start in range(first, last, PORTION):
        yield _read(trace, sweep, start, min(start + PORTION, last))


def facts_of(trace: ReadableTrace, first: int, last: int) -> LayerFacts:
    """All of the emitted tokens first…last - 1 at once; raises `UserError` as `portions` does."""
    parts = list(portions(trace, first, last)) or [_empty(first, 0, trace.depth)]
    return LayerFacts(first, *(np.concatenate([getattr(part, name) for part in parts]) for name in _PER_TOKEN))


def _read(trace: ReadableTrace, sweep: Sweep | None, first: int, last: int) -> LayerFacts:
    begin, end = sweep.around(first, last) if sweep is not None else (first, last)
    facts, swept = _empty(begin, end - begin, trace.depth), swept_of(sweep, begin, end)
    known = np.zeros(end - begin, np.bool_) if swept is None else fill_swept(facts, swept, trace.overview)
    here = slice(first - begin, last - begin)
    facts, known = LayerFacts(first, *(getattr(facts, name)[here] for name in _PER_TOKEN)), known[here]
    for row in np.flatnonzero(~known).tolist():
        fill_record(facts, row, trace.records[first + row])
    return facts


_PER_TOKEN = [field.name for field in fields(LayerFacts)][1:]


def _empty(first: int, count: int, depth: int) -> LayerFacts:
    shape = (count, depth)
    return LayerFacts(
        first=first,
        audited=np.zeros(count, np.bool_),
        drafted=np.zeros(count, np.bool_),
        own_ids=np.full(shape, -1, np.int64),
        margins=np.full(shape, np.nan, np.float32),
        audit_scores=np.full(shape, np.nan, np.float32),
        scores=np.full(shape, np.nan, np.float32),
        among=np.zeros(shape, np.bool_),
        asked=np.zeros(shape, np.bool_),
        active=np.zeros(shape, np.bool_),
        refused=np.zeros(shape, np.bool_),
        gated=np.zeros(count, np.int64),
    )
