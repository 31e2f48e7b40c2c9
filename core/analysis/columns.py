"""A whole audited run of T1 or T1+T2, a token a pass, as arrays for analyses that sweep all its tokens.

What the engine itself computed stands wherever it did: the features, scores and checks of the layers that it evaluated.
The audit fills in the other layers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.analysis.summaries import first_decided
from core.config import RunSettings
from core.errors import UserError
from core.trace.events import Audited, BoolArray, FloatArray, IntArray
from core.trace.reading import ReadableTrace
from core.trace.trace import TokenRecord


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

    @property
    def previous(self) -> IntArray:
        """Shape [n, L], the last active layer below each in the recording; -1 where there is none."""
        return last_below(self.active)


def last_below(active: BoolArray) -> IntArray:
    """The last active layer below each layer, -1 where there is none. Shape [n, L], as `active`."""
    at = np.where(active, np.arange(active.shape[1]), -1)
    found = np.full(active.shape, -1, np.int64)
    found[:, 1:] = np.maximum.accumulate(at, axis=1)[:, :-1]
    return found


def columns_of(trace: ReadableTrace) -> AuditColumns:
    """Gather a run's emitted tokens.

    Raises:
        UserError: the run was not recorded in audit depth, or its exits were not proposed by predictors.
    """
    if trace.started is None or not trace.started.settings.policy.needs_parts:
        raise UserError(
            "Only a run of SpecEE can be decided anew; record one with the policy specee-t1 or specee-t1t2."
        )
    if trace.started.settings.tree.on:
        raise UserError("This run decoded token trees, which are decided anew a pass at a time.")
    columns = _empty(trace, _candidates(trace))
    for token in range(1, len(columns)):
        record = trace.records[token]
        if record.audit is not None and record.draft is not None:
            _fill(columns, token, record, record.audit)
    return columns


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
    assert trace.started is not None
    shape = (trace.emitted_count, trace.depth)
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


def _fill(columns: AuditColumns, token: int, record: TokenRecord, audit: Audited) -> None:
    assert record.draft is not None
    columns.audited[token] = True
    columns.own_ids[token] = audit.token_ids
    columns.margins[token] = audit.margins
    for layer, check in record.verified.items():
        columns.own_ids[token, layer] = check.argmax_id
        columns.margins[token, layer] = check.margin
        columns.checked[token, layer] = True
    columns.among[token] = (columns.own_ids[token][:, None] == record.draft.candidate_ids).any(1)
    if record.schedule is not None:
        columns.active[token] = record.schedule.active
    _fill_features(columns, token, record, audit)


def _fill_features(columns: AuditColumns, token: int, record: TokenRecord, audit: Audited) -> None:
    k = columns.logits.shape[2]
    logits, evaluated = audit.candidate_logits, record.evaluated
    powers = np.exp(logits - logits.max(1, keepdims=True))
    columns.logits[token] = logits
    columns.local[token] = powers / powers.sum(1, keepdims=True)
    columns.scores[token] = audit.scores
    columns.evaluated[token] = evaluated
    if record.features.shape[1] == 3 * k:
        columns.logits[token, evaluated] = record.features[evaluated, :k]
        columns.local[token, evaluated] = record.features[evaluated, k : 2 * k]
    columns.scores[token, evaluated] = record.scores[evaluated]
