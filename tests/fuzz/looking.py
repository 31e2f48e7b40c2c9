"""Looks at a run as the window does: every array, curve and sentence of every token."""

from __future__ import annotations

from core.analysis import summaries
from core.analysis.calibration import judgements
from core.analysis.conditions import NearThreshold
from core.analysis.costs import costs
from core.analysis.kv_map import kv_map
from core.analysis.ledger import ledger
from core.analysis.tree_view import tree_figure
from core.analysis.why import why_plain
from core.trace.reading import ReadableTrace


def look_at(trace: ReadableTrace) -> None:
    """Compute what the views show; raises whatever they would stumble over."""
    summaries.token_chips(trace)
    summaries.exit_series(trace)
    summaries.scheduler_map(trace)
    for figure in (summaries.mean_exit_layer, summaries.agreement, summaries.tokens_per_second):
        figure(trace)
    for token in range(len(trace.records)):
        summaries.candidate_curves(trace, token)
        tree_figure(trace, token)
        for layer in (None, 0, trace.depth // 2, trace.depth - 1):
            why_plain(trace, token, layer)
    kv_map(trace)
    ledger(trace)
    judgements(trace)
    costs(trace)
    NearThreshold(0.01).found(trace, 0, trace.emitted_count)
