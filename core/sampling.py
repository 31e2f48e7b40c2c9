"""From logits to a token: greedy, or sampled by temperature and top-p."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.config import SamplingSettings

COLDEST = 1e-30
"""Temperatures below draw as this one does, the most likely token; dividing by less would overflow float32."""


class BadNumbers(ArithmeticError):
    """Logits came out as NaN or infinite."""


BLOCK = 256
"""Tokens whose largest logit stands for all of them. torch's own `topk` over a vocabulary takes three times as long for
many rows."""


def largest(logits: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """As `logits.topk(k)` for rows [n, V]: the k largest lie in the k blocks whose maxima are the largest.

    Returns:
        Values and ids, [n, k] each.
    """
    n, vocabulary = logits.shape
    blocks = vocabulary // BLOCK
    if vocabulary % BLOCK or blocks < k:
        best = logits.topk(k)
        return best.values, best.indices
    grouped = logits.view(n, blocks, BLOCK)
    chosen = grouped.amax(-1).topk(k).indices
    best = grouped.gather(1, chosen[..., None].expand(-1, -1, BLOCK)).flatten(1).topk(k)
    return best.values, torch.take_along_dim(chosen, best.indices // BLOCK, 1) * BLOCK + best.indices % BLOCK


def normaliser(logits: Tensor, largest: Tensor) -> Tensor:
    """log Σ e^logit of each row [n, V], given its largest one [n, 1]. Shape [n, 1]."""
    return largest + (logits - largest).exp_().sum(-1, keepdim=True).log_()


@dataclass(frozen=True, slots=True)
class Choice:
    """The token that a distribution over the vocabulary gives."""

    token_id: int
    top: float
    """p₁, the probability of the most likely token at temperature 1."""
    margin: float
    """p₁ - p₂ at temperature 1."""


class Chooser:
    """Picks tokens. One uniform number belongs to each (seed, position), whatever the layer, so that leaving early
    changes how deep the model was run and nothing else."""

    def __init__(self, settings: SamplingSettings) -> None:
        self._settings = settings

    def choose(self, logits: Tensor, position: int) -> Choice:
        """The token at context position `position` for logits [V].

        Raises:
            BadNumbers: the best logits are not finite.
        """
        choice = self.choose_rows(logits[None], position)[0]
        if not np.isfinite(choice.margin):
            raise BadNumbers
        return choice

    def choose_rows(self, logits: Tensor, position: int) -> list[Choice]:
        """The token at one position for each row of logits [n, V]; a row that is not finite has a margin of NaN."""
        logits = logits.float()
        values, indices = largest(logits, 2)
        likeliest = (values - normaliser(logits, values[:, :1])).exp().tolist()
        ids = indices[:, 0].tolist()
        if self._settings.temperature > 0:
            finite = [bool(np.isfinite(p1 - p2)) for p1, p2 in likeliest]
            ids = [self._draw(row, position) if ok else id_ for row, ok, id_ in zip(logits, finite, ids, strict=True)]
        return [Choice(id_, p1, p1 - p2) for id_, (p1, p2) in zip(ids, likeliest, strict=True)]

    def _draw(self, logits: Tensor, position: int) -> int:
        """Inverse transform over the tokens by falling probability, cut at the first that brings them to top-p."""
        probabilities = (logits / max(self._settings.temperature, COLDEST)).softmax(-1)
        ordered, ids = probabilities.sort(descending=True, stable=True)
        sums = ordered.double().cumsum(-1)
        kept = int(torch.searchsorted(sums, self._settings.top_p)) + 1
        sums = sums[: min(kept, len(sums))]
        uniform = np.random.default_rng([self._settings.seed, position]).random()
        return int(ids[int(torch.searchsorted(sums, uniform * float(sums[-1]), right=True))])
