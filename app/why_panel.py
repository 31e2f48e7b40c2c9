"""The why paragraph in its panel, whose title names what it is about."""

from __future__ import annotations

from app.panel import Panel
from app.title_words import token_words
from core.analysis.why import why
from core.trace.reading import ReadableTrace
from core.trace.trace import TokenRecord
from widgets.selection import Selection
from widgets.why_view import WhyView


def draw_why(
    view: WhyView, panel: Panel, trace: ReadableTrace, record: TokenRecord | None, selection: Selection
) -> None:
    """Explain what is selected; `record` is its token's, None where there is none."""
    layer = selection.layer
    view.set_text(why(trace, selection.token, layer))
    words = token_words(record) if record else ""
    panel.set_subtitle(words + (f" · layer {layer + 1}" if record and layer is not None else ""))
