"""Training the exit predictors: one MLP a layer, all at once as batched products (`docs/rules.md`).

Each epoch draws new schedules, so that a layer meets differences over all the gaps that T1 and T2 produce. Afterwards
each predictor's logit is divided by a temperature of its own that was found on tune prompts.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

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
TEMPERATURES = 1.5
"""Natural log of the highest temperature that calibration tries; the lowest is its inverse."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a predictor looks at and how large it is; the default is the paper's."""

    hidden: int = HIDDEN
    depth: int = 1
    """Hidden layers."""
    features: tuple[int, ...] = ()
    """Which of the 3k are looked at; empty is all of them."""


PAPER = Shape()


@dataclass(frozen=True, slots=True)
class Coaching:
    """How a bank is trained."""

    seed: int
    """Of weights, batches and schedules."""
    timer: Timer
    """No epoch starts once it is over; at least one is done."""
    tell: Callable[[int, float], None]
    """Takes epochs done and the mean loss."""
    cancel: threading.Event | None = None
    """Looked at between batches."""


def fit_bank(views: LayerViews, labels: BoolArray, coaching: Coaching, shape: Shape = PAPER) -> TorchBank:
    """Train one bank on training tokens for these labels, [n, L-1].

    Raises:
        Cancelled: `coaching.cancel` was set.
    """
    random = np.random.default_rng(coaching.seed)
    bank = TorchBank(views.logits.shape[1], 3 * views.logits.shape[2], shape, coaching.seed)
    bank.standardise(views.features(draw_schedules(len(views), labels.shape[1], random)))
    adam = Adam(bank.weights)
    targets = torch.from_numpy(labels.T.astype(np.float32))
    for epoch in range(EPOCHS):
        share = max(epoch / EPOCHS, coaching.timer.share)
        rate = RATE * 0.5 * (1 + math.cos(math.pi * min(share, 0.95)))
        schedules = draw_schedules(SCHEDULES, labels.shape[1], random)
        inputs = torch.from_numpy(views.features(schedules[random.integers(0, SCHEDULES, len(views))])).transpose(0, 1)
        losses = []
        for at in torch.split(torch.from_numpy(random.permutation(len(views))), BATCH):
            check(coaching.cancel)
            loss = F.binary_cross_entropy_with_logits(bank(inputs[:, at]), targets[:, at])
            torch.autograd.backward(loss)
            adam.step(rate)
            losses.append(float(loss.detach()))
        coaching.tell(epoch + 1, float(np.mean(losses)))
        if coaching.timer.over:
            break
    return bank


class TorchBank:
    """Predictors under training, over standardised features; `folded` takes scale and temperature into the weights."""

    def __init__(self, layers: int, inputs: int, shape: Shape, seed: int) -> None:
        random = torch.Generator().manual_seed(seed)

        def uniform(fan_in: int, *sizes: int) -> Tensor:
            """torch.nn.Linear's own start."""
            bound = 1 / math.sqrt(fan_in)
            return torch.empty(sizes).uniform_(-bound, bound, generator=random).requires_grad_()

        self._seen = list(shape.features or range(inputs))
        self.inputs, self.depth = inputs, shape.depth
        widths = [len(self._seen), *[shape.hidden] * shape.depth, 1]
        self.weights: dict[str, Tensor] = {}
        for number, (wide, out) in enumerate(pairwise(widths), 1):
            self.weights |= {
                f"w{number}": uniform(wide, layers, wide, out),
                f"b{number}": uniform(wide, layers, 1, out),
            }
        self.mean, self.scale = torch.zeros(layers, 1, len(self._seen)), torch.ones(layers, 1, len(self._seen))
        self.temperature = torch.ones(layers)
        """Shape [layers], what each predictor's logit is divided by."""

    def standardise(self, features: FloatArray) -> None:
        """Take mean and spread of each layer's features from these, [n, layers, inputs]."""
        seen = features[..., self._seen]
        self.mean = torch.from_numpy(seen.mean(0, keepdims=True)).transpose(0, 1)
        self.scale = torch.from_numpy(seen.std(0, keepdims=True)).transpose(0, 1) + 1e-3

    def __call__(self, features: Tensor) -> Tensor:
        """Logits [layers, n] of features [layers, n, inputs]."""
        x = (features[..., self._seen] if len(self._seen) < self.inputs else features) - self.mean
        x = x / self.scale
        for number in range(1, self.depth + 2):
            x = torch.baddbmm(self.weights[f"b{number}"], x, self.weights[f"w{number}"])
            x = x.relu() if number <= self.depth else x
        return x.squeeze(-1) / self.temperature[:, None]

    def calibrate(self, features: FloatArray, labels: BoolArray) -> None:
        """Find each predictor's temperature, by least cross-entropy on held-out tokens.

        Args:
            features: shape [n, layers, inputs].
            labels: shape [n, layers].
        """
        self.temperature = torch.ones_like(self.temperature)
        logits, targets = torch.from_numpy(self.logits(features)).T, torch.from_numpy(labels.T.astype(np.float32))
        steps = torch.linspace(-TEMPERATURES, TEMPERATURES, 61).exp()
        losses = [F.binary_cross_entropy_with_logits(logits / one, targets, reduction="none").mean(1) for one in steps]
        self.temperature = steps[torch.stack(losses).argmin(0)]

    @torch.no_grad()
    def logits(self, features: FloatArray) -> FloatArray:
        """Logits [n, layers] of features [n, layers, inputs]."""
        blocks = torch.split(torch.from_numpy(features), SCORE_ROWS)
        found: FloatArray = torch.cat([self(block.transpose(0, 1)).T for block in blocks]).numpy()
        return found

    def folded(self) -> PredictorBank:
        """The same functions over plain features; for one hidden layer that looks at everything."""
        assert self.depth == 1, "a bank has one hidden layer"
        assert len(self._seen) == self.inputs, "a bank looks at every feature"
        found = {name: weight.detach() for name, weight in self.weights.items()}
        w1 = found["w1"] / self.scale.transpose(1, 2)
        b1 = found["b1"] - self.mean @ w1
        last = self.temperature[:, None]
        arrays = {"w1": w1, "b1": b1[:, 0], "w2": found["w2"][..., 0] / last, "b2": (found["b2"][:, 0] / last)[:, 0]}
        return PredictorBank({name: array.numpy() for name, array in arrays.items()})


def scores_of(bank: PredictorBank, features: FloatArray, layers: slice = slice(None)) -> FloatArray:
    """Every predictor's score, [n, L-1], for features [n, L-1, 3k]; what `PredictorBank.score` gives one by one.

    `layers` picks some of them; the features are theirs then.
    """
    w1, b1 = torch.from_numpy(bank.w1[layers]), torch.from_numpy(bank.b1[layers])[:, None]
    w2, b2 = torch.from_numpy(bank.w2[layers])[..., None], torch.from_numpy(bank.b2[layers])[:, None, None]
    found = []
    for block in torch.split(torch.from_numpy(features), SCORE_ROWS):
        hidden = torch.baddbmm(b1, block.transpose(0, 1), w1).relu()
        found.append(torch.baddbmm(b2, hidden, w2).squeeze(-1).sigmoid().T)
    return torch.cat(found).numpy() if found else np.zeros((0, len(w1)), np.float32)
