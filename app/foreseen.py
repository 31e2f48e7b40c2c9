"""What the panels say of the token another step would lead to, made in a quiet moment so that the step need not."""

from __future__ import annotations

from core.analysis.summaries import CandidateCurves, candidate_curves
from core.analysis.tree_curves import node_curves
from core.analysis.why import why
from core.trace.reading import ReadableTrace
from core.trace.trace import TokenRecord
from widgets.selection import Selection


class Foreseen:
    """Curves and why paragraph of whatever token, and those of one made before they are asked for."""

    def __init__(self) -> None:
        self._trace: ReadableTrace | None = None
        self._selection = Selection()
        self._curves: CandidateCurves | None = None
        self._why = ""

    def make(self, trace: ReadableTrace | None, selection: Selection) -> CandidateCurves | None:
        """Make both for this selection, and tell the curves. A run that goes on may still change: nothing is made."""
        self._trace = None
        if trace is None or trace.ended is None or selection.token is None:
            return None
        self._curves = curves_of(trace, trace.records[selection.token], selection.node)
        self._why = why(trace, selection.token, selection.layer)
        self._trace, self._selection = trace, selection
        return self._curves

    def curves(self, trace: ReadableTrace, record: TokenRecord, node: int | None) -> CandidateCurves | None:
        """As `curves_of`."""
        seen = self._selection
        if trace is self._trace and (record.token, node) == (seen.token, seen.node):
            return self._curves
        return curves_of(trace, record, node)

    def why(self, trace: ReadableTrace, selection: Selection) -> str:
        """As `core.analysis.why.why`."""
        if trace is self._trace and selection == self._selection:
            return self._why
        return why(trace, selection.token, selection.layer)


def curves_of(trace: ReadableTrace, record: TokenRecord, node: int | None) -> CandidateCurves | None:
    """The token's candidates. Of a tree's pass, the node's; without one those that the token was one of."""
    if record.tree is None:
        return candidate_curves(trace, record.token)
    return node_curves(trace, record.token, node)
