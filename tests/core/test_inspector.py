"""The predictor inspector: gradients, what each feature adds, and changes that really flip the decision."""

from __future__ import annotations

import numpy as np
import pytest

from core.analysis.flips import Flip, flips
from core.analysis.inspector import feature_names, features_at, gradient, inspect, neutral_features
from core.choices import Policy, Record
from core.exits.predictors import PredictorBank, features_of
from tests.core.handmade import emitted, started, trace_of
from tests.core.recordings import DEPTH, Recorder, audit_settings, random_bank
from tests.tree_passes import TreePlan, tree_trace

LAYER = 2


def some_features(seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    local = features_of(random.normal(size=4).astype(np.float32), None)[4:8]
    return features_of(random.normal(scale=2, size=4).astype(np.float32), local)


def bowl(slopes: list[float]) -> PredictorBank:
    """z = |slope₁·x₁| + |slope₂·x₂| + … - 1, a bowl around the origin; one layer."""
    w1 = np.zeros((1, 12, 24), np.float32)
    for at, slope in enumerate(slopes):
        w1[0, at, 2 * at : 2 * at + 2] = slope, -slope
    hidden, out = np.zeros((1, 24), np.float32), np.ones((1, 24), np.float32)
    return PredictorBank({"w1": w1, "b1": hidden, "w2": out, "b2": np.full(1, -1, np.float32)})


@pytest.mark.parametrize("seed", range(5))
def test_that_the_gradient_is_what_small_changes_do(seed: int) -> None:
    bank, features = random_bank(DEPTH - 1, seed), some_features(seed)
    found, step = gradient(bank, LAYER, features), 1e-3
    for at in range(12):
        nudge = np.zeros(12, np.float32)
        nudge[at] = step
        rise = bank.score(LAYER, features + nudge) - bank.score(LAYER, features - nudge)
        assert found[at] == pytest.approx(rise / (2 * step), abs=2e-3)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.9])
def test_that_every_reported_change_flips_the_decision(seed: int, threshold: float) -> None:
    bank, features = random_bank(DEPTH - 1, seed), some_features(seed)
    before = bank.score(LAYER, features) > threshold
    found = flips(bank, LAYER, features, threshold)
    reported = [one for one in (found.smallest, *found.single) if one is not None]
    assert reported
    for one in reported:
        assert one.score == bank.score(LAYER, features + one.change)
        assert (one.score > threshold) != before
    assert found.smallest.size <= min(one.size for one in found.single if one)


def crossings(bank: PredictorBank, features: np.ndarray, direction: np.ndarray, threshold: float) -> float:
    """The shortest of many steps along a direction that flips the decision; infinite where none does."""
    lengths = np.linspace(0, 4, 401)
    flipped = bank.score_rows(LAYER, (features + lengths[:, None] * direction).astype(np.float32)) > threshold
    at = np.flatnonzero(flipped != flipped[0])
    return float(lengths[at[0]]) if len(at) else np.inf


@pytest.mark.parametrize("seed", range(3))
def test_that_no_smaller_step_along_a_single_feature_flips(seed: int) -> None:
    bank, features = random_bank(DEPTH - 1, seed), some_features(seed)
    found = flips(bank, LAYER, features, 0.5)
    for at, flip in enumerate(found.single):
        axis = np.eye(12)[at]
        scanned = min(crossings(bank, features, sign * axis, 0.5) for sign in (1, -1))
        size = flip.size if flip else np.inf
        assert size <= scanned + 1e-6
        assert scanned - size <= 0.0101 or size > 4


@pytest.mark.parametrize("seed", range(3))
def test_that_no_random_direction_flips_with_a_smaller_step(seed: int) -> None:
    bank, features = random_bank(DEPTH - 1, seed), some_features(seed)
    smallest = flips(bank, LAYER, features, 0.5).smallest
    directions = np.random.default_rng(seed).normal(size=(500, 12))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    assert smallest.size <= min(crossings(bank, features, one, 0.5) for one in directions)


def test_that_within_one_linear_piece_the_smallest_change_is_the_way_straight_to_the_plane() -> None:
    bank = bowl([2.0, 1.0])
    start = np.array([0.1, 0.1] + [0.0] * 10, np.float32)
    found = flips(bank, 0, start, 0.5)
    distance = (1 - 2 * 0.1 - 0.1) / np.hypot(2, 1)
    assert found.smallest.size == pytest.approx(distance, rel=1e-3)
    np.testing.assert_allclose(found.smallest.change[:2], distance * np.array([2, 1]) / np.hypot(2, 1), rtol=1e-3)
    assert [flip.size if flip else None for flip in found.single[:3]] == [
        pytest.approx(0.35, rel=1e-3),
        pytest.approx(0.7, rel=1e-3),
        None,
    ]


