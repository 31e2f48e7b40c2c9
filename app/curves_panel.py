"""The candidates' curves in their panel: whose candidates are on show, and why there may be none."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from app.foreseen import Foreseen
from app.panel import Panel
from app.title_words import short_quote, token_words, unbroken, why_no_draft
from core.analysis.summaries import CandidateCurves
from core.trace.reading import ReadableTrace
from core.trace.trace import TokenRecord
from widgets.palette import Theme
from widgets.probability_curves import NO_TOKEN, ProbabilityCurvesView
from widgets.throttle import Throttle

REST = "the curves' rest"
"""By this the second turn is known."""


class CurvesPanel:
    """Draws curves and the words above them: at once, or, of the newest token while the window is calm, the picture of
    the curves in one turn, all else of the plot in the next, and the words in a third. Together they are the longest of
    a run's turns."""

    def __init__(self, view: ProbabilityCurvesView, panel: Panel, throttle: Throttle, foreseen: Foreseen) -> None:
        self._view, self._panel, self._throttle, self._foreseen = view, panel, throttle, foreseen

    def draw(self, trace: ReadableTrace, record: TokenRecord, chosen: int | None, theme: Theme) -> None:
        """Show this token's candidates, or those of the `chosen` node where its tree has it."""
        self.forget()
        node = _node_of(record, chosen)
        curves = self._foreseen.curves(trace, record, node)
        tell = partial(self._tell, curves, _words(record, node), theme)
        is_newest = record.token + 1 >= trace.emitted_count  # another one was chosen by the user, who waits for no turn
        if is_newest and self._throttle.calm and curves is not None:
            self._view.expect(curves)
            self._throttle.request(REST, partial(self._show_then, curves, tell))
        else:
            self._view.set_curves(curves, why_no_draft(trace, record))
            tell()

    def clear(self) -> None:
        """Show nothing, as no token is selected."""
        self.forget()
        self._view.set_curves(None, NO_TOKEN)
        self._panel.set_subtitle("")

    def forget(self) -> None:
        """Show no more what waits for its turn."""
        self._throttle.cancel(REST)

    def _show_then(self, curves: CandidateCurves, tell: Callable[[], None]) -> None:
        self._view.set_curves(curves)
        self._throttle.request(REST, tell)

    def _tell(self, curves: CandidateCurves | None, words: str, theme: Theme) -> None:
        audited = curves is not None and curves.audit is not None
        legend = f" &nbsp;{unbroken(self._view.legend_html(theme, audited))}" if curves is not None else ""
        self._panel.set_subtitle(words + legend)


def _node_of(record: TokenRecord, chosen: int | None) -> int | None:
    known = record.tree is not None and chosen is not None and chosen < len(record.tree.drafted.parents)
    return chosen if known else None


def _words(record: TokenRecord, node: int | None) -> str:
    """Whose candidates they are."""
    if record.tree is None or node is None:
        return token_words(record)
    return f"after {short_quote(record.tree.drafted.node_bytes[node])}"
