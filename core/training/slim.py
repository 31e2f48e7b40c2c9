"""Training the low-rank LM head (SlimSpec, `docs/rules.md`): logits = W_up (W_down x) for the whole vocabulary.

**When it pays.** Let one pass emit τ tokens and take the time of its drafting heads, T, and of everything else, κT.
With the low-rank head the heads take νT and the pass emits τ' = ρ_τ τ, so the speed changes by

    (τ' / (ν + κ)T) / (τ / (1 + κ)T) = ρ_τ (1 + κ) / (ν + κ),

which is above 1 iff ρ_τ > (ν + κ) / (1 + κ). The cheaper the rest (small κ), the more acceptance may be given up.

**Start.** Softmax does not see what is added to all logits, and an error on a logit counts by its token's probability
m: to second order KL is ½ Σ m (error - mean error)². So the mean row is taken off W, by m: W', and among the products
U D of rank r, E Σ m ‖W'x - U D x‖² is least where U = W' C^½ V and D = Vᵀ C^-½, with C = E[x xᵀ] and V the r strongest
eigenvectors of C^½ W'ᵀ diag(m) W' C^½: a cut-off singular value decomposition (Eckart and Young, 1936).

Training turns states into uncorrelated numbers of unit variance, C^-½ x, first: Adam's steps are then as long in every
direction.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import torch
from torch import Tensor

from core.training.adam import Adam
from core.training.lessons import Lesson, batches
from core.training.workspace import Timer

RATE, BATCH = 1e-3, 256
"""Peak learning rate, and rows of a step."""
RARE = 20.0
"""All tokens together weigh one in so many in the start, however rare they are."""


@torch.no_grad()
def whitening(states: Tensor) -> tuple[Tensor, Tensor]:
    """C^½ and C^-½ of states [n, d] up to a rotation, [d, d] each: their product is the identity."""
    values, vectors = torch.linalg.eigh(states.T @ states / max(1, len(states)))
    roots = values.clamp_min(float(values.max()) * 1e-6).sqrt()
    return vectors * roots, (vectors / roots).T


class SlimTraining:
    """A low-rank head under training; softmax and gradients are written out, over the whole vocabulary."""

    @torch.no_grad()
    def __init__(self, weight: Tensor, states: Tensor, mass: Tensor, rank: int) -> None:
        """Start from the closest head of this rank.

        Args:
            weight: the whole LM head, [V, d].
            states: what the head will be asked about, [n, d].
            mass: how likely each token is, [V], up to a factor.
            rank: r.
        """
        share = (mass / mass.sum() + 1 / len(mass) / RARE).float()
        share = share / share.sum()
        centred = weight - share @ weight
        half, self._whiten = whitening(states)
        strongest = torch.linalg.eigh(half.T @ ((centred * share[:, None]).T @ centred) @ half)[1][:, -rank:]
        start = {"down": strongest.T.contiguous(), "up": centred @ (half @ strongest)}
        self.parameters = {name: one.requires_grad_() for name, one in start.items()}
        self._adam = Adam(self.parameters)

    def learn(self, lesson: Lesson, rate: float) -> float:
        """One step over n rows; their mean KL(p‖q)."""
        down, up = self.parameters["down"].detach(), self.parameters["up"].detach()
        white = lesson.states @ self._whiten.T
        inner = white @ down.T
        loss, gradient = _divergence(inner @ up.T, lesson.top_ids, lesson.top_probabilities)
        gradient /= len(lesson)
        self.parameters["up"].grad = gradient.T @ inner
        self.parameters["down"].grad = (gradient @ up).T @ white
        self._adam.step(rate)
        return loss / len(lesson)

    def weights(self) -> dict[str, Tensor]:
        """down [r, d] and up [V, r], over plain states."""
        found = {name: one.detach().clone() for name, one in self.parameters.items()}
        return found | {"down": found["down"] @ self._whiten}


def _divergence(logits: Tensor, ids: Tensor, probabilities: Tensor) -> tuple[float, Tensor]:
    """KL(p‖softmax) summed over rows, and its gradient by the logits [n, V], which are overwritten."""
    p = probabilities.float()
    p = p / p.sum(-1, keepdim=True).clamp_min(1e-6)
    picked = logits.gather(1, ids)
    highest = logits.amax(1, keepdim=True)
    q = logits.sub_(highest).exp_()
    mass = q.sum(1, keepdim=True)
    loss = torch.special.xlogy(p, p) - p * (picked - highest - mass.log())
    return float(loss.sum()), q.div_(mass).scatter_add_(1, ids, -p)


def fit(
    training: SlimTraining,
    lesson: Lesson,
    *,
    steps: int,
    seed: int,
    timer: Timer,
    tell: Callable[[int, float], None],
    cancel: threading.Event | None,
) -> int:
    """Train for so many steps, or until the timer is over; how many were done.

    Raises:
        Cancelled: `cancel` was set.
    """
    random = torch.Generator().manual_seed(seed)
    done = 0
    for batch in batches(lesson, BATCH, steps=steps, random=random, timer=timer, cancel=cancel):
        at, done = batch.rows, batch.step
        rows = Lesson(lesson.states[at].float(), lesson.top_ids[at], lesson.top_probabilities[at])
        tell(done, training.learn(rows, RATE * batch.rate))
    return done


def speed_ratio(rho: float, nu: float, kappa: float) -> float:
    """New speed over old: ρ_τ (1 + κ) / (ν + κ), see above."""
    return rho * (1 + kappa) / (nu + kappa)


def least_rho(nu: float, kappa: float) -> float:
    """What ρ_τ must exceed for the head to pay: (ν + κ) / (1 + κ), see above."""
    return (nu + kappa) / (1 + kappa)
