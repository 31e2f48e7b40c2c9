"""What is noted of every token of a batch of texts while the target reads and writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

TOP = 32
"""Tokens kept of each of the target's distributions, and sampled from."""


class Notes:
    """Arrays with a place for each position of each row. What a position's arrays hold:

    - `features` [d], float16: norm(h) at full depth.
    - `early` [d], float16: norm(h) at a random late layer, as the drafter sees it after an early exit; of a prompt's
      tokens, which never exit early, the same as `features`.
    - `taps` [t, d], float16: norm(h) at `core.drafting.taps.tap_layers`.
    - `top_ids` [TOP], int32: the tokens that the target found likeliest to come next, the likeliest first.
    - `top_probabilities` [TOP], float16: how likely they are in the whole vocabulary.
    """

    def __init__(self, rows: int, capacity: int, hidden: int, taps: int) -> None:
        self._taps, self._hidden, self._rows, self._capacity = taps, hidden, rows, capacity
        self._arrays: dict[str, Tensor] = {}

    def of(
        self, features: Tensor, early: Tensor, taps: Sequence[Tensor], top_ids: Tensor, top_probabilities: Tensor
    ) -> dict[str, Tensor]:
        """Notes of n positions from their normed states, [n, d] each, and their likeliest tokens, [n, TOP] each."""
        stacked = torch.stack(list(taps), 1) if taps else features.new_zeros(len(features), 0, self._hidden)
        states = {"features": features, "early": early, "taps": stacked}
        narrow = {name: values.half().cpu() for name, values in states.items()}
        return narrow | {"top_ids": top_ids, "top_probabilities": top_probabilities}

    def fill(self, row: int, notes: Mapping[str, Tensor]) -> None:
        """Note a text's first positions."""
        for name, values in notes.items():
            self._array(name, values)[row, : len(values)] = values

    def put(self, rows: Tensor, positions: Tensor, notes: Mapping[str, Tensor]) -> None:
        """Note one position [n] of each of these rows [n]."""
        for name, values in notes.items():
            self._array(name, values)[rows, positions] = values

    def part(self, row: int, first: int, end: int) -> dict[str, Tensor]:
        """A copy of what is noted of a row's positions first…end - 1."""
        return {name: array[row, first:end].clone() for name, array in self._arrays.items()}

    def _array(self, name: str, like: Tensor) -> Tensor:
        if name not in self._arrays:
            shape = (self._rows, self._capacity, *like.shape[1:])
            self._arrays[name] = torch.zeros(shape, dtype=like.dtype)
        return self._arrays[name]