def test_that_a_threshold_at_the_end_of_the_scale_has_no_other_side() -> None:
    for threshold in (0.0, 1.0):
        found = flips(random_bank(DEPTH - 1), LAYER, some_features(0), threshold)
        assert found.smallest is None
        assert not any(found.single)


def test_that_a_changed_feature_that_could_not_be_is_told() -> None:
    bank = bowl([0.1, 0, 0, 0, 0.1, 5.0, 0, 0, 0.2, 2.0])
    found = flips(bank, 0, np.zeros(12, np.float32), 0.5)
    assert [at for at, one in enumerate(found.possible) if one] == [0, 5, 9]
    assert isinstance(found.single[4], Flip), "a probability of 10 flips, and is none"


def test_that_a_judgement_of_the_run_is_taken_apart_as_it_was_made(recorder: Recorder) -> None:
    trace, bank = recorder.run(audit_settings()), recorder.parts.predictors
    asked = [(r, int(layer)) for r in trace.emitted for layer in np.flatnonzero(r.evaluated)]
    assert asked
    for record, layer in asked[:4]:
        found = inspect(trace, bank, record.token, layer)
        assert found.asked
        np.testing.assert_array_equal(found.features, record.features[layer])
        assert found.score == pytest.approx(float(record.scores[layer]), abs=1e-6)
        assert found.passes == record.proposed[layer]
        at = 5
        changed = found.features.copy()
        changed[at] = found.neutral.features[at]
        assert found.without[at] == np.float32(bank.score(layer, changed))
        assert found.effect[at] == np.float32(found.score) - found.without[at]


def test_that_an_inactive_layer_is_inspected_as_the_audit_scored_it(recorder: Recorder) -> None:
    trace, bank = recorder.run(audit_settings()), recorder.parts.predictors
    silent = [(r, layer) for r in trace.emitted[1:] for layer in range(DEPTH - 1) if not r.evaluated[layer]]
    assert silent
    for record, layer in silent[::12][:5]:
        found = inspect(trace, bank, record.token, layer)
        assert not found.asked
        assert found.score == pytest.approx(float(record.audit.scores[layer]), abs=1e-5)


def test_that_the_neutral_values_are_the_runs_own_mean(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    found = neutral_features(trace, LAYER)
    rows = [features_at(trace.records[token], LAYER) for token in range(1, trace.emitted_count)]
    np.testing.assert_allclose(found.features, np.mean(rows, axis=0), rtol=1e-5)
    assert f"over {len(rows)} tokens" in found.words
    alone = neutral_features(recorder.run(audit_settings(max_new_tokens=2)), LAYER)
    np.testing.assert_allclose(alone.features, [0] * 4 + [0.25] * 4 + [0] * 4)


def test_that_there_is_nothing_to_inspect_where_no_predictor_saw_anything(recorder: Recorder) -> None:
    trace, bank = recorder.run(audit_settings()), recorder.parts.predictors
    assert inspect(trace, bank, 1, DEPTH - 1) is None
    assert inspect(trace, bank, 0, LAYER) is None
    dense = recorder.run(audit_settings(policy=Policy.DENSE))
    assert inspect(dense, bank, 1, LAYER) is None
    live = recorder.run(audit_settings(record=Record.LIVE))
    layer = int(np.flatnonzero(~live.records[1].evaluated)[0])
    assert inspect(live, bank, 1, layer) is None
    assert inspect(trace_of(started(), emitted(0, "x")), bank, 0, 0) is None


def test_that_a_trees_token_is_inspected_at_its_own_node() -> None:
    trace = tree_trace(TreePlan())
    record = trace.records[3]
    layer = record.tree.judged_layers[0]
    node = record.tree.nodes_by_token[2]
    np.testing.assert_array_equal(features_at(record, layer), record.tree.layers[layer].features[node])


def test_that_names_follow_the_order_of_the_features() -> None:
    assert feature_names(2) == ("logit 1", "logit 2", "probability 1", "probability 2", "variation 1", "variation 2")
