"""The candidates' curves in their panel: whose candidates are on show, and why there may be none."""

from __future__ import annotations

from app.panel import Panel
from app.title_words import short_quote, token_words, unbroken, why_no_draft
from core.analysis.summaries import CandidateCurves, candidate_curves
from core.analysis.tree_curves import node_curves
from core.trace.reading import ReadableTrace
from core.trace.trace import TokenRecord
from widgets.palette import Theme
from widgets.probability_curves import ProbabilityCurvesView


def draw_curves(
    view: ProbabilityCurvesView,
    panel: Panel,
    trace: ReadableTrace,
    record: TokenRecord,
    chosen: int | None,
    theme: Theme,
) -> None:
    """Show this token's candidates, or those of the `chosen` node where its tree has it."""
    node = _node_of(record, chosen)
    view.set_curves(_curves_of(trace, record, node), why_no_draft(trace, record))
    legend = unbroken(view.legend_html(theme, record.audit is not None))
    panel.set_subtitle(_words(record, node) + (f" &nbsp;{legend}" if view.curves else ""))


def _node_of(record: TokenRecord, chosen: int | None) -> int | None:
    known = record.tree is not None and chosen is not None and chosen < len(record.tree.drafted.parents)
    return chosen if known else None


def _curves_of(trace: ReadableTrace, record: TokenRecord, node: int | None) -> CandidateCurves | None:
    """Of a tree's pass, the node's candidates; without one those that the token was one of."""
    if record.tree is None:
        return candidate_curves(trace, record.token)
    return node_curves(trace, record.token, node)


def _words(record: TokenRecord, node: int | None) -> str:
    if record.tree is None or node is None:
        return token_words(record)
    return f"after {short_quote(record.tree.drafted.node_bytes[node])}"
