"""Fills rows of `LayerFacts` from what was recorded: one token by its record, or many of a stored run at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.analysis import tree_filling
from core.analysis.membership import among
from core.analysis.tree_filling import fill_trees, without_odd_trees
from core.trace.events import (
    Audited,
    BoolArray,
    DraftProposed,
    LayerRun,
    ScheduleChosen,
    TreeDrafted,
    Verified,
    WalkEnd,
)
from core.trace.overview import Overview, candidates_of
from core.trace.reading import ReadableTrace
from core.trace.records import TokenRecord
from core.trace.sweep import Swept, Wanted

if TYPE_CHECKING:
    from core.analysis.layer_facts import LayerFacts


def wanted(trace: ReadableTrace) -> Wanted:
    """What `fill_swept` needs of the events."""
    layers, trees = (trace.depth,), trace.started is not None and trace.started.settings.tree.on
    return {
        **(tree_filling.WANTED if trees else {}),
        DraftProposed: {"candidate_ids": (None,)},
        ScheduleChosen: {"active": layers},
        LayerRun: {"layer": None, "score": None},
        Verified: {"layer": None, "gated": None},
        Audited: {"token_ids": layers, "margins": layers, "scores": layers},
    }


def fill_record(facts: LayerFacts, row: int, record: TokenRecord) -> None:
    """Fill one token's row."""
    facts.drafted[row] = record.draft is not None or record.tree is not None
    facts.scores[row] = record.scores
    facts.asked[row] = record.evaluated
    if record.schedule is not None:
        facts.active[row] = record.schedule.active
    _fill_checks(facts, row, record)
    if record.audit is None:
        return
    facts.audited[row] = True
    facts.own_ids[row] = record.audit.token_ids
    facts.margins[row] = record.audit.margins
    facts.audit_scores[row] = record.audit.scores
    if (candidates := candidates_of(record)) is not None:
        facts.among[row] = np.isin(record.audit.token_ids, candidates)


def _fill_checks(facts: LayerFacts, row: int, record: TokenRecord) -> None:
    """Of a tree's walks, those that the gate ended refused a candidate; another token was at fault in all others."""
    if record.tree is None:
        facts.refused[row, list(record.verified)] = True
        facts.gated[row] = sum(check.gated for check in record.verified.values())
    else:
        gated = [layer for layer, walk in record.tree.verified.items() if walk.end is WalkEnd.GATED]
        facts.refused[row, gated] = True
        facts.gated[row] = len(gated)


def fill_swept(facts: LayerFacts, swept: Swept, overview: Overview) -> BoolArray:
    """Fill the rows of tokens that were read together; which of them these are, shape [n]."""
    if TreeDrafted in swept.rows:
        swept = without_odd_trees(swept, overview)
    first, rows = swept.first, swept.rows
    schedules, layers, checks = (rows[kind] for kind in (ScheduleChosen, LayerRun, Verified))
    facts.scores[layers.tokens - first, layers["layer"]] = layers["score"]
    facts.asked[:] = ~np.isnan(facts.scores)
    facts.active[schedules.tokens - first] = schedules["active"]
    facts.refused[checks.tokens - first, checks["layer"]] = True
    gated = np.zeros_like(facts.refused)
    gated[checks.tokens - first, checks["layer"]] = checks["gated"]
    facts.gated[:] = gated.sum(1)
    _fill_audits(facts, swept)
    _fill_drafts(facts, swept)
    if TreeDrafted in swept.rows:
        fill_trees(facts, swept, overview)
    return swept.whole


def _fill_drafts(facts: LayerFacts, swept: Swept) -> None:
    drafts = swept.rows[DraftProposed]
    at = drafts.tokens - swept.first
    facts.drafted[at] = True
    facts.among[at] = among(facts.own_ids[at], drafts["candidate_ids"]) & facts.audited[at][:, None]


def _fill_audits(facts: LayerFacts, swept: Swept) -> None:
    audits = swept.rows[Audited]
    at = audits.tokens - swept.first
    facts.audited[at] = True
    facts.own_ids[at] = audits["token_ids"]
    facts.margins[at] = audits["margins"]
    facts.audit_scores[at] = audits["scores"]
