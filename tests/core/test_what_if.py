"""What-if against the engine: up to the first change, a run under the other settings decides the same."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from core.analysis.active_sets import TOLERANCE, Doubt
from core.analysis.columns import columns_of
from core.analysis.what_if import Decisions, Redecider
from core.analysis.what_if_words import figures, how_exact, in_doubt
from core.choices import KVPolicy, Policy, Record
from core.config import RunSettings, SchedulerSettings
from core.errors import UserError
from core.trace.trace import Trace
from tests.core.recordings import DEPTH, PROMPTS, Recorder, audit_settings

schedulers = st.builds(
    SchedulerSettings,
    window=st.integers(1, 6),
    radius=st.integers(0, 3),
    offline_layers=st.integers(0, DEPTH - 1),
    distinct=st.booleans(),
)
changes = st.fixed_dictionaries(
    {
        "policy": st.sampled_from([Policy.SPECEE_T1, Policy.SPECEE_T1T2]),
        "threshold": st.sampled_from([0.05, 0.2, 0.3, 0.35, 0.6, 0.95]),
        "scheduler": schedulers,
        "gate": st.sampled_from([0.0, 0.02, 0.1]),
        "layer_thresholds": st.sampled_from([(), ((1, 0.0), (3, 0.9))]),
    }
)

RECORDED = (
    audit_settings(max_new_tokens=24),
    audit_settings(max_new_tokens=24, policy=Policy.SPECEE_T1, kv_policy=KVPolicy.HOLE),
    audit_settings(max_new_tokens=24, threshold=0.6, kv_policy=KVPolicy.PROPAGATE, gate=0.05),
)


def redecider(recorder: Recorder, trace: Trace) -> Redecider:
    return Redecider(columns_of(trace), recorder.parts.predictors, recorder.parts.offline_ranking)


def first_difference(a: Trace, b: Trace) -> int | None:
    """The first token at which two runs differ in exit layer or text."""
    pairs = zip(a.emitted, b.emitted, strict=False)
    differ = [
        (x.emitted.exit_layer, x.emitted.token_id) != (y.emitted.exit_layer, y.emitted.token_id) for x, y in pairs
    ]
    return differ.index(True) if True in differ else None


def assert_same_until(decided: Decisions, trace: Trace, until: int) -> None:
    """The tokens before `until` are decided as the run `trace` decided them."""
    for record in trace.emitted[1:until]:
        token = record.token
        assert decided.exit_layers[token] == record.emitted.exit_layer
        assert decided.token_ids[token] == record.emitted.token_id
        np.testing.assert_array_equal(decided.active[token], record.schedule.active)
        np.testing.assert_array_equal(decided.proposed[token], record.proposed)
        np.testing.assert_allclose(decided.scores[token], record.scores, atol=TOLERANCE)


@hypothesis_settings(max_examples=12)
@given(before=st.sampled_from(RECORDED), prompt=st.sampled_from(PROMPTS[:2]), asked=changes)
def test_that_decisions_through_the_first_change_are_those_of_a_run(
    recorder: Recorder, before: RunSettings, prompt: str, asked: dict
) -> None:
    after = dataclasses.replace(before, **asked)
    trace, rerun = recorder.run(before, prompt), recorder.run(after, prompt)
    decided = redecider(recorder, trace).decide(after)
    if not decided.doubts.any():
        assert decided.first_change == first_difference(trace, rerun)
    assert_same_until(decided, rerun, min(decided.estimate_from, trace.emitted_count, rerun.emitted_count))


def test_that_the_recordings_own_settings_change_nothing(recorder: Recorder) -> None:
    for policy in (Policy.SPECEE_T1, Policy.SPECEE_T1T2):
        trace = recorder.run(audit_settings(policy=policy))
        decided = redecider(recorder, trace).decide(trace.started.settings)
        assert decided.first_change is None
        assert decided.exact.all()
        assert_same_until(decided, trace, trace.emitted_count)
        assert any(r.verified for r in trace.emitted)


def test_that_the_random_runs_have_exits_and_refusals_to_decide_anew(recorder: Recorder) -> None:
    decided = redecider(recorder, recorder.run(audit_settings())).decide(audit_settings(threshold=0.05))
    assert decided.early.any()
    assert decided.refusals.any()
    assert decided.first_change is not None
    assert decided.changed[decided.first_change]
    assert not decided.exact[decided.first_change + 1 :].any()


def test_that_a_threshold_of_one_runs_every_token_to_full_depth(recorder: Recorder) -> None:
    decided = redecider(recorder, recorder.run(audit_settings())).decide(audit_settings(threshold=1.0))
    assert set(decided.exit_layers) == {DEPTH}
    assert not decided.proposed.any()
    assert not decided.wrong.any()


def test_that_a_layers_own_threshold_rules_that_layer_alone(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings(policy=Policy.SPECEE_T1))
    settings = audit_settings(policy=Policy.SPECEE_T1, layer_thresholds=((2, 1.0),))
    decided = redecider(recorder, trace).decide(settings)
    plain = redecider(recorder, trace).decide(trace.started.settings)
    assert plain.proposed[:, 2].any()
    assert not decided.proposed[:, 2].any()
    np.testing.assert_array_equal(decided.proposed[:, :2], plain.proposed[:, :2])


def test_that_the_gate_refuses_exits_with_a_smaller_margin(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    columns = columns_of(trace)
    early = np.flatnonzero(columns.exit_layers < DEPTH)
    margins = columns.margins[early, columns.exit_layers[early] - 1]
    gate = float(np.median(margins))
    decided = redecider(recorder, trace).decide(audit_settings(gate=gate))
    first = decided.first_change
    assert first == early[margins < gate][0]
    assert decided.exit_layers[first] > columns.exit_layers[first]
    left = decided.early
    assert (columns.margins[left, decided.exit_layers[left] - 1] >= np.float32(gate)).all()


def test_that_a_score_at_its_threshold_is_in_doubt(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    record = next(r for r in trace.emitted[1:] if r.evaluated.any())
    layer = int(np.flatnonzero(record.evaluated)[0])
    decided = redecider(recorder, trace).decide(audit_settings(threshold=float(record.scores[layer]) + TOLERANCE / 2))
    assert decided.doubts[record.token] & Doubt.SCORE


def test_that_scores_without_the_predictors_are_in_doubt_only_where_variations_change(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    bare = Redecider(columns_of(trace), None, recorder.parts.offline_ranking)
    assert not (bare.decide(audit_settings(threshold=1.0)).doubts[:2] & Doubt.PREDICTOR).any()
    every = bare.decide(audit_settings(policy=Policy.SPECEE_T1))
    assert (every.doubts & Doubt.PREDICTOR).any()


def test_that_more_offline_layers_than_were_recorded_need_the_whole_ranking(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    more = audit_settings(scheduler=SchedulerSettings(window=3, radius=1, offline_layers=4))
    with pytest.raises(UserError, match="keeps the 2 best offline layers"):
        Redecider(columns_of(trace), recorder.parts.predictors).decide(more)


@pytest.mark.parametrize(
    "other", [{"kv_policy": KVPolicy.HOLE}, {"max_new_tokens": 5}, {"policy": Policy.DENSE}, {"stop": ("a",)}]
)
def test_that_a_setting_that_needs_the_model_is_refused(recorder: Recorder, other: dict) -> None:
    trace = recorder.run(audit_settings())
    with pytest.raises(UserError, match="can be decided anew"):
        redecider(recorder, trace).decide(dataclasses.replace(audit_settings(), **other))


def test_that_a_live_recording_says_that_it_needs_an_audit(recorder: Recorder) -> None:
    with pytest.raises(UserError, match="does not tell"):
        columns_of(recorder.run(audit_settings(record=Record.LIVE)))


def test_that_a_run_without_predictors_cannot_be_decided_anew(recorder: Recorder) -> None:
    with pytest.raises(UserError, match="Only a run of SpecEE"):
        columns_of(recorder.run(RunSettings(policy=Policy.DENSE, max_new_tokens=3, record=Record.AUDIT)))


def test_that_a_run_of_the_first_token_alone_decides_nothing(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings(max_new_tokens=1))
    decided = redecider(recorder, trace).decide(audit_settings(max_new_tokens=1, threshold=0.9))
    assert decided.exit_layers.tolist() == [DEPTH]
    assert decided.first_change is None


def test_that_the_words_name_the_first_change_and_where_the_estimate_starts(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    columns = columns_of(trace)
    decided = redecider(recorder, trace).decide(audit_settings(threshold=1.0))
    first = decided.first_change
    words = how_exact(decided, columns)
    assert f"Exact through <b>token {first + 1}</b>" in words
    assert f"after layer <b>{DEPTH}</b> instead of <b>{columns.exit_layers[first]}</b>" in words
    assert "estimate" in words
    same = redecider(recorder, trace).decide(audit_settings())
    assert "estimate" not in how_exact(same, columns)
    assert "<b>0.0%</b> early" in figures(decided)
    assert "<b>100.0%</b> as full depth" in figures(decided)


def test_that_the_words_count_the_tokens_in_doubt(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    bare = Redecider(columns_of(trace), None, recorder.parts.offline_ranking)
    decided = bare.decide(audit_settings(policy=Policy.SPECEE_T1))
    assert "holds no predictors" in in_doubt(decided, len(decided.doubts))
    assert in_doubt(decided, 1) == ""
