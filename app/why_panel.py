"""The words above the why paragraph: what it is about."""

from __future__ import annotations

from app.title_words import token_words
from core.trace.trace import TokenRecord
from widgets.selection import Selection


def why_words(record: TokenRecord | None, selection: Selection) -> str:
    """The panel's subtitle; `record` is the selected token's, None where there is none."""
    if record is None:
        return ""
    layer = selection.layer
    return token_words(record) + (f" · layer {layer + 1}" if layer is not None else "")
