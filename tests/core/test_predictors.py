"""The predictors see the paper's twelve features in the paper's order, and compute its MLP."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import UserError
from core.exits.predictors import PredictorBank, features_of

RNG = np.random.default_rng(5)


def arrays(layers: int = 3, hidden: int = 16) -> dict[str, np.ndarray]:
    shapes = {"w1": (layers, 12, hidden), "b1": (layers, hidden), "w2": (layers, hidden), "b2": (layers,)}
    return {name: RNG.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def test_that_features_are_logits_then_local_probabilities_then_variations() -> None:
    logits = np.log(np.array([4.0, 3.0, 2.0, 1.0], np.float32))
    features = features_of(logits, np.array([0.1, 0.1, 0.1, 0.7], np.float32))
    assert features.dtype == np.float32
    np.testing.assert_allclose(features[:4], logits, rtol=1e-6)
    np.testing.assert_allclose(features[4:8], [0.4, 0.3, 0.2, 0.1], rtol=1e-6)
    np.testing.assert_allclose(features[8:], [0.3, 0.2, 0.1, -0.6], rtol=1e-5)


def test_that_the_first_evaluated_layers_variation_is_the_probability_itself() -> None:
    features = features_of(np.zeros(4, np.float32), None)
    np.testing.assert_allclose(features[8:], [0.25] * 4)


def test_that_huge_logits_do_not_overflow() -> None:
    features = features_of(np.array([1e4, 0, 0, -1e4], np.float32), None)
    np.testing.assert_allclose(features[4:8], [1, 0, 0, 0])


def test_that_features_of_many_layers_at_once_equal_those_of_each() -> None:
    logits, previous = RNG.normal(size=(2, 5, 4)).astype(np.float32)
    together = features_of(logits, previous)
    np.testing.assert_array_equal(together[3], features_of(logits[3], previous[3]))


def test_that_a_score_is_the_sigmoid_of_the_two_layer_mlp() -> None:
    given = arrays()
    x = RNG.normal(size=12).astype(np.float32)
    hidden = np.maximum(x.astype(np.float64) @ given["w1"][1] + given["b1"][1], 0)
    expected = 1 / (1 + np.exp(-(hidden @ given["w2"][1] + given["b2"][1])))
    assert PredictorBank(given).score(1, x) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("scale", [1e4, -1e4])
def test_that_extreme_activations_saturate_instead_of_failing(scale: float) -> None:
    given = arrays() | {"b2": np.full(3, scale, np.float32)}
    assert PredictorBank(given).score(0, np.zeros(12, np.float32)) == (scale > 0)


def test_that_arrays_come_back_as_given() -> None:
    given = arrays()
    for name, array in PredictorBank(given).arrays().items():
        np.testing.assert_array_equal(array, given[name])


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("w1", None),
        ("b1", np.full((3, 16), np.nan, np.float32)),
        ("w2", np.zeros(16, np.float32)),
    ],
)
def test_that_a_missing_or_damaged_array_is_named(name: str, damage: np.ndarray | None) -> None:
    given = arrays()
    if damage is None:
        del given[name]
    else:
        given[name] = damage
    with pytest.raises(UserError, match=f"array {name} is missing or damaged"):
        PredictorBank(given)


def test_that_arrays_of_different_widths_are_refused() -> None:
    with pytest.raises(UserError, match="do not fit each other"):
        PredictorBank(arrays() | {"b1": np.zeros((3, 8), np.float32)})
