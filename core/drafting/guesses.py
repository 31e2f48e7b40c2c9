"""The drafter's most likely tokens for many positions at once."""

from __future__ import annotations

import torch
from torch import Tensor

BLOCK = 256
"""Tokens whose largest logit stands for all of them. torch's own `topk` over a vocabulary takes four times as long."""


def likeliest(logits: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k most likely tokens of each row of logits [n, V], most likely first.

    Returns:
        Their ids [n, k] and their probabilities [n, k] in float32 over the whole vocabulary.
    """
    logits = logits.float()
    values, ids = _top(logits, k)
    return ids, probability(values, normaliser(logits, values[:, :1]))


def normaliser(logits: Tensor, largest: Tensor) -> Tensor:
    """log Σ e^logit of each row [n, V], given its largest one [n, 1]. Shape [n, 1]."""
    return largest + (logits - largest).exp_().sum(-1, keepdim=True).log_()


def probability(logits: Tensor, normaliser: Tensor) -> Tensor:
    """Probabilities of these logits; rounding must not lift one above 1, as a node is worth no more than its parent."""
    return (logits - normaliser).exp_().clamp_(max=1.0)


def _top(logits: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """As `Tensor.topk`: the k largest lie in the k blocks whose maxima are the largest."""
    n, vocabulary = logits.shape
    blocks = vocabulary // BLOCK
    if vocabulary % BLOCK or blocks < k:
        best = logits.topk(k)
        return best.values, best.indices
    grouped = logits.view(n, blocks, BLOCK)
    chosen = grouped.amax(-1).topk(k).indices
    best = grouped.gather(1, chosen[..., None].expand(-1, -1, BLOCK)).flatten(1).topk(k)
    return best.values, torch.take_along_dim(chosen, best.indices // BLOCK, 1) * BLOCK + best.indices % BLOCK
