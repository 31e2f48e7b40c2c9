"""The columns of a run say what its records say, whenever and in whatever order its events come."""

from __future__ import annotations

import numpy as np
import pytest

from core.analysis import summaries
from core.trace.events import Event, KVUpdated
from core.trace.overview import NO_CANDIDATE, REASONS, UNKNOWN, Overview, cell_states, final_rank, is_wrong, refusals
from core.trace.trace import Trace
from tests.core.handmade import DEPTH, audited, draft, emitted, layer_run, schedule, started, trace_of, verified
from tests.fakes import fake_run_events
from tests.tree_passes import TreePlan, tree_trace


def same(overview: Overview, trace: Trace) -> None:
    records = trace.emitted
    tokens = [record.emitted for record in records if record.emitted]
    assert overview.texts == [token.token_bytes for token in tokens]
    assert overview.token_ids.tolist() == [token.token_id for token in tokens]
    assert overview.exit_layers.tolist() == [token.exit_layer for token in tokens]
    assert [REASONS[at] for at in overview.reasons] == [token.reason for token in tokens]
    assert overview.seconds.tolist() == [token.times.total for token in tokens]
    assert overview.wrong.tolist() == [is_wrong(record) for record in records]
    assert overview.refusals.tolist() == [refusals(record) for record in records]
    assert summaries.outcomes(trace).tolist() == [summaries.outcome(record) for record in records]
    np.testing.assert_array_equal(overview.states, [cell_states(record) for record in records])


@pytest.mark.parametrize("audit", [False, True])
def test_that_columns_say_what_the_records_say(audit: bool) -> None:
    trace = Trace.of(fake_run_events(20, audit=audit))
    same(trace.overview, trace)
    assert trace.overview.audited[1:].all() == audit


def test_that_the_tokens_of_a_tree_pass_know_its_first() -> None:
    trace = tree_trace(TreePlan(), TreePlan())
    same(trace.overview, trace)
    trees = [record.tree for record in trace.emitted]
    assert trace.overview.passes.tolist() == [t.drafted.token if t else 0 for t in trees]


def test_that_an_audit_after_its_token_still_reaches_the_columns() -> None:
    trace = trace_of(started(), emitted(0, "The"), draft(1), emitted(1, " red", 5), draft(2), emitted(2, " so", 6))
    assert trace.overview.final_ranks.tolist() == [UNKNOWN] * 3
    trace.append(audited(1, (DEPTH, " blue")))
    assert trace.overview.wrong.tolist() == [False, True, False]
    assert trace.overview.final_ranks.tolist() == [UNKNOWN, 1, UNKNOWN]
    same(trace.overview, trace)


@pytest.mark.parametrize(("final", "rank"), [(" red", 0), (" the", 3), (" elsewhere", NO_CANDIDATE)])
def test_that_a_full_depth_token_has_its_place_among_the_candidates(final: str, rank: int) -> None:
    trace = trace_of(started(), emitted(0, "The"), draft(1), audited(1, (DEPTH, final)), emitted(1, " red", 5))
    assert final_rank(trace.records[1]) == rank


def test_that_k_v_told_after_a_token_changes_no_row_of_another() -> None:
    events: list[Event] = fake_run_events(6)
    late = KVUpdated(0, 2, 4, DEPTH, np.zeros((0, 3), np.int64))
    trace = Trace.of([*events[:-1], late, events[-1]])
    same(trace.overview, trace)


def test_that_the_token_in_flight_has_no_row() -> None:
    trace = trace_of(started(), emitted(0, "The"), schedule(1, [3]), layer_run(1, 3, 0.9), verified(1, 3, " blue", -1))
    assert len(trace.records) == 2
    assert (trace.emitted_count, len(trace.overview)) == (1, 1)
