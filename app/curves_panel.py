"""The candidates' curves in their panel: whose candidates are on show, and why there may be none."""

from __future__ import annotations

from collections.abc import Iterator

from app.foreseen import Foreseen
from app.panel import Panel
from app.places import CURVES
from app.title_words import short_quote, token_words, unbroken, why_no_draft
from core.analysis.summaries import CandidateCurves
from core.trace.reading import ReadableTrace
from core.trace.trace import TokenRecord
from widgets.palette import Theme
from widgets.probability_curves import NO_TOKEN, ProbabilityCurvesView
from widgets.throttle import Throttle


class CurvesPanel:
    """Draws curves and the words above them: at once, or, of the newest token while the window is calm, in turns, as
    together they are the longest of a run's updates: the picture of the curves, what else the plot has, the words."""

    def __init__(self, view: ProbabilityCurvesView, panel: Panel, throttle: Throttle, foreseen: Foreseen) -> None:
        self._view, self._panel, self._throttle, self._foreseen = view, panel, throttle, foreseen

    def draw(self, trace: ReadableTrace, record: TokenRecord, chosen: int | None, theme: Theme) -> None:
        """Show this token's candidates, or those of the `chosen` node where its tree has it."""
        self.forget()
        node = _node_of(record, chosen)
        curves = self._foreseen.curves(trace, record, node)
        words = _words(record, node)
        is_newest = record.token + 1 >= trace.emitted_count  # another one was chosen by the user, who waits for no turn
        if is_newest and self._throttle.calm and curves is not None:
            self._throttle.take_turns(CURVES.key, self._turns(curves, words, theme))
        else:
            self._view.set_curves(curves, why_no_draft(trace, record))
            self._tell(curves, words, theme)

    def clear(self) -> None:
        """Show nothing, as no token is selected."""
        self.forget()
        self._view.set_curves(None, NO_TOKEN)
        self._panel.set_subtitle("")

    def forget(self) -> None:
        """Show no more what waits for its turn."""
        self._throttle.cancel(CURVES.key)

    def _turns(self, curves: CandidateCurves, words: str, theme: Theme) -> Iterator[None]:
        yield  # to find them is a turn's work
        yield from self._view.appear(curves)
        yield from self._view.get_ready(curves)
        self._view.set_curves(curves)
        yield
        self._tell(curves, words, theme)

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
