"""What a model or a prompt says, made safe and visible in HTML and SVG."""

from __future__ import annotations

import html
import re

from core.analysis.texts import quoted

_LINES = re.compile(r"(\r\n|\n|\t)")


def escaped(text: str) -> str:
    """One line for an element or a quoted attribute; what is invisible or no character of XML is spelled out."""
    return html.escape(_visible(text), quote=True)


def escaped_lines(text: str) -> str:
    """Text of many lines for an element that keeps white space; line breaks and tabs stay what they are."""
    parts = _LINES.split(text)
    return "".join(part if _LINES.fullmatch(part) else escaped(part) for part in parts)


def words(markup: str) -> str:
    """A sentence of the analysis, whose only markup is `<b>`, without it."""
    return html.unescape(re.sub(r"<[^>]*>", "", markup)).replace("\u00a0", " ")


def _visible(text: str) -> str:
    if not text or (text.isascii() and text.isprintable()):
        return text
    # Half a surrogate pair comes out of damaged JSON; as bytes it is spelled like any other byte that is no text.
    return quoted(text.encode("utf-8", "surrogatepass"))[1:-1]
