"""Words for title bars: which token is on show, and why there may be nothing."""

from __future__ import annotations

import html

from core.analysis.texts import visible
from core.choices import Policy
from core.trace.events import ExitReason
from core.trace.overview import is_wrong
from core.trace.reading import ReadableTrace
from core.trace.trace import TokenRecord
from widgets.probability_curves import PREFILL

LONGEST = 14
"""Characters of a token that a title bar has room for."""


def unbroken(legend: str) -> str:
    """A legend that never wraps between a sign and its word."""
    return legend.replace("</span> ", "</span>\u00a0")


def why_no_draft(trace: ReadableTrace, record: TokenRecord) -> str:
    """Why there are no candidates to show of a token."""
    policy = trace.started.settings.policy if trace.started else Policy.DENSE
    if given := why_nothing_given(trace, record):
        return given
    if not policy.needs_parts:
        return f"No draft: the {policy.value} policy looks at no candidates."
    return PREFILL if record.token == 0 else "Nothing has been drafted for this token yet."


def why_nothing_given(trace: ReadableTrace, record: TokenRecord) -> str:
    """Why nothing is told of a token that was given to a branch; "" for any other."""
    if record.emitted is None or record.emitted.reason is not ExitReason.GIVEN:
        return ""
    branch = trace.started.branch if trace.started else None
    told = f"; run {branch.origin + 1} tells how it came about" if branch and record.token <= branch.token else ""
    return f"This token was given to the branch{told}."


def token_words(record: TokenRecord) -> str:
    """Which token it is, and of a wrong exit what it should have been."""
    if record.emitted is None:
        return f"token {record.token + 1} · in flight"
    words = f"token {record.token + 1} {short_quote(record.emitted.token_bytes, record.emitted.special)}"
    if record.audit is not None and is_wrong(record):
        words += f" ≠ {short_quote(record.audit.token_bytes[-1])}"
    return words


def short_quote(token_bytes: bytes, special: bool = False) -> str:
    """A token in a title bar: what is too long for one is cut."""
    text = visible(token_bytes, special)
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return f"‘{html.escape(text)}’".replace(" ", "\u00a0")
