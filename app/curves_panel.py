"""The candidates' curves in their panel: whose candidates are on show, and which words stand above them."""

from __future__ import annotations

from app.title_words import short_quote, token_words, unbroken
from core.analysis.summaries import CandidateCurves, candidate_curves
from core.analysis.tree_curves import node_curves
from core.trace.reading import ReadableTrace
from core.trace.trace import TokenRecord
from widgets.palette import Theme
from widgets.probability_curves import ProbabilityCurvesView


def node_of(record: TokenRecord, chosen: int | None) -> int | None:
    """The `chosen` node where the token's tree has it."""
    known = record.tree is not None and chosen is not None and chosen < len(record.tree.drafted.parents)
    return chosen if known else None


def curves_of(trace: ReadableTrace, record: TokenRecord, node: int | None) -> CandidateCurves | None:
    """The token's candidates. Of a tree's pass, the node's; without one those that the token was one of."""
    if record.tree is None:
        return candidate_curves(trace, record.token)
    return node_curves(trace, record.token, node)


def curves_words(view: ProbabilityCurvesView, record: TokenRecord, node: int | None, theme: Theme) -> str:
    """The panel's subtitle above what `view` shows."""
    legend = unbroken(view.legend_html(theme, record.audit is not None))
    return _words(record, node) + (f" &nbsp;{legend}" if view.curves else "")


def _words(record: TokenRecord, node: int | None) -> str:
    if record.tree is None or node is None:
        return token_words(record)
    return f"after {short_quote(record.tree.drafted.node_bytes[node])}"
