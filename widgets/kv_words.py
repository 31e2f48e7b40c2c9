"""Rows of the K/V map in words: which layers are in which state."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from core.analysis.kv_map import LABELS, KVState
from core.analysis.kv_reading import UNREAD, KVLook

MARKS = {KVState.HELD: "■", KVState.SKIPPED: "░", KVState.PROPAGATED: "▨", KVState.RECOMPUTED: "▤"}
NOT_READ = "not read yet"


def state_words(state: int) -> str:
    """One cell's state."""
    return NOT_READ if state == UNREAD else LABELS[KVState(state)]


def stretches(states: NDArray[np.uint8]) -> list[tuple[int, int, int]]:
    """A row [L] as runs of equal states: (state, first layer, last layer), layers counted from 1."""
    found, layer = [], 1
    for state, group in groupby(states.tolist()):
        length = len(list(group))
        found.append((state, layer, layer + length - 1))
        layer += length
    return found


def layers_in(states: NDArray[np.uint8], state: KVState) -> str:
    """The layers of a row that are in this state, as `1–12, 20–24`; "" for none."""
    return ", ".join(_span(first, last) for one, first, last in stretches(states) if one == state)


def row_words(states: NDArray[np.uint8]) -> str:
    """A row in a few words: `held 1–12 · recomputed 13–30`."""
    return " · ".join(f"{state_words(state)} {_span(first, last)}" for state, first, last in stretches(states))


def filled_by(look: KVLook, token: int) -> str:
    """The tokens whose passes caught a row up, counted from 1; "" where none did."""
    found = sorted({by for by in look.caught_up_by(token).tolist() if by >= 0})
    return ", ".join(f"{by + 1}" for by in found)


def cell_words(look: KVLook, token: int, layer: int) -> str:
    """A cell in a sentence, with who caught it up."""
    state = int(look.rows(token, token + 1)[0, layer])
    by = int(look.caught_up_by(token)[layer])
    return f"{state_words(state)} by the pass of token {by + 1}" if state == KVState.RECOMPUTED else state_words(state)


def _span(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first}–{last}"
