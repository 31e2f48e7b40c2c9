"""The token tree in its panel: which pass is on show, and why there may be none."""

from __future__ import annotations

from app.panel import Panel
from app.title_words import unbroken, why_nothing_given
from core.analysis.tree_figure import TreeFigure
from core.analysis.tree_view import tree_figure
from core.trace.reading import ReadableTrace
from core.trace.trace import TokenRecord
from widgets.palette import Theme
from widgets.tree_view import NO_TOKEN, NO_TREE, PREFILL, TreeView


def draw_tree(view: TreeView, panel: Panel, trace: ReadableTrace, record: TokenRecord | None, theme: Theme) -> None:
    """Show the pass that this token came from."""
    figure = tree_figure(trace, record.token) if record is not None else None
    view.set_figure(figure, why_no_tree(trace, record))
    legend = unbroken(TreeView.legend_html(theme))
    panel.set_subtitle(f"{pass_words(figure)} &nbsp;{legend}" if figure else "")


def why_no_tree(trace: ReadableTrace, record: TokenRecord | None) -> str:
    """Why there is no tree to draw."""
    if record is None:
        return NO_TOKEN
    if given := why_nothing_given(trace, record):
        return given
    with_trees = trace.started is not None and trace.started.settings.tree.on
    return PREFILL if with_trees and record.token == 0 else NO_TREE


def touches(record: TokenRecord, first: int) -> bool:
    """Whether what changed from token `first` on may belong to this token's pass."""
    accepted = record.tree.accepted if record.tree else None
    last = accepted.token + accepted.acceptance_length - 1 if accepted else record.token
    return last >= first


def pass_words(figure: TreeFigure) -> str:
    """Which tokens the pass emitted, and its acceptance length."""
    if not figure.exit_layer:
        return f"pass from token {figure.token + 1} on, in flight"
    last = figure.token + figure.acceptance_length
    tokens = f"tokens {figure.token + 1}–{last}" if last > figure.token + 1 else f"token {last}"
    return f"{tokens}, τ {figure.acceptance_length}"
