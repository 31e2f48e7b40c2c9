"""Calibration, ROC and precision-recall against their definitions, counted out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from core.analysis.calibration import (
    Label,
    LayerJudgements,
    calibration,
    curves,
    judgements,
    place_of,
    wilson,
)
from core.analysis.classification import BINS, bins_of, roc_auc
from tests.core.handmade import DEPTH as DEEP
from tests.core.handmade import audited
from tests.core.recordings import DEPTH, Recorder, audit_settings
from tests.tree_passes import TreePlan, tree_trace

LAYER = 2

scored = st.lists(st.tuples(st.sampled_from([0.0, 0.05, 0.2, 0.5, 0.55, 0.9, 1.0]), st.booleans()), max_size=30)


def judged(pairs: list[tuple[float, bool]]) -> LayerJudgements:
    scores = np.array([score for score, _ in pairs], np.float32)
    return LayerJudgements(0, np.arange(len(pairs)), scores, np.array([label for _, label in pairs], np.bool_))


@hypothesis_settings(max_examples=40)
@given(scored)
def test_that_each_threshold_counts_what_it_would_propose(pairs: list[tuple[float, bool]]) -> None:
    one = judged(pairs)
    found = curves(one)
    for at, threshold in enumerate(found.thresholds):
        proposed = one.scores >= threshold
        assert found.true_positives[at] == (proposed & one.labels).sum()
        assert found.false_positives[at] == (proposed & ~one.labels).sum()
    assert found.true_positives[-1] == found.positives
    assert found.false_positives[-1] == found.negatives


@hypothesis_settings(max_examples=40)
@given(scored, st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0]))
def test_that_a_runs_threshold_is_placed_where_it_proposes_the_same(
    pairs: list[tuple[float, bool]], threshold: float
) -> None:
    one = judged(pairs)
    found = curves(one)
    at = place_of(found, threshold)
    assert found.true_positives[at] + found.false_positives[at] == (one.scores > threshold).sum()


@hypothesis_settings(max_examples=40)
@given(scored)
def test_that_the_area_under_the_curve_is_the_rank_statistic(pairs: list[tuple[float, bool]]) -> None:
    one = judged(pairs)
    found = curves(one)
    if found.positives and found.negatives:
        area = np.trapezoid(found.recall.values, found.false_rate.values)
        assert area == pytest.approx(roc_auc(one.scores, one.labels))
        assert found.auc == pytest.approx(area)
    else:
        assert np.isnan(found.auc)


@hypothesis_settings(max_examples=40)
@given(scored)
def test_that_bins_hold_every_token_once_at_its_score(pairs: list[tuple[float, bool]]) -> None:
    one = judged(pairs)
    found = calibration(one)
    assert sorted(np.concatenate(found.tokens).tolist()) == one.tokens.tolist()
    assert found.counts.tolist() == [len(tokens) for tokens in found.tokens]
    for at, tokens in enumerate(found.tokens):
        assert (one.scores[tokens] >= np.float32(found.edges[at]) - 1e-6).all()
        assert (one.scores[tokens] <= np.float32(found.edges[at + 1])).all()
        if len(tokens):
            assert found.mean_scores[at] == pytest.approx(one.scores[tokens].mean())
            assert found.came_true.values[at] == one.labels[tokens].mean()
    weights = found.counts / max(1, len(pairs))
    gaps = np.abs(np.nan_to_num(found.mean_scores) - np.nan_to_num(found.came_true.values))
    assert np.isnan(found.error) if not pairs else found.error == pytest.approx(float(weights @ gaps), abs=1e-6)


def test_that_scores_that_are_none_fall_into_the_outermost_bins() -> None:
    scores = np.array([-3.0, 0.0, 1.0, 1e30, np.inf], np.float32)
    assert bins_of(scores).tolist() == [0, 0, BINS - 1, BINS - 1, BINS - 1]


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (45, 50, 0.7864, 0.9565)],
)
def test_that_bands_are_wilsons(hits: int, count: int, low: float, high: float) -> None:
    found = wilson(np.array([hits]), np.array([count]))
    assert found.values[0] == hits / count
    assert found.low[0] == pytest.approx(low, abs=1e-4)
    assert found.high[0] == pytest.approx(high, abs=1e-4)


def test_that_nothing_counted_has_no_share() -> None:
    found = wilson(np.array([0]), np.array([0]))
    assert np.isnan([found.values[0], found.low[0], found.high[0]]).all()


def test_that_a_runs_judgements_are_its_audits_with_the_engines_scores_where_it_asked(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    found = judgements(trace)
    assert found.tokens.tolist() == list(range(1, trace.emitted_count))
    for row, record in enumerate(trace.emitted[1:]):
        np.testing.assert_array_equal(found.scores[row][record.evaluated], record.scores[record.evaluated])
        np.testing.assert_array_equal(found.agrees[row], record.audit.token_ids == record.audit.full_depth_id)
        for layer in range(DEPTH):
            assert found.among[row, layer] == (record.audit.token_ids[layer] in record.draft.candidate_ids)


def test_that_the_label_and_who_was_asked_choose_what_is_judged(recorder: Recorder) -> None:
    found = judgements(recorder.run(audit_settings()))
    agrees, exits = found.of_layer(LAYER, Label.AGREES), found.of_layer(LAYER)
    assert len(agrees.tokens) == len(exits.tokens) == len(found.tokens)
    assert agrees.labels.sum() > exits.labels.sum() > 0
    asked = found.of_layer(LAYER, asked_only=True)
    assert asked.tokens.tolist() == found.tokens[found.asked[:, LAYER]].tolist()
    assert len(asked.tokens) < len(exits.tokens)
    assert len(found.of_layer(DEPTH - 1).tokens) == 0


def test_that_a_layer_without_tokens_has_empty_curves_and_bins() -> None:
    empty = judged([])
    assert calibration(empty).counts.tolist() == [0] * BINS
    assert np.isnan(calibration(empty).error)
    assert curves(empty).thresholds.tolist() == [np.inf]


def test_that_a_trees_tokens_are_judged_at_their_own_nodes() -> None:
    trace = tree_trace(TreePlan(exit_layer=24))
    for token in range(1, 5):
        text = trace.records[token].emitted.token_bytes.decode()
        trace.append(audited(token, (DEEP, text), scores={14: 0.4}))
    found = judgements(trace)
    assert found.among.all()
    np.testing.assert_allclose(found.scores[:, 14], 0.4)
