"""A what-if beside its recording, and held against a run with its settings."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pytest

from core.analysis.active_sets import TOLERANCE, Doubt
from core.analysis.columns import AuditColumns, columns_of
from core.analysis.forks import fork_at
from core.analysis.frontier import live_point
from core.analysis.what_if import Decisions, Redecider
from core.analysis.what_if_changes import compare_passes, compare_tokens, doubt_words
from core.analysis.what_if_trees import TreeRedecider
from core.analysis.what_if_truth import Truth, hold_passes, hold_tokens, truth_words
from core.choices import Policy
from core.config import RunSettings, SchedulerSettings, TreeSettings
from core.engine import RunRequest
from core.trace.frozen import frozen
from core.trace.trace import Trace
from tests.core.recordings import DEPTH, Recorder, audit_settings
from tests.fakes import fake_run_events


def decided(recorder: Recorder, before: RunSettings, after: RunSettings) -> tuple[Decisions, AuditColumns]:
    columns = columns_of(recorder.run(before))
    return Redecider(columns, recorder.parts.predictors, recorder.parts.offline_ranking).decide(after), columns


def test_that_the_recordings_own_settings_change_nothing_and_give_its_own_figures(recorder: Recorder) -> None:
    compared = compare_tokens(*decided(recorder, audit_settings(), audit_settings()))
    assert not compared.changes
    assert compared.estimate_from == len(compared.asked)
    assert compared.exact_tokens == len(compared.asked) - 1
    assert compared.after == compared.before
    own = (compared.before.mean_exit_layer, compared.before.agreement)
    assert own == pytest.approx(live_point(recorder.run(audit_settings())))


def test_that_every_token_whose_exit_layer_changes_is_listed_once_and_only_the_first_is_exact(
    recorder: Recorder,
) -> None:
    compared = compare_tokens(*decided(recorder, audit_settings(), audit_settings(threshold=0.05)))
    moved = np.flatnonzero(compared.asked != compared.recorded)
    assert [change.token for change in compared.changes] == moved.tolist()
    assert [change.exact for change in compared.changes] == [True, *[False] * (len(moved) - 1)]
    assert compared.estimate_from == moved[0] + 1
    for change in compared.changes:
        assert (change.recorded, change.asked) == (compared.recorded[change.token], compared.asked[change.token])


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (audit_settings(threshold=0.05), "> 0.05 at layer"),
        (audit_settings(threshold=1.0), "< 1.00 at layer"),
        (audit_settings(gate=0.5), "< 0.50 fails the gate"),
        (audit_settings(policy=Policy.SPECEE_T1), "is watched now, score"),
        (audit_settings(scheduler=SchedulerSettings(window=1, radius=0, offline_layers=0)), "is not watched"),
    ],
)
def test_that_a_change_is_blamed_on_what_brought_it(recorder: Recorder, after: RunSettings, words: str) -> None:
    compared = compare_tokens(*decided(recorder, audit_settings(), after))
    assert any(words in change.reason for change in compared.changes), [c.reason for c in compared.changes]


def test_that_a_lower_gate_lets_go_what_it_had_refused(recorder: Recorder) -> None:
    compared = compare_tokens(*decided(recorder, audit_settings(gate=0.05), audit_settings()))
    assert any("passes the gate" in change.reason for change in compared.changes)


def test_that_a_run_with_the_settings_asked_for_bears_the_exact_part_out(recorder: Recorder) -> None:
    for after in (audit_settings(threshold=0.05), audit_settings(gate=0.5), audit_settings(policy=Policy.SPECEE_T1)):
        found, _ = decided(recorder, audit_settings(), after)
        truth = hold_tokens(found, recorder.run(after))
        assert truth.promised == truth.reached == truth.same > 0
        assert truth.score_gap <= TOLERANCE
        assert truth.holds
        assert f"<b>{truth.same} of {truth.same}</b> exact tokens the same, scores within" in truth_words(truth)


def test_that_another_run_does_not_bear_it_out_and_the_words_name_the_first_difference(recorder: Recorder) -> None:
    found, _ = decided(recorder, audit_settings(), audit_settings())
    truth = hold_tokens(found, recorder.run(audit_settings(threshold=1.0)))
    layers = recorder.run(audit_settings()).exit_layers
    assert truth.first_other == np.flatnonzero(layers < DEPTH)[0]
    assert truth.same < truth.reached
    assert not truth.holds
    assert f"first departs at token <b>{truth.first_other + 1}</b>" in truth_words(truth)
    assert dataclasses.replace(truth, doubt_from=truth.first_other).holds
    assert not dataclasses.replace(truth, doubt_from=truth.first_other + 1).holds


def test_that_a_run_that_ended_too_soon_promises_nothing() -> None:
    assert "ended before the first of the <b>4</b>" in truth_words(Truth("token", 4, 0, 0, None, float("nan"), None))


def test_that_a_trees_tokens_share_their_passes_exit_and_a_run_bears_its_exact_passes_out(recorder: Recorder) -> None:
    before = audit_settings(max_new_tokens=16, threshold=0.6, tree=TreeSettings("3-2-1"))
    after = dataclasses.replace(before, threshold=0.0)
    trace = recorder.run(before)
    found = TreeRedecider(trace, recorder.parts.predictors, recorder.parts.offline_ranking).decide(after)
    compared = compare_passes(found, trace)
    first = found.first_change
    assert compared.changes[0].token == found.firsts[first]
    assert compared.changes[0].asked < compared.changes[0].recorded == trace.exit_layers[found.firsts[first]]
    assert compared.estimate_from == found.firsts[first + 1]
    for at, token in enumerate(found.firsts.tolist()):
        assert compared.asked[token] == (found.exit_layers[at] if found.known[at] else max(found.followed[at], 1))
    truth = hold_passes(found, recorder.run(after))
    assert truth.promised == first + 1 == truth.reached == truth.same
    assert "exact passes the same." in truth_words(truth)


def test_that_a_pass_that_is_not_known_says_how_far_it_was_followed(recorder: Recorder) -> None:
    before = audit_settings(max_new_tokens=16, threshold=0.2, tree=TreeSettings("3-2-1"))
    trace = recorder.run(before)
    found = TreeRedecider(trace).decide(dataclasses.replace(before, threshold=0.99))
    change = next(c for c in compare_passes(found, trace).changes if not c.known)
    assert change.reason == f"not known beyond layer {change.asked}"
    assert not change.exact


def test_that_doubts_are_told_a_word_each() -> None:
    assert doubt_words(Doubt.SCORE | Doubt.SHORTLIST) == "score, shortlist"
    assert doubt_words(Doubt.NONE) == ""


def test_that_a_frozen_run_stays_as_it_was_while_events_go_on_coming() -> None:
    events = fake_run_events(8)
    trace = Trace.of(events[: len(events) // 2])
    still = frozen(trace)
    count, layers = trace.emitted_count, trace.exit_layers.tolist()
    for event in events[len(events) // 2 :]:
        trace.append(event)
    assert (still.emitted_count, len(still.records), still.exit_layers.tolist()) == (count, count, layers)
    assert still.overview.texts == trace.overview.texts[:count]
    assert frozen(trace) is trace


@pytest.mark.parametrize("tree", [TreeSettings(), TreeSettings("3-2-1")], ids=["tokens", "trees"])
def test_that_a_branch_is_decided_from_where_it_left_with_the_ring_of_its_origin(
    recorder: Recorder, tree: TreeSettings
) -> None:
    settings = audit_settings(threshold=0.3 if not tree.on else 0.2, tree=tree)
    fork = fork_at(recorder.run(settings), 11, settings)
    trace = Trace.of(recorder.engine.run(RunRequest("not read", settings, 1, fork), threading.Event()))
    parts = recorder.parts
    if tree.on:
        compared = compare_passes(TreeRedecider(trace, parts.predictors, parts.offline_ranking).decide(settings), trace)
    else:
        columns = columns_of(trace)
        compared = compare_tokens(Redecider(columns, parts.predictors, parts.offline_ranking).decide(settings), columns)
    assert not compared.changes
    own = (compared.before.mean_exit_layer, compared.before.agreement)
    assert own == pytest.approx(live_point(trace))
