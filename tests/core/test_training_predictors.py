"""What predictors learn from, how they are trained, and what their thresholds would do."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.analysis.classification import calibration_error, predictor_quality, roc_auc
from core.exits.predictors import PredictorBank, features_of
from core.training.features import HeldOutViews, LayerViews, draw_schedules, previous_active
from core.training.frontier import point, recommended
from core.training.predictors import Coaching, Shape, TorchBank, fit_bank, scores_of
from core.training.profile import rank_layers
from core.training.quality import DrafterQuality
from core.training.replay import Point
from core.training.workspace import Timer

LAYERS = 4


def views(n: int = 40, seed: int = 0) -> LayerViews:
    random = np.random.default_rng(seed)
    logits = random.normal(size=(n, LAYERS, 4)).astype(np.float32)
    return LayerViews(np.arange(n), logits, random.random((n, LAYERS)) < 0.5, random.random(n) < 0.7)


def test_that_the_last_active_layer_below_is_the_one_to_take_differences_to() -> None:
    active = np.array([[1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]], bool)
    assert previous_active(active).tolist() == [[-1, 0, 1, 2], [-1, -1, 1, 1], [-1, -1, -1, -1], [-1, 0, 0, 0]]


def test_that_training_sees_at_each_active_layer_the_features_that_a_run_computes_there() -> None:
    tokens = views()
    active = draw_schedules(len(tokens), LAYERS, np.random.default_rng(1))
    features = tokens.features(active)
    for token in range(len(tokens)):
        previous = None
        for layer in range(LAYERS):
            expected = features_of(tokens.logits[token, layer], previous)
            np.testing.assert_allclose(features[token, layer], expected, rtol=1e-6, atol=1e-7)
            if active[token, layer]:
                previous = expected[4:8]


def test_that_drawn_schedules_hold_t1s_full_set_and_gaps_of_many_widths() -> None:
    active = draw_schedules(400, 29, np.random.default_rng(0))
    assert active.all(1).sum() >= 200
    gaps = {int(gap) for row in active for gap in np.diff(np.flatnonzero(row))}
    assert gaps >= set(range(1, 8))
    assert not np.array_equal(active, draw_schedules(400, 29, np.random.default_rng(1)))


def test_that_a_label_of_a_right_exit_needs_the_final_token_to_be_a_candidate() -> None:
    tokens = views()
    assert np.array_equal(tokens.exits[tokens.listed], tokens.agrees[tokens.listed])
    assert not tokens.exits[~tokens.listed].any()


def fitted(tokens: LayerViews, labels: np.ndarray, shape: Shape | None = None) -> TorchBank:
    coaching = Coaching(0, Timer(0.0, 1e9), lambda *_: None)
    return fit_bank(tokens, labels, coaching, shape or Shape())


def test_that_predictors_learn_a_rule_on_unseen_tokens_at_every_layer() -> None:
    train, test = views(700, 1), views(300, 2)
    bank = fitted(train, train.logits[..., 0] > train.logits[..., 1:].max(-1))
    scores = scores_of(bank.folded(), test.features())
    for layer in range(LAYERS):
        quality = predictor_quality(scores[:, layer], test.logits[:, layer, 0] > test.logits[:, layer, 1:].max(-1))
        assert quality.accuracy > 0.9
        assert quality.auc > 0.95


def test_that_a_predictor_that_looks_at_some_features_only_does_not_see_the_others() -> None:
    tokens = views(200, 1)
    bank = fitted(tokens, tokens.logits[..., 0] > 0, Shape(hidden=8, depth=3, features=(0, 5)))
    features = tokens.features()
    changed = features.copy()
    changed[..., [1, 2, 3, 4, 6, 7, 8, 9, 10, 11]] += 1
    np.testing.assert_array_equal(bank.logits(features), bank.logits(changed))
    changed[..., 5] += 1
    assert not np.array_equal(bank.logits(features), bank.logits(changed))


def test_that_scaling_and_temperature_are_folded_into_plain_weights() -> None:
    tokens = views()
    bank = TorchBank(LAYERS, 12, Shape(), seed=0)
    bank.standardise(tokens.features() * 30 + 5)
    bank.temperature = torch.tensor([0.5, 1.0, 2.0, 3.0])
    expected = torch.from_numpy(bank.logits(tokens.features())).sigmoid()
    np.testing.assert_allclose(scores_of(bank.folded(), tokens.features()), expected, atol=1e-5)


def test_that_calibration_undoes_a_predictor_that_is_too_sure() -> None:
    random = np.random.default_rng(0)
    features = random.normal(size=(4000, LAYERS, 12)).astype(np.float32)
    bank = TorchBank(LAYERS, 12, Shape(), seed=0)
    with torch.no_grad():
        for name, weight in bank.weights.items():
            weight.mul_(4.0 if name[1] == "2" else 1.0)
    true = 1 / (1 + np.exp(-bank.logits(features) / 4))
    labels = random.random(true.shape) < true
    before = calibration_error(scores_of(bank.folded(), features)[:, 0], labels[:, 0])
    bank.calibrate(features, labels)
    assert bank.temperature.numpy() == pytest.approx(4.0, rel=0.25)
    assert calibration_error(scores_of(bank.folded(), features)[:, 0], labels[:, 0]) < before / 2


def test_that_all_scores_at_once_are_those_that_a_run_computes_one_by_one() -> None:
    tokens = views(6)
    bank: PredictorBank = TorchBank(LAYERS, 12, Shape(), seed=0).folded()
    scores = scores_of(bank, tokens.features())
    for token, layer in np.ndindex(scores.shape):
        assert scores[token, layer] == pytest.approx(bank.score(layer, tokens.features()[token, layer]), abs=1e-5)
    np.testing.assert_allclose(scores_of(bank, tokens.features()[:, 1:3], slice(1, 3)), scores[:, 1:3], atol=1e-6)


def test_that_training_stops_after_the_epoch_in_which_time_is_up() -> None:
    tokens, epochs = views(), []
    fit_bank(tokens, tokens.agrees, Coaching(0, Timer(1.0, 1.0), lambda epoch, loss: epochs.append(epoch)))
    assert epochs == [1]


def test_that_a_token_leaves_at_the_first_layer_that_is_proposed_and_verified() -> None:
    def bits(*rows: str) -> np.ndarray:
        return np.array([[bit == "1" for bit in row] for row in rows])

    none, shares = np.zeros((3, 4, 4), np.float32), np.zeros((3, 4), np.float32)
    agrees, among = bits("0011", "0001", "0000"), bits("0111", "1111", "0000")
    tokens = HeldOutViews(np.arange(3), none, agrees, np.ones(3, bool), among, shares, shares)
    found = point(bits("1110", "0010", "1111"), tokens, 0.5)
    # Token 0 is refused at layer 0 and leaves wrongly at 1; token 1 leaves wrongly at 2; token 2 is refused four times.
    assert (found.mean_exit_layer, found.early, found.agreement) == pytest.approx((10 / 3, 2 / 3, 1 / 3))
    assert (found.verifications, found.predictors) == pytest.approx((7 / 3, 3))


def at(threshold: float, mean: float, agreement: float) -> Point:
    return Point(threshold, 0.0, None, mean, 0.5, agreement, 0.5, 4.0)


def test_that_the_first_threshold_that_agrees_enough_is_recommended_or_else_the_highest() -> None:
    points = [at(0.5, 20, 0.9), at(0.7, 22, 0.99), at(0.9, 24, 0.995)]
    assert recommended(points).threshold == 0.7
    assert recommended([*points[:1], at(0.9, 24, 0.98)]).threshold == 0.9


def test_that_layers_are_ranked_by_exits_and_equal_ones_by_their_predictors() -> None:
    assert rank_layers([0, 3, 0, 9, 3], [0.9, 0.6, 0.5, 0.5, 0.8]).tolist() == [3, 4, 1, 0, 2]


def test_that_the_roc_area_is_the_chance_to_rank_a_pair_right() -> None:
    scores, labels = np.array([0.1, 0.4, 0.4, 0.8], np.float32), np.array([False, True, False, True])
    assert roc_auc(scores, labels) == pytest.approx(3.5 / 4)
    assert np.isnan(roc_auc(scores, np.ones(4, bool)))


def test_that_the_calibration_error_is_the_gap_between_score_and_share() -> None:
    scores = np.array([0.25, 0.25, 0.25, 0.25, 1.0], np.float32)
    assert calibration_error(scores, np.array([True, False, False, False, True])) == pytest.approx(0.0)
    assert calibration_error(scores, np.array([True, True, True, True, True])) == pytest.approx(0.6)


def test_that_hits_are_counted_by_the_right_tokens_rank() -> None:
    found = DrafterQuality.of(np.array([0, 0, 1, 3, 4]))
    assert (found.tokens, found.top1, found.top4) == (5, 0.4, 0.8)
