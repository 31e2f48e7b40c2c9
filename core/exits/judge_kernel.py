"""`core.exits.judge.PlainJudge` as one compiled function. Compiled by numba, an optional dependency: import this module
through `CompiledJudge` only, which does so where the format `native` has loaded numba already."""

from __future__ import annotations

import numpy as np
from numba import carray, njit, types

from core.model.native_vectors import compiled, pointer


def _array(axes: int):  # type: ignore[no-untyped-def]
    return types.Array(types.float32, axes, "C")


@compiled
def _dot(a, b):  # type: ignore[no-untyped-def]
    total = np.float32(0.0)
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@compiled
def _write_features(rows, state, eps, previous, features):  # type: ignore[no-untyped-def]
    """Logits, local probabilities and variations, as `core.exits.predictors.features_of`."""
    k = len(rows)
    scale = np.float32(1.0) / np.sqrt(_dot(state, state) / np.float32(len(state)) + np.float32(eps))
    top = np.float32(-np.inf)
    for c in range(k):
        features[c] = _dot(rows[c], state) * scale
        top = max(top, features[c])
    total = np.float32(0.0)
    for c in range(k):
        features[k + c] = np.exp(features[c] - top)
        total += features[k + c]
    for c in range(k):
        features[k + c] /= total
        features[2 * k + c] = features[k + c] - previous[k + c]


@compiled
def _score(features, w1, b1, w2, b2, hidden):  # type: ignore[no-untyped-def]
    """The predictor's output, as `core.exits.predictors.PredictorBank.score`."""
    n = len(hidden)
    for j in range(n):
        hidden[j] = b1[j]
    for i in range(len(features)):
        x = features[i]
        for j in range(n):
            hidden[j] += x * w1[i, j]
    total = b2
    for j in range(n):
        total += max(hidden[j], np.float32(0.0)) * w2[j]
    return 1.0 / (1.0 + np.exp(-np.float64(total)))


# A signature of its own has it compiled when this is imported, once a machine, and not at the first look.
@njit(
    types.float64(
        *(types.int64, _array(2), types.int64, types.float64, _array(1), _array(3)),
        *(_array(2), _array(2), _array(1), _array(1), _array(1)),
    ),
    nogil=True,
    error_model="numpy",
    cache=True,
)
def judge(layer, rows, state, eps, previous, w1, b1, w2, b2, features, hidden):  # type: ignore[no-untyped-def]
    """Write the features of the state at this address, and return the score of the layer's predictor.

    `previous` are the features of the last look, zeros at the first; `hidden` is room to work in.
    """
    _write_features(rows, carray(pointer(state), (rows.shape[1],), np.float32), eps, previous, features)
    return _score(features, w1[layer], b1[layer], w2[layer], b2[layer], hidden)
