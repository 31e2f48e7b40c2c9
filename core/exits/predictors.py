"""T1, the exit predictors and what they see (SpecEE §4.3, `docs/rules.md`). NumPy only, so a trace can be re-scored
where there is no torch."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from core.errors import UserError
from core.trace.events import FloatArray

SHAPES = {"w1": 3, "b1": 2, "w2": 2, "b2": 1}
"""Number of axes of each array of a `PredictorBank`."""


def features_of(logits: FloatArray, previous: FloatArray | None) -> FloatArray:
    """The 3k features of one layer: k logits, k local probabilities, k variations, in this order.

    Args:
        logits: shape [..., k], norm(h_l)·W[S].
        previous: local probabilities at the layer evaluated before, shape [..., k]; None at the first, where the
            variation is the probability itself.
    """
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    local = powers / powers.sum(-1, keepdims=True)
    return np.concatenate([logits, local, local if previous is None else local - previous], -1).astype(np.float32)


class PredictorBank:
    """One small MLP a layer, for layers 0…L-2: sigmoid(w2·relu(x·w1 + b1) + b2)."""

    def __init__(self, arrays: Mapping[str, FloatArray]) -> None:
        """Take over the arrays that `arrays` gives.

        Raises:
            UserError: an array is missing, misshapen or not finite.
        """
        for name, axes in SHAPES.items():
            array = arrays.get(name)
            if array is None or array.ndim != axes or not np.isfinite(array).all():
                raise UserError(f"The predictors' array {name} is missing or damaged; train them again.")
        self.w1, self.b1, self.w2, self.b2 = (np.ascontiguousarray(arrays[n], np.float32) for n in SHAPES)
        layers, inputs, hidden = self.w1.shape
        if self.b1.shape != (layers, hidden) or self.w2.shape != (layers, hidden) or self.b2.shape != (layers,):
            raise UserError("The predictors' arrays do not fit each other; train them again.")
        self.layers, self.inputs, self.hidden = layers, inputs, hidden
        """Number of predictors, 3k, and hidden width."""

    def arrays(self) -> dict[str, FloatArray]:
        """w1 [layers, 3k, hidden], b1 [layers, hidden], w2 [layers, hidden], b2 [layers]."""
        return {"w1": self.w1, "b1": self.b1, "w2": self.w2, "b2": self.b2}

    def score(self, layer: int, features: FloatArray) -> float:
        """The predictor's output in 0…1 for one layer's features, shape [3k]."""
        hidden = features @ self.w1[layer]
        hidden += self.b1[layer]
        np.maximum(hidden, 0.0, out=hidden)
        return _sigmoid(float(hidden @ self.w2[layer]) + float(self.b2[layer]))

    def score_rows(self, layer: int, features: FloatArray) -> FloatArray:
        """The same for many rows of features, shape [n, 3k], in one call. Shape [n]."""
        hidden = features @ self.w1[layer]
        hidden += self.b1[layer]
        np.maximum(hidden, 0.0, out=hidden)
        scores = hidden @ self.w2[layer] + self.b2[layer]
        # By way of tanh, the sigmoid overflows nowhere.
        squashed: FloatArray = np.float32(0.5) * np.tanh(np.float32(0.5) * scores) + np.float32(0.5)
        return squashed


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))
