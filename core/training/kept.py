"""Tokens of which all layers were kept, as training goes through them: a layer at a time, so that memory never holds
the states of all layers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from core.training.data import Answers, Key


class KeptTokens:
    """The n kept tokens of some answers, in one row after another."""

    def __init__(self, answers: Answers, keys: Sequence[Key]) -> None:
        """`keys` are answers that have `layers`."""
        self._answers, self._keys = answers, keys
        rows = [(key, answers.read(key, "kept").long()) for key in keys]
        self.counts = [len(at) for _, at in rows]
        """Tokens of each answer."""
        self.prompts = torch.cat([torch.full((len(at),), key.prompt) for key, at in rows] or [_none()])
        """Shape [n]."""
        self.final = self._gathered("ids", rows).long()
        """Shape [n], the tokens that full depth gave."""
        self.top_ids = self._gathered("top_ids", rows).long()
        """Shape [n, TOP], the final distribution's likeliest tokens."""
        self.top_probabilities = self._gathered("top_probabilities", rows)
        """Shape [n, TOP]."""

    def __len__(self) -> int:
        return len(self.prompts)

    def layer(self, layer: int) -> Tensor:
        """h_l of every token, not normed, as it was stored. Shape [n, d]."""
        return torch.cat([self._answers.layer(key, layer) for key in self._keys])

    def _gathered(self, field: str, rows: Sequence[tuple[Key, Tensor]]) -> Tensor:
        return torch.cat([self._answers.read(key, field)[at] for key, at in rows] or [_none()])


def _none() -> Tensor:
    return torch.zeros(0, dtype=torch.int64)


def spaced(keys: Sequence[Key], answers: Answers, tokens: int) -> list[Key]:
    """Every so many of the answers, so that about `tokens` of their kept tokens are in."""
    total = sum(answers.length(key, "kept") for key in keys)
    return list(keys)[:: max(1, round(total / tokens))]
