"""AdaInfer's classifiers: one support vector machine a layer, or one conditional random field over the layers.

Both look at two numbers of a layer's distribution over the whole vocabulary: gap = p₁ - p₂ and top = p₁ (Fan et al.,
2024, `docs/rules.md`). What training found is kept as plain arrays, so that nothing but NumPy is needed to decide. The
machines are linear: the label becomes likelier with both numbers, so a curved border has little to gain, while a kernel
would keep the noisy labels, up to half of the training tokens, as support vectors to be summed over at every layer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from core.errors import UserError
from core.trace.events import FloatArray

Doubles = NDArray[np.float64]

SHAPES: dict[str, tuple[int | str, ...]] = {
    "mean": ("layers", 2),
    "scale": ("layers", 2),
    "svm_weights": ("layers", 2),
    "svm_bias": ("layers",),
    "crf_states": ("layers", 2, 3),
    "crf_transitions": (2, 2),
}
"""Each array of `AdaInferParts`; `layers` is L-1, the layers that can be left early."""


class LayerClassifier(Protocol):
    """Says of each layer in turn whether its argmax is final."""

    def begin(self) -> None:
        """A new token."""

    def judge(self, layer: int, features: FloatArray) -> tuple[float, bool]:
        """A score in 0…1 and the class, from (gap, top) of the layer; layers come in order from 0."""


class AdaInferParts:
    """What was trained for one model."""

    def __init__(self, arrays: Mapping[str, NDArray[np.floating[Any]]]) -> None:
        """Take over these arrays, in float64.

        Args:
            arrays: mean and scale [L-1, 2] that standardise the features; svm_weights [L-1, 2] and svm_bias [L-1];
                crf_states [L-1, 2, 3], the weights of (gap, top, 1) for each label; crf_transitions [2, 2] from a
                layer's label to the next one's.

        Raises:
            UserError: one is missing, misshapen or not finite.
        """
        found = {name: np.ascontiguousarray(arrays[name], np.float64) for name in SHAPES if name in arrays}
        self.layers = len(found["mean"]) if "mean" in found and found["mean"].ndim else 0
        """L-1."""
        for name, shape in SHAPES.items():
            wanted = tuple(self.layers if size == "layers" else size for size in shape)
            if name not in found or not _fits(name, found[name], wanted):
                raise UserError(
                    f"AdaInfer's array {name} is missing or damaged; train it again with "
                    "`specee-viewer train --stage adainfer`."
                )
        self._arrays = found

    def arrays(self) -> dict[str, Doubles]:
        """As the constructor takes them."""
        return dict(self._arrays)

    def svm(self) -> SupportVectors:
        """The support vector machines, ready for a run."""
        a = self._arrays
        return SupportVectors(a["mean"], a["scale"], a["svm_weights"], a["svm_bias"])

    def crf(self) -> RandomField:
        """The conditional random field, ready for a run."""
        a = self._arrays
        return RandomField(a["mean"], a["scale"], a["crf_states"], a["crf_transitions"])


def _fits(name: str, array: Doubles, shape: tuple[int | str, ...]) -> bool:
    whole = array.shape == shape and bool(np.isfinite(array).all())
    return whole and (name != "scale" or bool((array > 0).all()))


class SupportVectors:
    """A linear machine a layer: the class is the side of the plane, the score the distance squashed to 0…1."""

    def __init__(self, mean: Doubles, scale: Doubles, weights: Doubles, bias: Doubles) -> None:
        """Shapes as in `AdaInferParts`."""
        # Standardising and the plane are both linear, so they become one plane on the raw features.
        self._weights = weights / scale
        self._bias = bias - (self._weights * mean).sum(-1)

    def begin(self) -> None:
        """Each layer is judged on its own."""

    def decision(self, layer: int, features: FloatArray) -> float:
        """The signed distance, in units of the margin."""
        return float(features @ self._weights[layer] + self._bias[layer])

    def judge(self, layer: int, features: FloatArray) -> tuple[float, bool]:
        decision = self.decision(layer, features)
        return 0.5 * (1.0 + math.tanh(decision / 2)), decision > 0


class RandomField:
    """A linear chain of labels, filtered: p(y_l = 1 | x_0 … x_l) by the forward algorithm."""

    def __init__(self, mean: Doubles, scale: Doubles, states: Doubles, transitions: Doubles) -> None:
        """Shapes as in `AdaInferParts`."""
        self._weights = states[:, :, :2] / scale[:, None]
        self._bias = states[:, :, 2] - (self._weights * mean[:, None]).sum(-1)
        self._transitions = transitions
        self._forward: Doubles | None = None

    def begin(self) -> None:
        self._forward = None

    def judge(self, layer: int, features: FloatArray) -> tuple[float, bool]:
        forward = self._weights[layer] @ features + self._bias[layer]
        if self._forward is not None:
            forward += np.logaddexp(*(self._forward[:, None] + self._transitions))
        # In logarithms and normalised at each layer, so that a deep chain neither over- nor underflows.
        self._forward = forward - np.logaddexp(*forward)
        score = float(np.exp(self._forward[1]))
        return score, score > 0.5
