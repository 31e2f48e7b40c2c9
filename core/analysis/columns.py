"""A whole audited run of T1 or T1+T2, a token a pass, as arrays for analyses that sweep all its tokens.

What the engine itself computed stands wherever it did: the features, scores and checks of the layers that it evaluated.
The audit fills in the other layers. A stored run is gathered many tokens at once; a run in memory, and what is unusual
about a token, by each one's record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from core.analysis.column_filling import fill_record, fill_swept, wanted
from core.analysis.summaries import first_decided
from core.config import RunSettings
from core.errors import UserError
from core.trace.events import BoolArray, FloatArray, IntArray
from core.trace.reading import ReadableTrace
from core.trace.sweep import PORTION, swept_of

MOST_BYTES, OTHER_BYTES = 2**29, 28
"""Of the columns of a run, and a layer of a token without its candidates."""


@dataclass(frozen=True, slots=True)
class AuditColumns:
    """One row a token of a run of n emitted tokens; rows of tokens that no audit covers, the first one and those that a
    branch was given, are empty."""

    settings: RunSettings
    depth: int
    offline: IntArray
    """Layers that the run's offline profile kept active, best first."""
    exit_layers: IntArray
    """Shape [n], layers run, 1…L."""
    token_ids: IntArray
    """Shape [n], the emitted tokens."""
    audited: BoolArray
    """Shape [n]; False for the token from prefill."""
    own_ids: IntArray
    """Shape [n, L], each layer's own token; -1 without an audit. The last column is the full-depth token."""
    margins: FloatArray
    """Shape [n, L], p₁ - p₂ over the whole vocabulary; NaN without an audit."""
    among: BoolArray
    """Shape [n, L], whether the layer's own token is one of the candidates S."""
    active: BoolArray
    """Shape [n, L], the active set of the recording."""
    evaluated: BoolArray
    """Shape [n, L], active layers that were run before the exit."""
    checked: BoolArray
    """Shape [n, L], layers at which the full vocabulary was asked."""
    logits: FloatArray
    """Shape [n, L, k], of the candidates."""
    local: FloatArray
    """Shape [n, L, k], softmax over the candidates."""
    scores: FloatArray
    """Shape [n, L], of every layer's predictor with variations taken to the last active layer below; NaN where there
    is no predictor."""

    def __len__(self) -> int:
        return len(self.exit_layers)

    def first(self, count: int) -> AuditColumns:
        """The first `count` tokens alone, as views of these arrays."""
        return replace(self, **{name: getattr(self, name)[:count] for name in _PER_TOKEN})

    @property
    def previous(self) -> IntArray:
        """Shape [n, L], the last active layer below each in the recording; -1 where there is none."""
        return last_below(self.active)


_PER_TOKEN = (
    *("exit_layers", "token_ids", "audited", "own_ids", "margins", "among", "active", "evaluated", "checked"),
    *("logits", "local", "scores"),
)


def last_below(active: BoolArray) -> IntArray:
    """The last active layer below each layer, -1 where there is none. Shape [n, L], as `active`."""
    at = np.where(active, np.arange(active.shape[1]), -1)
    found = np.full(active.shape, -1, np.int64)
    found[:, 1:] = np.maximum.accumulate(at, axis=1)[:, :-1]
    return found


def columns_of(trace: ReadableTrace, watch: Callable[[int], object] | None = None) -> AuditColumns:
    """Gather all of a run's emitted tokens.

    `watch` is told, now and then, how many are gathered, and may raise to end it.

    Raises:
        UserError: as `AuditReader` says.
    """
    reader = AuditReader(trace)
    while not reader.is_done:
        reader.advance()
        if watch is not None:
            watch(reader.count)
    return reader.columns


class AuditReader:
    """Gathers a run's emitted tokens in their order, some at a time."""

    def __init__(self, trace: ReadableTrace) -> None:
        """Nothing is gathered yet but the token from prefill, of which there is nothing to tell.

        Raises:
            UserError: the run was not recorded in audit depth, or its exits were not proposed by predictors.
        """
        _check(trace)
        self.trace = trace
        self._all = _empty(trace, _candidates(trace))
        self._sweep = trace.sweep(wanted(trace.depth))
        self.count = min(1, len(self._all))
        """How many tokens are gathered."""

    @property
    def is_done(self) -> bool:
        return self.count == len(self._all)

    @property
    def columns(self) -> AuditColumns:
        """The tokens that are gathered; gathering more changes nothing of them."""
        return self._all.first(self.count)

    def advance(self) -> None:
        """Gather the next tokens, about as many as take a tenth of a second."""
        last = min(self.count + PORTION, len(self._all))
        known = self._swept(last)
        for token in (self.count + np.flatnonzero(~known)).tolist():
            fill_record(self._all, token, self.trace.records[token])
        self.count = last

    def _swept(self, last: int) -> BoolArray:
        """Fill the rows up to `last` - 1 as far as they can be read together; which of them these are, shape [n]."""
        swept = swept_of(self._sweep, self.count, last)
        return np.zeros(last - self.count, np.bool_) if swept is None else fill_swept(self._all, swept)


def _check(trace: ReadableTrace) -> None:
    if trace.started is None or not trace.started.settings.policy.needs_parts:
        raise UserError(
            "Only a run of SpecEE can be decided anew; record one with the policy specee-t1 or specee-t1t2."
        )
    if trace.started.settings.tree.on:
        raise UserError("This run decoded token trees, which are decided anew a pass at a time.")


def _candidates(trace: ReadableTrace) -> int:
    """k; raises `UserError` where the run has tokens that were not audited."""
    first = first_decided(trace)
    if trace.emitted_count <= first:
        return 0
    record = trace.records[first]
    if record.audit is None or record.draft is None:
        raise UserError(
            "This recording does not tell what the layers beyond each exit would have said; record the run in audit "
            "depth."
        )
    return len(record.draft.candidate_ids)


def _empty(trace: ReadableTrace, k: int) -> AuditColumns:
    """Raises `UserError` where there would be no memory for all."""
    assert trace.started is not None
    shape = (trace.emitted_count, trace.depth)
    _check_size(*shape, k)
    seen = trace.overview  # not the records, each of which is unpacked once more for that
    return AuditColumns(
        settings=trace.started.settings,
        depth=trace.depth,
        offline=trace.started.offline,
        exit_layers=seen.exit_layers[: shape[0]].astype(np.int64),
        token_ids=seen.token_ids[: shape[0]].astype(np.int64),
        audited=np.zeros(shape[0], np.bool_),
        own_ids=np.full(shape, -1, np.int64),
        margins=np.full(shape, np.nan, np.float32),
        among=np.zeros(shape, np.bool_),
        active=np.zeros(shape, np.bool_),
        evaluated=np.zeros(shape, np.bool_),
        checked=np.zeros(shape, np.bool_),
        logits=np.zeros((*shape, k), np.float32),
        local=np.zeros((*shape, k), np.float32),
        scores=np.full(shape, np.nan, np.float32),
    )


def _check_size(tokens: int, layers: int, k: int) -> None:
    """Raises `UserError`: the columns would take more memory than is allowed."""
    if tokens * layers * (8 * k + OTHER_BYTES) > MOST_BYTES:
        raise UserError(
            f"This run of {tokens:,} tokens with {k:,} candidates at {layers:,} layers is too large to be decided anew "
            "in memory; choose a shorter one."
        )
