"""Continuations found earlier in the context (prompt lookup; Saxena, 2023): free guesses where text repeats itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LONGEST, SHORTEST = 4, 2
"""How many of the newest tokens must have stood together before."""


def continuation(tokens: Sequence[int], count: int) -> list[int]:
    """Up to `count` tokens that followed the newest ones when these last stood together before; empty where never."""
    text = np.asarray(tokens, np.int64)
    for size in range(min(LONGEST, len(text) - 1), SHORTEST - 1, -1):
        windows = np.lib.stride_tricks.sliding_window_view(text[:-1], size)
        places = np.flatnonzero((windows == text[-size:]).all(1))
        if len(places):
            first = int(places[-1]) + size
            return [int(token) for token in text[first : first + count]]
    return []
