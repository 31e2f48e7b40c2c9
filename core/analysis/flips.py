"""The smallest change to what a predictor sees that flips its decision.

One layer's predictor is z = w₂·relu(x·W₁ + b₁) + b₂, and it proposes where sigmoid(z) is above the threshold, so where
z is above that threshold's logit. Along a straight line z is piecewise linear, and its first crossing is found exactly:
that settles changes of a single feature. Over all features together directions are searched, from several starts, each
step turning towards the steepest way at the crossing found so far. That gives a smallest change in its neighbourhood,
not proven to be the smallest of all. Whatever is reported has been scored again by the predictor itself and does flip.

Features are changed as if they were free. In a pass they hang together: local probabilities follow from the logits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.exits.predictors import PredictorBank
from core.trace.events import BoolArray, FloatArray

Numbers = NDArray[np.float64]

STEPS = 40
"""Turns of the search from each start."""
RANDOM_STARTS = 24
"""Directions drawn as starts, the same ones each time, beside those of each feature and of the gradient."""
LEAST_TURN = 1e-3
NUDGES = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""By how much further than the crossing a change goes, relative to it, until the decision is seen to flip."""


@dataclass(frozen=True, slots=True)
class Flip:
    """A change that flips the decision."""

    change: FloatArray
    """Shape [3k], added to the features."""
    score: float
    """What the predictor says of the changed features."""

    @property
    def size(self) -> float:
        """Euclidean length of the change."""
        return float(np.linalg.norm(self.change.astype(np.float64)))


@dataclass(frozen=True, slots=True)
class Flips:
    """How near a decision is to the other one."""

    smallest: Flip | None
    """Over all features together; None where the search found none."""
    single: tuple[Flip | None, ...]
    """One a feature, which changes alone; None where no value of it flips the decision."""
    possible: BoolArray
    """Shape [3k], whether the changed feature would still be a possible one: a probability in 0…1, a variation in
    -1…1."""


def flips(bank: PredictorBank, layer: int, features: FloatArray, threshold: float) -> Flips:
    """Search from one layer's features [3k]. A threshold of 0 or 1 has no other side."""
    size = len(features)
    if not 0 < threshold < 1:
        return Flips(None, (None,) * size, np.zeros(size, np.bool_))
    judged = _Predictor(bank, layer, features, threshold)
    axes = np.concatenate([np.eye(size), -np.eye(size)])
    both = [judged.flip(axis, judged.reach(axis)) for axis in axes]
    single = tuple(min(filter(None, pair), key=_size, default=None) for pair in zip(both, both[size:], strict=False))
    starts = [*axes, judged.uphill(judged.x), *np.random.default_rng(0).normal(size=(RANDOM_STARTS, size))]
    smallest = min([*filter(None, both), *_searched(judged, starts)], key=_size, default=None)
    changed = np.array([features[at] + (flip.change[at] if flip else np.inf) for at, flip in enumerate(single)])
    return Flips(smallest, single, _is_possible(changed))


def _size(flip: Flip) -> float:
    return flip.size


class _Predictor:
    """One layer's predictor around the features x [3k]; `z` is how far above the threshold's logit it is there."""

    def __init__(self, bank: PredictorBank, layer: int, features: FloatArray, threshold: float) -> None:
        self.bank, self.layer, self.features, self.threshold = bank, layer, features, threshold
        self.w1, self.b1, self.w2 = (array[layer].astype(np.float64) for array in (bank.w1, bank.b1, bank.w2))
        self.x = features.astype(np.float64)
        self.hidden = self.x @ self.w1 + self.b1
        self.z = float(np.maximum(self.hidden, 0) @ self.w2 + bank.b2[layer]) - math.log(threshold / (1 - threshold))

    def reach(self, direction: Numbers) -> float:
        """The first step along `direction` at which z crosses; infinite where it never does."""
        rates = direction @ self.w1
        with np.errstate(divide="ignore", invalid="ignore"):
            bends = -self.hidden / rates
        ahead = np.flatnonzero((bends > 0) & np.isfinite(bends))
        ahead = ahead[np.argsort(bends[ahead])]
        at = np.concatenate([[0.0], bends[ahead]])
        # At each bend a unit opens or closes; either way the slope gains w₂·|rate|.
        slope = float(rates[self._open(rates)] @ self.w2[self._open(rates)])
        slopes = slope + np.concatenate([[0.0], np.cumsum(self.w2[ahead] * np.abs(rates[ahead]))])
        z = self.z + np.concatenate([[0.0], np.cumsum(slopes[:-1] * np.diff(at))])
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = at - z / slopes
        ends = np.concatenate([at[1:], [np.inf]])
        crossed = np.flatnonzero((steps > at) & (steps <= ends))
        return float(steps[crossed[0]]) if len(crossed) else math.inf

    def _open(self, rates: Numbers) -> BoolArray:
        """Units that are open just after the start: one at its bend opens where it rises."""
        is_open: BoolArray = (self.hidden > 0) | ((self.hidden == 0) & (rates > 0))
        return is_open

    def uphill(self, x: Numbers) -> Numbers:
        """The direction in which z moves fastest towards the other side, of length 1; zero where it is flat."""
        gradient = self.w1 @ (self.w2 * (x @ self.w1 + self.b1 > 0)) * (1 if self.z <= 0 else -1)
        length = np.linalg.norm(gradient)
        steepest: Numbers = gradient / length if length else gradient
        return steepest

    def flip(self, direction: Numbers, step: float) -> Flip | None:
        """The step as a change, as soon as it flips what the predictor itself says."""
        if not math.isfinite(step):
            return None
        before = self.bank.score(self.layer, self.features) > self.threshold
        for nudge in NUDGES:
            change = (direction * step * (1 + nudge)).astype(np.float32)
            score = self.bank.score(self.layer, self.features + change)
            if (score > self.threshold) != before:
                return Flip(change, score)
        return None


def _searched(judged: _Predictor, starts: Iterable[Numbers]) -> Iterator[Flip]:
    for start in starts:
        length = float(np.linalg.norm(start))
        if length and (flip := judged.flip(*_descend(judged, start / length))):
            yield flip


def _descend(judged: _Predictor, direction: Numbers) -> tuple[Numbers, float]:
    """Turn `direction`, of length 1, for as long as that brings the crossing nearer; with its step."""
    step, turn = judged.reach(direction), 1.0
    for _ in range(STEPS):
        if not math.isfinite(step):
            break
        steepest = judged.uphill(judged.x + step * direction)
        while turn > LEAST_TURN:
            turned = (1 - turn) * direction + turn * steepest
            turned /= np.linalg.norm(turned) or 1.0
            if (nearer := judged.reach(turned)) < step * (1 - 1e-9):
                direction, step, turn = turned, nearer, min(1.0, 2 * turn)
                break
            turn /= 2
        else:
            break
    return direction, step


def _is_possible(features: Numbers) -> BoolArray:
    """Logits may be anything; local probabilities lie in 0…1 and variations in -1…1. Shape [3k]."""
    k = len(features) // 3
    lowest, highest = np.repeat([-np.inf, 0.0, -1.0], k), np.repeat([np.inf, 1.0, 1.0], k)
    possible: BoolArray = (features >= lowest) & (features <= highest) & np.isfinite(features)
    return possible
