"""Small pieces of sentences: bold numbers, counted nouns, comparisons that do not lie by rounding."""

from __future__ import annotations

import html

from core.analysis.texts import quoted
from core.trace.events import StageTimes

LONGEST_TOKEN = 48
"""Characters of a token that a sentence shows; the middle of a longer one is left out."""

_LEAST_DIGITS, _MOST_DIGITS = 2, 7


def bold(value: object) -> str:
    """`value` in bold, escaped."""
    return f"<b>{html.escape(str(value), quote=False)}</b>"


def token_text(token_bytes: bytes, special: bool = False) -> str:
    """A token in quotation marks, escaped, in one piece, with its middle left out where it is very long."""
    text = quoted(token_bytes, special)
    if len(text) > LONGEST_TOKEN:
        half = LONGEST_TOKEN // 2
        text = f"{text[:half]}…{text[-half:]}"
    return html.escape(text, quote=False).replace(" ", "\u00a0")


def bold_token(token_bytes: bytes, special: bool = False) -> str:
    """`token_text` in bold."""
    return f"<b>{token_text(token_bytes, special)}</b>"


def counted(count: int, noun: str) -> str:
    """`1 layer`, `2 layers`, the number in bold."""
    return f"{bold(count)} {noun}{'' if count == 1 else 's'}"


def joined(*sentences: str) -> str:
    """The sentences that are not empty, with a space between."""
    return " ".join(sentence for sentence in sentences if sentence)


def listed(items: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(items[:-1]), items[-1]])) if items else ""


def compared(score: float, threshold: float) -> str:
    """`0.71 > 0.50` with as many digits as it takes to see the difference; equal numbers are `≤`, which is no exit."""
    one, other = told_apart(score, threshold)
    return f"{one} {'&gt;' if score > threshold else '≤'} {other}"


def told_apart(one: float, other: float) -> tuple[str, str]:
    """Both numbers in bold, with as many digits as it takes to see the difference."""
    for digits in range(_LEAST_DIGITS, _MOST_DIGITS):
        if one == other or f"{one:.{digits}f}" != f"{other:.{digits}f}":
            break
    return bold(f"{one:.{digits}f}"), bold(f"{other:.{digits}f}")


def share(probability: float) -> str:
    """A probability in bold with two digits; one that would round to nothing is `< 0.01`."""
    return bold("<\N{NO-BREAK SPACE}0.01" if 0 < probability < 0.005 else f"{probability:.2f}")


def took(times: StageTimes) -> str:
    """How long a token took and where its time went, in milliseconds; "" where nothing was measured."""
    if not times.total > 0:
        return ""
    stages = {
        "drafter": times.draft,
        "layers": times.layers,
        "skipped K/V caught up": times.recompute,
        "predictors": times.predictor,
        "full-vocabulary checks": times.verification,
        "recording": times.recording,
    }
    parts = ", ".join(f"{name} {_milliseconds(seconds)}" for name, seconds in stages.items() if seconds > 0)
    return f"It took {bold(f'{times.total * 1e3:.1f}')} ms{f': {parts}' if parts else ''}."


def _milliseconds(seconds: float) -> str:
    return bold("<\N{NO-BREAK SPACE}0.1" if seconds < 5e-5 else f"{seconds * 1e3:.1f}")
