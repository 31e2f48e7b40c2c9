"""The counterfactual column: what each layer says, from where it stays, and what was wasted."""

from __future__ import annotations

import numpy as np

from core.analysis.counterfactual import Said, counterfactual
from core.choices import KVPolicy, Policy, Record
from core.config import RunSettings
from tests.core.handmade import DEPTH, audited, draft, emitted, layers_up_to, schedule, started, trace_of
from tests.core.recordings import Recorder, audit_settings
from tests.tree_passes import TreePlan, tree_trace


def test_that_each_layer_is_held_against_the_full_depth_token() -> None:
    trace = trace_of(
        started(),
        emitted(0, "x"),
        *[draft(1), schedule(1, [24]), *layers_up_to(1, 25, {24: 0.9})],
        audited(1, (3, " it"), (5, " blue"), (19, " so"), (DEPTH, " blue"), scores={10: 0.25, 24: 0.89}),
        emitted(1, " blue", 25),
    )
    found = counterfactual(trace.records[1])
    assert found.said.tolist() == [Said.OTHER] * 3 + [Said.PASSING] * 2 + [Said.OTHER] * 14 + [Said.STABLE] * 11
    assert (found.stable_layer, found.wasted, found.missing) == (20, 5, 0)
    assert found.candidate_ranks[[0, 3, 10]].tolist() == [-1, 1, 2]
    assert found.texts[19] == "·blue"
    assert found.scores[24] == np.float32(0.9), "the engine's own score stands where it asked"
    assert found.scores[10] == 0.25
    assert found.run.sum() == 25


def test_that_leaving_before_the_token_is_stable_is_told_as_missing_layers() -> None:
    trace = trace_of(started(), emitted(0, "x"), audited(1, (19, "a"), (DEPTH, "b")), emitted(1, "a", 12))
    found = counterfactual(trace.records[1])
    assert (found.wasted, found.missing) == (0, 8)
    assert set(found.candidate_ranks) == {-2}


def test_that_a_trees_token_is_ranked_among_its_own_nodes_candidates() -> None:
    trace = tree_trace(TreePlan(exit_layer=24))
    for token in range(1, 5):
        text = trace.records[token].emitted.token_bytes.decode()
        trace.append(audited(token, (DEPTH, text)))
    assert [counterfactual(trace.records[token]).candidate_ranks[0] for token in range(1, 5)] == [0, 0, 0, 0]


def test_that_a_token_without_an_audit_has_no_column(recorder: Recorder) -> None:
    live = recorder.run(audit_settings(record=Record.LIVE))
    assert counterfactual(live.records[1]) is None
    assert counterfactual(recorder.run(audit_settings()).records[0]) is None


def test_that_the_stable_layer_is_where_the_oracle_leaves(recorder: Recorder) -> None:
    settings = RunSettings(policy=Policy.ORACLE, record=Record.AUDIT, max_new_tokens=12, kv_policy=KVPolicy.RECOMPUTE)
    trace = recorder.run(settings)
    for record in trace.emitted[1:]:
        found = counterfactual(record)
        assert found.stable_layer == record.emitted.exit_layer
        assert found.wasted == found.missing == 0
