"""Texts that are hard to show, put into a fake run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from core.trace.events import Audited, DraftProposed, Event, TokenEmitted, Verified

LONG = ("Donaudampfschifffahrtsgesellschaft" * 6)[:200]
TEXTS: dict[str, tuple[str, ...]] = {
    "long": (LONG, " the", LONG[:90], "\n\n\n\t", " " * 24, " x"),
    "scripts": (
        " 하늘은",
        "天空为什么是蓝色",
        " السماء",
        " é̂",
        "👩‍👩‍👧",
        "\ufffd",
        " नमस्ते",
        "\u200b",
        " שלום",
        "∑∫",
        " ภาษาไทย",
    ),
}
"""Words that are hard to show, by state."""


def texted(events: Iterable[Event], words: tuple[str, ...]) -> list[Event]:
    """A fake run that says other words."""

    def text(token_id: int) -> bytes:
        return words[int(token_id) % len(words)].encode()

    def changed(event: Event) -> Event:
        match event:
            case DraftProposed():
                return replace(event, candidate_bytes=tuple(text(i) for i in event.candidate_ids))
            case Audited():
                return replace(event, token_bytes=tuple(text(i) for i in event.token_ids))
            case Verified():
                return replace(event, argmax_bytes=text(event.argmax_id))
            case TokenEmitted():
                return replace(event, token_bytes=text(event.token_id))
        return event

    return [changed(event) for event in events]
