"""Training one layer of the exit lens: h + A h + b, so that the head says already what it will say at full depth.

The loss is KL from the final distribution (the tuned lens of Belrose et al., 2023; `docs/rules.md`). A and b are
learned in units of each dimension's own spread: a few dimensions of a hidden state are hundreds of times larger than
the rest, and a step that suits those would not move the others. A starts at zero, so an untrained lens changes nothing.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from core.training.adam import Adam
from core.training.distil import Vocabulary, distil
from core.training.lessons import Lesson, batches
from core.training.workspace import Timer

FULL_RATE, THIN_RATE, BATCH = 1e-3, 4e-3, 512
"""Peak learning rates of one matrix and of two thin ones, and tokens of a step."""
MOST_STEPS = 400
"""For one layer: enough that more changes nothing on unseen prompts."""


@dataclass(frozen=True, slots=True)
class Head:
    """What turns a hidden state into logits, and which of them the loss sums over."""

    norm: Tensor
    """Shape [d], the final norm's weight."""
    eps: float
    vocabulary: Vocabulary

    def normed(self, states: Tensor) -> Tensor:
        """The final norm, [n, d] to [n, d]."""
        return F.rms_norm(states, (states.shape[-1],), self.norm, self.eps)


class LayerLens:
    """The correction of one layer under training: a full matrix, or one of low rank."""

    def __init__(self, states: Tensor, parameters: Mapping[str, Tensor]) -> None:
        """Take mean and spread from states [n, d]; `parameters` as `zeros` gives them."""
        self.mean, self.scale = spread(states)
        self.parameters = {name: one.clone().requires_grad_() for name, one in parameters.items()}

    def __call__(self, states: Tensor) -> Tensor:
        """Corrected states, [n, d] to [n, d]."""
        change = (states - self.mean) / self.scale
        if "matrix" in self.parameters:
            change = change @ self.parameters["matrix"].T
        else:
            change = change @ self.parameters["down"].T @ self.parameters["up"].T
        return states + self.scale * (change + self.parameters["bias"])

    @torch.no_grad()
    def folded(self) -> dict[str, Tensor]:
        """The same correction over plain states: full [d, d], or up [d, r] and down [r, d]; and bias [d]."""
        found = self.parameters
        bias = self.scale * found["bias"]
        if "matrix" in found:
            a = self.scale[:, None] * found["matrix"] / self.scale
            return {"full": a, "bias": bias - a @ self.mean}
        up, down = self.scale[:, None] * found["up"], found["down"] / self.scale
        return {"up": up, "down": down, "bias": bias - up @ (down @ self.mean)}


def spread(states: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each dimension, [d] each; no deviation is next to zero."""
    wide = states.float()
    scale = wide.std(0, correction=0)
    return wide.mean(0), scale + 1e-3 * scale.mean() + 1e-6


def zeros(hidden: int, rank: int | None, seed: int) -> dict[str, Tensor]:
    """The parameters of a lens that changes nothing, of full rank where `rank` is None."""
    bias = torch.zeros(hidden)
    if rank is None:
        return {"matrix": torch.zeros(hidden, hidden), "bias": bias}
    random = torch.Generator().manual_seed(seed)
    down = torch.randn(rank, hidden, generator=random) / math.sqrt(hidden)
    return {"up": torch.zeros(hidden, rank), "down": down, "bias": bias}


def carried(folded: Mapping[str, Tensor], states: Tensor) -> dict[str, Tensor]:
    """Parameters that start a layer's lens, over its states [n, d], as another layer's lens ended (`folded`)."""
    mean, scale = spread(states)
    if "full" in folded:
        return {
            "matrix": folded["full"] * scale / scale[:, None],
            "bias": (folded["bias"] + folded["full"] @ mean) / scale,
        }
    up, down = folded["up"] / scale[:, None], folded["down"] * scale
    return {"up": up, "down": down, "bias": (folded["bias"] + folded["up"] @ (folded["down"] @ mean)) / scale}


def fit(
    lens: LayerLens,
    lesson: Lesson,
    head: Head,
    *,
    seed: int,
    timer: Timer,
    tell: Callable[[int, float], None],
    cancel: threading.Event | None,
    steps: int = MOST_STEPS,
) -> None:
    """Train for so many steps, or until the timer is over.

    Args:
        lens: is changed in place.
        lesson: h_l of the training tokens, not normed, and the distribution at full depth.
        head: gives the loss.
        seed: of batches and of the sampled columns.
        timer: no step but the first few starts once it is over; its share lowers the learning rate.
        tell: takes steps done and the mean loss of a token.
        cancel: looked at between steps.
        steps: at most so many.

    Raises:
        Cancelled: `cancel` was set.
    """
    random = torch.Generator().manual_seed(seed)
    adam = Adam(lens.parameters)
    peak = FULL_RATE if "matrix" in lens.parameters else THIN_RATE
    for batch in batches(lesson, BATCH, steps=steps, random=random, timer=timer, cancel=cancel):
        loss = _step(lens, lesson, head, batch.rows, random)
        adam.step(peak * batch.rate)
        tell(batch.step, loss)


def _step(lens: LayerLens, lesson: Lesson, head: Head, at: Tensor, random: torch.Generator) -> float:
    """Gradients of one batch; its mean loss."""
    normed = head.normed(lens(lesson.states[at].float()))
    places = head.vocabulary.place[lesson.top_ids[at].long()]
    losses, gradient = distil(normed.detach(), places, lesson.top_probabilities[at], head.vocabulary.columns(random))
    torch.autograd.backward(normed, gradient / len(at))
    return float(losses.mean())
