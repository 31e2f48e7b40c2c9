"""Figures over audited runs: what each one counts, and that nothing unmeasured is given a number."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest

from core.analysis.classification import calibration_error, predictor_quality, roc_auc
from core.analysis.digest import Sample, digest
from core.analysis.evaluation import FIGURES, Figures, figures_by_category, figures_of
from core.choices import Policy
from core.config import RunSettings, SamplingSettings, SchedulerSettings
from core.engine import Engine
from core.evaluation import Prompt, evaluate_prompts, judged_by_dense
from core.model.loading import LoadedModel
from tests.engines import DEPTH, run

SETTINGS = RunSettings(
    Policy.SPECEE_T1T2, max_new_tokens=30, scheduler=SchedulerSettings(window=2, radius=1, offline_layers=2)
)
PROMPTS = [Prompt("the quick brown fox", "animals"), Prompt("sun sea sky", "nature")]


@pytest.fixture(scope="module")
def samples(eager: Engine) -> list[Sample]:
    return list(evaluate_prompts(eager, PROMPTS, SETTINGS))


def evaluate(samples: Iterable[Sample]) -> Figures:
    return figures_of([digest(sample) for sample in samples])


def test_that_dense_decoding_agrees_with_itself_in_everything(tiny: LoadedModel) -> None:
    settings = RunSettings(Policy.DENSE, max_new_tokens=20)
    figures = evaluate(list(evaluate_prompts(Engine(tiny), PROMPTS, settings)))
    assert figures["agreement"] == figures["agreement_dense"] == 1.0
    assert figures["mean_exit_layer"] == DEPTH
    assert figures["exit_share"] == 0.0
    assert figures["perplexity"] == pytest.approx(figures["perplexity_dense"])
    unmeasured = ("exit_precision", "refusal_rate", "scheduler_hit_rate", "drafter_top1", "predictor_auc")
    assert all(figures[name] is None for name in unmeasured)


def test_that_agreement_is_the_share_of_tokens_equal_to_their_own_full_depth(samples: list[Sample]) -> None:
    records = [r for s in samples for r in s.trace.emitted[1:]]
    right = [r.audit.full_depth_id == r.emitted.token_id for r in records]
    figures = evaluate(samples)
    assert figures["agreement"] == pytest.approx(np.mean(right))
    early = [ok for ok, r in zip(right, records, strict=True) if r.emitted.exit_layer < DEPTH]
    assert figures["exit_precision"] == pytest.approx(np.mean(early))


def test_that_with_exact_keys_and_values_both_agreements_are_the_same(samples: list[Sample]) -> None:
    figures = evaluate(samples)
    assert figures["agreement"] == pytest.approx(figures["agreement_dense"])


def test_that_a_token_full_depth_run_is_judged_right_by_the_dense_model(tiny: LoadedModel) -> None:
    trace = run(Engine(tiny), policy=Policy.DENSE)
    equal, logs = judged_by_dense(Engine(tiny), trace)
    assert equal.all()
    assert logs.shape == (trace.emitted_count,)
    assert (logs < 0).all()


def test_that_the_dense_model_is_given_the_draws_that_the_run_was(tiny: LoadedModel) -> None:
    trace = run(Engine(tiny), policy=Policy.DENSE, sampling=SamplingSettings(temperature=2.0, seed=3))
    assert judged_by_dense(Engine(tiny), trace)[0].all()


def test_that_perplexity_is_the_exponential_of_the_mean_negative_log_probability(samples: list[Sample]) -> None:
    logs = np.concatenate([s.log_probabilities for s in samples])
    assert evaluate(samples)["perplexity"] == pytest.approx(math.exp(-logs.mean()))


def test_that_hits_are_counted_on_runs_with_every_predictor_on(samples: list[Sample]) -> None:
    hits, shares = [], []
    for sample in samples:
        layers = sample.free.exit_layers - 1
        for token in range(3, len(layers)):
            if layers[token] < DEPTH - 1:
                ring = layers[token - 2 : token]
                watched = [layer for layer in range(DEPTH - 1) if any(abs(layer - r) <= 1 for r in ring)]
                hits.append(layers[token] in watched)
                shares.append(len(watched) / (DEPTH - 1))
    figures = evaluate(samples)
    assert figures["scheduler_hit_rate"] == pytest.approx(np.mean(hits))
    assert figures["scheduler_chance"] == pytest.approx(np.mean(shares))


def test_that_categories_are_told_apart(samples: list[Sample]) -> None:
    by_category = figures_by_category([digest(sample) for sample in samples])
    assert set(by_category) == {"animals", "nature"}
    assert by_category["nature"] == evaluate([samples[1]])


def test_that_every_figure_of_the_command_is_there(samples: list[Sample]) -> None:
    assert set(evaluate(samples)) == set(FIGURES)
    assert set(evaluate([])) == set(FIGURES)
    assert all(value is None for value in evaluate([]).values())


def test_that_predictors_share_of_time_lies_between_nothing_and_everything(samples: list[Sample]) -> None:
    share = evaluate(samples)["predictor_time_share"]
    assert share is not None
    assert 0 < share < 1


@pytest.mark.parametrize(
    ("scores", "labels", "auc"),
    [
        ([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], 0.75),
        ([0.5, 0.5, 0.5], [0, 1, 1], 0.5),
        ([0.2, 0.9], [0, 1], 1.0),
        ([0.9, 0.2], [0, 1], 0.0),
    ],
)
def test_that_roc_auc_is_the_chance_of_ranking_a_positive_higher(scores: list, labels: list, auc: float) -> None:
    assert roc_auc(np.array(scores, np.float32), np.array(labels, bool)) == pytest.approx(auc)


def test_that_roc_auc_of_one_class_is_not_a_number() -> None:
    assert math.isnan(roc_auc(np.array([0.1, 0.2], np.float32), np.array([True, True])))


def test_that_a_calibrated_score_has_no_calibration_error_and_a_bold_one_has() -> None:
    scores = np.repeat(np.float32([0.25, 0.75]), 4)
    labels = np.array([1, 0, 0, 0, 1, 1, 1, 0], bool)
    assert calibration_error(scores, labels) == pytest.approx(0.0)
    assert calibration_error(np.ones(8, np.float32), labels) == pytest.approx(0.5)
    assert predictor_quality(scores, labels).values()["accuracy"] == 0.75
