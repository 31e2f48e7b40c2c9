"""Fills rows of `AuditColumns` from what was recorded: one token by its record, or many of a stored run at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.analysis.membership import among
from core.errors import UserError
from core.trace.events import Audited, BoolArray, DraftProposed, FloatArray, LayerRun, ScheduleChosen, Verified
from core.trace.records import TokenRecord
from core.trace.sweep import Rows, Swept, Wanted

if TYPE_CHECKING:
    from core.analysis.columns import AuditColumns


def wanted(depth: int) -> Wanted:
    """What `fill_swept` needs of the events; `depth` is L."""
    layers = (depth,)
    return {
        DraftProposed: {"candidate_ids": (None,)},
        ScheduleChosen: {"active": layers},
        LayerRun: {"layer": None, "features": (None,), "score": None},
        Verified: {"layer": None, "argmax_id": None, "margin": None},
        Audited: {"token_ids": layers, "margins": layers, "candidate_logits": (depth, None), "scores": layers},
    }


def fill_record(columns: AuditColumns, token: int, record: TokenRecord) -> None:
    """Fill one token's row; nothing to do where it was not audited. Raises `UserError`: it has other candidates."""
    audit = record.audit
    if audit is None or record.draft is None:
        return
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
    k, evaluated, own = columns.logits.shape[2], record.evaluated, audit.candidate_logits.shape[1]
    if own != k:
        raise UserError(
            f"Token {token + 1} of this recording has {own} candidates where others have {k}, so that it cannot be "
            "decided anew; choose another run."
        )
    columns.logits[token] = audit.candidate_logits
    columns.local[token] = _softmax(audit.candidate_logits)
    columns.scores[token] = audit.scores
    columns.evaluated[token] = evaluated
    if record.features.shape[1] == 3 * k:
        columns.logits[token, evaluated] = record.features[evaluated, :k]
        columns.local[token, evaluated] = record.features[evaluated, k : 2 * k]
    columns.scores[token, evaluated] = record.scores[evaluated]


def _softmax(logits: FloatArray) -> FloatArray:
    """Over the last axis."""
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    shares: FloatArray = powers / powers.sum(-1, keepdims=True)
    return shares


def fill_swept(columns: AuditColumns, swept: Swept) -> BoolArray:
    """Fill the rows of tokens that were read together; which of them these are, shape [n]."""
    k, drafts, audits = columns.logits.shape[2], swept.rows[DraftProposed], swept.rows[Audited]
    if not len(drafts.tokens):  # as of those that a branch was given: their rows stay empty
        return swept.whole
    if drafts["candidate_ids"].shape[1:] != (k,) or audits["candidate_logits"].shape[2:] != (k,):
        return np.zeros(len(swept.whole), np.bool_)
    drafted = np.isin(audits.tokens, drafts.tokens)
    _fill_audits(columns, audits.kept(drafted))
    checks, schedules, layers = (
        rows.kept(columns.audited[rows.tokens])
        for rows in map(swept.rows.__getitem__, (Verified, ScheduleChosen, LayerRun))
    )
    _fill_checks(columns, checks)
    _fill_among(columns, drafts.kept(columns.audited[drafts.tokens]))
    columns.active[schedules.tokens] = schedules["active"]
    _fill_layers(columns, swept, layers)
    return swept.whole


def _fill_audits(columns: AuditColumns, audits: Rows) -> None:
    tokens = audits.tokens
    columns.audited[tokens] = True
    columns.own_ids[tokens] = audits["token_ids"]
    columns.margins[tokens] = audits["margins"]
    columns.logits[tokens] = audits["candidate_logits"]
    columns.local[tokens] = _softmax(audits["candidate_logits"])
    columns.scores[tokens] = audits["scores"]


def _fill_checks(columns: AuditColumns, checks: Rows) -> None:
    at = checks.tokens, checks["layer"]
    columns.own_ids[at] = checks["argmax_id"]
    columns.margins[at] = checks["margin"]
    columns.checked[at] = True


def _fill_among(columns: AuditColumns, drafts: Rows) -> None:
    columns.among[drafts.tokens] = among(columns.own_ids[drafts.tokens], drafts["candidate_ids"])


def _fill_layers(columns: AuditColumns, swept: Swept, layers: Rows) -> None:
    """What the engine's own predictors saw and said."""
    k, at = columns.logits.shape[2], (layers.tokens - swept.first, layers["layer"])
    scores = np.full((len(swept.whole), columns.depth), np.nan, np.float32)
    scores[at] = layers["score"]
    tokens, where = np.nonzero(~np.isnan(scores))
    columns.evaluated[tokens + swept.first, where] = True
    columns.scores[tokens + swept.first, where] = scores[tokens, where]
    if layers["features"].shape[1] != 3 * k:
        return
    present = layers.fields["features"].present
    seen = np.full((*scores.shape, 3 * k), np.nan, np.float32)
    seen[at[0][present], at[1][present]] = layers["features"]
    has = np.zeros(len(scores), np.bool_)
    has[at[0][present]] = True
    tokens, where = tokens[has[tokens]], where[has[tokens]]
    columns.logits[tokens + swept.first, where] = seen[tokens, where, :k]
    columns.local[tokens + swept.first, where] = seen[tokens, where, k : 2 * k]
