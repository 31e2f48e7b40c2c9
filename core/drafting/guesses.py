"""The drafter's most likely tokens for many positions at once."""

from __future__ import annotations

from torch import Tensor

from core.sampling import largest, normaliser


def likeliest(logits: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k most likely tokens of each row of logits [n, V], most likely first.

    Returns:
        Their ids [n, k] and their probabilities [n, k] in float32 over the whole vocabulary.
    """
    logits = logits.float()
    values, ids = largest(logits, k)
    return ids, probability(values, normaliser(logits, values[:, :1]))


def probability(logits: Tensor, normaliser: Tensor) -> Tensor:
    """Probabilities of these logits; rounding must not lift one above 1, as a node is worth no more than its parent."""
    return (logits - normaliser).exp_().clamp_(max=1.0)
