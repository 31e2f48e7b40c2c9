"""Learning from a fixed set of tokens, batch by batch, as exit lens and low-rank head do."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.progress import check
from core.training.workspace import Timer

LAST_RATE = 0.05
"""What is left of the peak learning rate at the end."""
LEAST_STEPS = 2
"""However little time there is."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """n tokens as what is trained sees them, and the distribution that it should give after each."""

    states: Tensor
    """Shape [n, d], any float format."""
    top_ids: Tensor
    """Shape [n, t], the distribution's likeliest tokens."""
    top_probabilities: Tensor
    """Shape [n, t]; made to sum to one."""

    def __len__(self) -> int:
        return len(self.states)


def joined(lessons: Sequence[Lesson]) -> Lesson:
    """All of them as one."""
    names = ("states", "top_ids", "top_probabilities")
    return Lesson(*(torch.cat([getattr(one, name) for one in lessons]) for name in names))


@dataclass(frozen=True, slots=True)
class Batch:
    """What one step learns from."""

    step: int
    """Counted from 1."""
    rows: Tensor
    """Shape [b], int64: the lesson's tokens."""
    rate: float
    """Fraction of the peak learning rate, 1 falling to `LAST_RATE` along a cosine."""


def batches(
    lesson: Lesson,
    size: int,
    *,
    steps: int,
    random: torch.Generator,
    timer: Timer,
    cancel: threading.Event | None,
) -> Iterator[Batch]:
    """Batches of `size` tokens, all of them in a random order, then in another one, until steps or time are over.

    Raises:
        Cancelled: `cancel` was set.
    """
    order = torch.zeros(0, dtype=torch.int64)
    for step in range(steps):
        if timer.over and step >= LEAST_STEPS:
            return
        check(cancel)
        if len(order) < min(size, len(lesson)):
            order = torch.randperm(len(lesson), generator=random)
        rows, order = order[:size], order[size:]
        yield Batch(step + 1, rows, _rate_at(max(timer.share, step / steps)))


def _rate_at(share: float) -> float:
    return LAST_RATE + (1 - LAST_RATE) * 0.5 * (1 + math.cos(math.pi * share))
