"""Judging one layer of one token: its features and its predictor's score, in as few operations as possible.

Inside a run every small operation is cold, because a layer's weights have just gone through the caches: what takes
25 µs in a loop takes 85 there. So norm(h)·W[S] is computed as h·(weight ∘ W[S]) / rms(h), in NumPy rather than torch,
and where numba is loaded anyway, for the format `native`, in one compiled function from the state to the score.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Protocol

import numpy as np
from torch import Tensor

from core.exits.predictors import PredictorBank, features_of
from core.model.decoder import Decoder
from core.trace.events import FloatArray


class Judge(Protocol):
    """Looks at the layers of one token after another."""

    def begin(self, rows: FloatArray) -> None:
        """A new token, whose candidates have these rows of the LM head, times the final norm's weight: [k, d]."""

    def look(self, layer: int, state: Tensor) -> tuple[FloatArray, float]:
        """Features [3k] and score of a state [d], as the norm is to see it; variations go to the last look."""


def make_judge(bank: PredictorBank, decoder: Decoder) -> Judge:
    """The fastest there is for this model."""
    kind = CompiledJudge if decoder.fused is not None else PlainJudge
    return kind(bank, decoder.config.norm_eps)


class PlainJudge:
    """In NumPy: what the compiled one must equal."""

    def __init__(self, bank: PredictorBank, eps: float) -> None:
        """`eps` belongs to the final norm."""
        self._bank, self._eps = bank, eps

    def begin(self, rows: FloatArray) -> None:
        """As `Judge` says."""
        self._rows = rows
        self._previous: FloatArray | None = None

    def look(self, layer: int, state: Tensor) -> tuple[FloatArray, float]:
        """As `Judge` says."""
        h = state.float().cpu().numpy()
        logits = self._rows @ h * np.float32((h @ h / len(h) + self._eps) ** -0.5)
        features = features_of(logits, self._previous)
        self._previous = features[len(logits) : 2 * len(logits)]
        return features, self._bank.score(layer, features)


def compiled_judge() -> Callable[..., float]:
    """The compiled function, compiled when it is first asked for on a machine. Needs numba."""
    function: Callable[..., float] = importlib.import_module("core.exits.judge_kernel").judge
    return function


class CompiledJudge:
    """One compiled function a look; states are float32 on the CPU. Needs numba."""

    def __init__(self, bank: PredictorBank, eps: float) -> None:
        """`eps` belongs to the final norm."""
        self._function = compiled_judge()
        self._bank = bank.w1, bank.b1, bank.w2, bank.b2
        self._eps, self._hidden = eps, np.empty(bank.hidden, np.float32)

    def begin(self, rows: FloatArray) -> None:
        """As `Judge` says."""
        self._rows = rows
        self._previous = np.zeros(3 * len(rows), np.float32)

    def look(self, layer: int, state: Tensor) -> tuple[FloatArray, float]:
        """As `Judge` says."""
        state, features = state.contiguous(), np.empty_like(self._previous)
        score = self._function(
            layer, self._rows, state.data_ptr(), self._eps, self._previous, *self._bank, features, self._hidden
        )
        self._previous = features
        return features, score
