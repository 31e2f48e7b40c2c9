"""What predictors learn from, how they are trained, and what their thresholds would do."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.analysis.classification import calibration_error, predictor_quality, roc_auc
from core.exits.predictors import PredictorBank, features_of
from core.training.features import LayerViews, draw_schedules, previous_active
from core.training.frontier import Point, point, recommended
from core.training.predictor_stage import better
from core.training.predictors import TorchBank, fit_bank, scores_of
from core.training.profile import rank_layers
from core.training.quality import DrafterQuality
from core.training.workspace import Timer

LAYERS = 4


def views(n: int = 40, seed: int = 0) -> LayerViews:
    random = np.random.default_rng(seed)
    logits = random.normal(size=(n, LAYERS, 4)).astype(np.float32)
    truth = random.random((n, LAYERS)) < 0.5
    return LayerViews(np.arange(n), logits, truth, random.random((n, LAYERS)) < 0.7)


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
    assert np.array_equal(tokens.exits, tokens.agrees & tokens.among)


def fitted(tokens: LayerViews, labels: np.ndarray) -> PredictorBank:
    return fit_bank(tokens, labels, seed=0, timer=Timer(0.0, 1e9), tell=lambda *_: None, cancel=None)


def test_that_predictors_learn_a_rule_on_unseen_tokens_at_every_layer() -> None:
    train, test = views(700, 1), views(300, 2)
    bank = fitted(train, train.logits[..., 0] > train.logits[..., 1:].max(-1))
    scores = scores_of(bank, test.features())
    for layer in range(LAYERS):
        quality = predictor_quality(scores[:, layer], test.logits[:, layer, 0] > test.logits[:, layer, 1:].max(-1))
        assert quality.accuracy > 0.9
        assert quality.auc > 0.95


def test_that_the_scaling_is_folded_into_plain_weights() -> None:
    tokens = views()
    bank = TorchBank(LAYERS, 12, seed=0)
    bank.standardise(tokens.features() * 30 + 5)
    expected = bank(torch.from_numpy(tokens.features()).transpose(0, 1)).sigmoid().T.detach().numpy()
    np.testing.assert_allclose(scores_of(bank.folded(), tokens.features()), expected, atol=1e-5)


def test_that_all_scores_at_once_are_those_that_a_run_computes_one_by_one() -> None:
    tokens = views(6)
    bank = TorchBank(LAYERS, 12, seed=0).folded()
    scores = scores_of(bank, tokens.features())
    for token, layer in np.ndindex(scores.shape):
        assert scores[token, layer] == pytest.approx(bank.score(layer, tokens.features()[token, layer]), abs=1e-5)


def test_that_training_stops_after_the_epoch_in_which_time_is_up() -> None:
    tokens, epochs = views(), []
    fit_bank(
        tokens,
        tokens.agrees,
        seed=0,
        timer=Timer(1.0, 1.0),
        tell=lambda epoch, loss: epochs.append(epoch),
        cancel=None,
    )
    assert epochs == [1]


def test_that_a_token_leaves_at_the_first_layer_that_is_proposed_and_verified() -> None:
    def bits(*rows: str) -> np.ndarray:
        return np.array([[bit == "1" for bit in row] for row in rows])

    none = np.zeros((3, 4, 4), np.float32)
    tokens = LayerViews(np.arange(3), none, bits("0011", "0001", "0000"), bits("0111", "1111", "0000"))
    found = point(bits("1110", "0010", "1111"), tokens, 0.5)
    # Token 0 is refused at layer 0 and leaves wrongly at 1; token 1 leaves wrongly at 2; token 2 is refused four times.
    assert found == Point(0.5, pytest.approx((2 + 3 + 5) / 3), pytest.approx(2 / 3), pytest.approx(1 / 3), 7 / 3)


def at(threshold: float, mean: float, agreement: float) -> Point:
    return Point(threshold, mean, 0.5, agreement, 0.5)


def test_that_the_first_threshold_that_agrees_enough_is_recommended_or_else_the_highest() -> None:
    points = [at(0.5, 20, 0.9), at(0.7, 22, 0.99), at(0.9, 24, 0.995)]
    assert recommended(points).threshold == 0.7
    assert recommended([*points[:1], at(0.9, 24, 0.98)]).threshold == 0.9


def test_that_the_label_that_agrees_enough_and_leaves_earlier_is_kept() -> None:
    assert better({"final": [at(0.5, 24, 0.995)], "exit": [at(0.6, 23, 0.991)]}) == "exit"
    assert better({"final": [at(0.5, 24, 0.995)], "exit": [at(0.6, 20, 0.97)]}) == "final"


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
