"""Training the exit predictors: one MLP a layer, all at once as batched products (`specee.md` §1).

Each epoch draws new schedules, so that a layer meets differences over all the gaps that T1 and T2 produce. Two banks
are trained, one for each label; the one that exits earlier at equal agreement on tune prompts is kept.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from core.exits.predictors import PredictorBank
from core.progress import check
from core.trace.events import BoolArray, FloatArray
from core.training.adam import Adam
from core.training.features import LayerViews, draw_schedules
from core.training.workspace import Timer

HIDDEN = 512
RATE, BATCH, EPOCHS = 1e-3, 1024, 40
SCHEDULES = 400
"""Drawn anew each epoch, and dealt out to the tokens."""
SCORE_ROWS = 512


def fit_bank(
    views: LayerViews,
    labels: BoolArray,
    *,
    seed: int,
    timer: Timer,
    tell: Callable[[int, float], None],
    cancel: threading.Event | None,
) -> PredictorBank:
    """Train one bank.

    Args:
        views: the training tokens.
        labels: shape [n, L-1].
        seed: of weights, batches and schedules.
        timer: no epoch starts once it is over; at least one is done.
        tell: takes epochs done and the mean loss.
        cancel: looked at between batches.

    Raises:
        Cancelled: `cancel` was set.
    """
    random = np.random.default_rng(seed)
    bank = TorchBank(views.logits.shape[1], 3 * views.logits.shape[2], seed)
    bank.standardise(views.features(draw_schedules(len(views), labels.shape[1], random)))
    adam = Adam(bank.weights)
    targets = torch.from_numpy(labels.T.astype(np.float32))
    for epoch in range(EPOCHS):
        rate = RATE * 0.5 * (1 + math.cos(math.pi * epoch / EPOCHS))
        schedules = draw_schedules(SCHEDULES, labels.shape[1], random)
        inputs = torch.from_numpy(views.features(schedules[random.integers(0, SCHEDULES, len(views))])).transpose(0, 1)
        losses = []
        for at in torch.split(torch.from_numpy(random.permutation(len(views))), BATCH):
            check(cancel)
            loss = F.binary_cross_entropy_with_logits(bank(inputs[:, at]), targets[:, at])
            torch.autograd.backward(loss)
            adam.step(rate)
            losses.append(float(loss.detach()))
        tell(epoch + 1, float(np.mean(losses)))
        if timer.over:
            break
    return bank.folded()


class TorchBank:
    """Predictors under training, over standardised features; `folded` takes the scaling into the weights."""

    def __init__(self, layers: int, inputs: int, seed: int) -> None:
        random = torch.Generator().manual_seed(seed)

        def uniform(fan_in: int, *shape: int) -> Tensor:
            """torch.nn.Linear's own start."""
            bound = 1 / math.sqrt(fan_in)
            return torch.empty(shape).uniform_(-bound, bound, generator=random).requires_grad_()

        self.w1, self.b1 = uniform(inputs, layers, inputs, HIDDEN), uniform(inputs, layers, 1, HIDDEN)
        self.w2, self.b2 = uniform(HIDDEN, layers, HIDDEN, 1), uniform(HIDDEN, layers, 1, 1)
        self.weights = {"w1": self.w1, "b1": self.b1, "w2": self.w2, "b2": self.b2}
        self.mean, self.scale = torch.zeros(layers, 1, inputs), torch.ones(layers, 1, inputs)

    def standardise(self, features: FloatArray) -> None:
        """Take mean and spread of each layer's features from these, [n, layers, inputs]."""
        self.mean = torch.from_numpy(features.mean(0, keepdims=True)).transpose(0, 1)
        self.scale = torch.from_numpy(features.std(0, keepdims=True)).transpose(0, 1) + 1e-3

    def __call__(self, features: Tensor) -> Tensor:
        """Logits [layers, n] of features [layers, n, inputs]."""
        hidden = torch.baddbmm(self.b1, (features - self.mean) / self.scale, self.w1).relu()
        return torch.baddbmm(self.b2, hidden, self.w2).squeeze(-1)

    def folded(self) -> PredictorBank:
        """The same functions over plain features."""
        with torch.no_grad():
            w1 = self.w1 / self.scale.transpose(1, 2)
            b1 = self.b1 - self.mean @ w1
        arrays = {"w1": w1, "b1": b1[:, 0], "w2": self.w2[..., 0], "b2": self.b2[:, 0, 0]}
        return PredictorBank({name: array.detach().numpy() for name, array in arrays.items()})


def scores_of(bank: PredictorBank, features: FloatArray) -> FloatArray:
    """Every predictor's score, [n, L-1], for features [n, L-1, 3k]; what `PredictorBank.score` gives one by one."""
    w1, b1 = torch.from_numpy(bank.w1), torch.from_numpy(bank.b1)[:, None]
    w2, b2 = torch.from_numpy(bank.w2)[..., None], torch.from_numpy(bank.b2)[:, None, None]
    found = []
    for block in torch.split(torch.from_numpy(features), SCORE_ROWS):
        hidden = torch.baddbmm(b1, block.transpose(0, 1), w1).relu()
        found.append(torch.baddbmm(b2, hidden, w2).squeeze(-1).sigmoid().T)
    return torch.cat(found).numpy() if found else np.zeros((0, bank.layers), np.float32)
