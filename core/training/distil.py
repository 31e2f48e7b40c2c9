"""The drafter's loss: KL from the target's distribution, over as much of the vocabulary as matters.

The softmax over the whole vocabulary costs several times the drafter itself. Its sum is therefore taken exactly over
the columns that carry nearly all the target's mass and, for the rest, over a fresh uniform sample in each step that is
weighted up to stand for all of them: an unbiased sum, so that no token is free to grow unseen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

ROWS = 512
"""Rows whose logits are held at once."""
LEAST = -60.0
"""Logits so far below the highest count as this: what they stand for is nothing, and its products would be subnormal
numbers, with which a CPU computes many times more slowly."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Rows of the LM head that a step sums over."""

    weight: Tensor
    """Shape [c, d]."""
    offset: Tensor
    """Shape [c], log of how many columns each one stands for."""


class Vocabulary:
    """Which tokens are always summed over."""

    def __init__(self, head: Tensor, mass: Tensor, *, most: int, sampled: int, coverage: float) -> None:
        """
        Args:
            head: the LM head, [V, d].
            mass: the target's mass on each token over all training slots, [V].
            most: no more than so many tokens are always in.
            sampled: tokens drawn from the others in each step.
            coverage: share of the mass at which to stop adding tokens.
        """
        order = mass.argsort(descending=True)
        total = mass.cumsum(0)[-1] if len(mass) else 0
        reach = int((mass[order].cumsum(0) < coverage * total).sum()) + 1
        self.always, self._others = order[: min(most, reach)], order[min(most, reach) :]
        self._head, self._fixed = head, head[self.always]
        self._sampled = min(sampled, len(self._others))
        self.place = torch.full((len(head),), -1, dtype=torch.int64)
        """Shape [V], the column of each token that is always in; -1 elsewhere."""
        self.place[self.always] = torch.arange(len(self.always))
        self.covered = float(mass[self.always].sum() / total)
        """Share of the target's mass on `always`."""

    def columns(self, random: torch.Generator) -> Columns:
        """A step's columns."""
        if not self._sampled:
            return Columns(self._fixed, torch.zeros(len(self._fixed)))
        drawn = self._others[torch.randperm(len(self._others), generator=random)[: self._sampled]]
        offset = torch.zeros(len(self._fixed) + self._sampled)
        offset[len(self._fixed) :] = math.log(len(self._others) / self._sampled)
        return Columns(torch.cat([self._fixed, self._head[drawn]]), offset)


def token_mass(top_ids: Tensor, probabilities: Tensor, vocabulary: int) -> Tensor:
    """Summed probabilities of each token, [V], from sparse distributions [..., t]."""
    return torch.bincount(top_ids.flatten(), probabilities.float().flatten(), vocabulary)


def distil(predicted: Tensor, places: Tensor, probabilities: Tensor, columns: Columns) -> tuple[Tensor, Tensor]:
    """KL(p‖q) of each row, and its gradient.

    Args:
        predicted: f̂, [n, d].
        places: columns of the target's likeliest tokens, [n, t]; -1 where a token has none.
        probabilities: the target's probabilities of them, [n, t]; made to sum to one over those that have a column.
        columns: what the drafter's distribution q is summed over.

    Returns:
        KL [n], and its gradient by `predicted`, [n, d]. Logits are dropped block by block.
    """
    p = torch.where(places >= 0, probabilities.float(), 0.0)
    p = p / p.sum(-1, keepdim=True).clamp_min(1e-6)
    places = places.clamp_min(0)
    losses, gradients = [], []
    for block, at, share in zip(*(torch.split(each, ROWS) for each in (predicted, places, p)), strict=True):
        logits = torch.addmm(columns.offset, block, columns.weight.T)
        picked = logits.gather(1, at)
        highest = logits.amax(1, keepdim=True)
        q = logits.sub_(highest).clamp_min_(LEAST).exp_()
        mass = q.sum(1, keepdim=True)
        log_q = picked - highest - mass.log()
        losses.append((torch.special.xlogy(share, share) - share * log_q).sum(1))
        q.mul_(share.sum(1, keepdim=True) / mass).scatter_add_(1, at, -share)
        gradients.append(q @ columns.weight)
    return torch.cat(losses), torch.cat(gradients)
