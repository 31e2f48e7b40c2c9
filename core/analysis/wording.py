"""Small pieces of sentences: bold numbers, counted nouns, comparisons that do not lie by rounding."""

from __future__ import annotations

import html

from core.analysis.texts import quoted

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
    sign = "&gt;" if score > threshold else "≤"
    for digits in range(_LEAST_DIGITS, _MOST_DIGITS):
        if score == threshold or f"{score:.{digits}f}" != f"{threshold:.{digits}f}":
            break
    return f"{bold(f'{score:.{digits}f}')} {sign} {bold(f'{threshold:.{digits}f}')}"


def share(probability: float) -> str:
    """A probability in bold with two digits; one that would round to nothing is `< 0.01`."""
    return bold("< 0.01" if 0 < probability < 0.005 else f"{probability:.2f}")
