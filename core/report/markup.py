"""Small pieces of a report's HTML. Whatever comes in as text is escaped here and nowhere else."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from core.report.drawing import Drawing
from core.report.escaping import escaped

_BOLD = re.compile(r"(</?b>)")


def sentences(markup: str) -> str:
    """A paragraph of the analysis; nothing but its `<b>` is let through as markup."""
    parts = _BOLD.split(markup)
    return "".join(part if _BOLD.fullmatch(part) else html.escape(html.unescape(part)) for part in parts)


def paragraph(markup: str, role: str = "") -> str:
    """The same as a paragraph; "" where there is nothing to say."""
    return f"<p{_class(role)}>{sentences(markup)}</p>\n" if markup else ""


def card(title: str, *body: str) -> str:
    """A part of a run, with its title."""
    return f'<section class="card">\n<h3>{escaped(title)}</h3>\n{"".join(body)}</section>\n'


def figure(drawing: Drawing, caption: str = "") -> str:
    """A picture with words below."""
    words = f"<figcaption>{escaped(caption)}</figcaption>" if caption else ""
    return f"<figure>\n{drawing.inline()}\n{words}</figure>\n"


def table(head: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[int] = ()) -> str:
    """A table; columns in `numbers` are flushed right."""
    titles = "".join(f'<th scope="col"{_number(at in numbers)}>{escaped(name)}</th>' for at, name in enumerate(head))
    body = "".join(f"<tr>{_cells(row, numbers)}</tr>\n" for row in rows)
    return f"<table>\n<thead><tr>{titles}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"


def _cells(row: Sequence[object], numbers: Sequence[int]) -> str:
    return "".join(f"<td{_number(at in numbers)}>{escaped(str(value))}</td>" for at, value in enumerate(row))


def _number(is_one: bool) -> str:
    return _class("number" if is_one else "")


def _class(role: str) -> str:
    return f' class="{role}"' if role else ""
