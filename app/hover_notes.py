"""What the hovers of the plots add to what the plots know themselves."""

from __future__ import annotations

from core.analysis.audit_words import wrong_exit
from core.analysis.summaries import online_sources
from core.trace.reading import ReadableTrace


def wrong_tokens(trace: ReadableTrace | None, token: int) -> str:
    """The two tokens that a wrong exit of this 0-based token was about."""
    return wrong_exit(trace.records[token]) if trace is not None and token < len(trace.records) else ""


def sources(trace: ReadableTrace | None, token: int, layer: int) -> str:
    """Which past exits made this layer active, both 0-based; "" before the run has begun."""
    if trace is None or trace.started is None or token >= len(trace.records):
        return ""
    found = online_sources(trace.records[token], layer, trace.started.settings.scheduler.radius)
    return ", ".join(f"token {at + 1} left at {exit_layer}" for at, exit_layer in found)
