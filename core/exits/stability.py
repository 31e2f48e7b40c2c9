"""From which layer on a token stays what it is at the end. No torch: the oracle and the views both ask."""

from __future__ import annotations

import numpy as np

from core.trace.events import IntArray


def first_stable(tokens: IntArray) -> int:
    """The first 0-based layer from which all of `tokens` [L], each layer's own token, equal the last one."""
    differs = np.flatnonzero(tokens != tokens[-1])
    return int(differs[-1]) + 1 if len(differs) else 0
