from __future__ import annotations

import numpy as np
import pytest

from core.trace.events import Event, KVUpdated
from core.trace.trace import Trace
from tests.core.handmade import (
    DEPTH,
    draft,
    emitted,
    ended,
    layer_run,
    layers_up_to,
    prefilled,
    schedule,
    started,
    trace_of,
    verified,
)


def two_tokens_and_one_in_flight() -> Trace:
    return trace_of(
        started(),
        prefilled(),
        emitted(0, "The"),
        [draft(1), schedule(1, [3]), *layers_up_to(1, 5, {3: 0.2, 4: 0.8}), verified(1, 4, " blue", 1)],
        emitted(1, " blue", 5),
        [draft(2), schedule(2, [3], [(1, 4)]), layer_run(2, 0)],
    )


def test_that_a_trace_before_its_run_is_empty_and_of_no_depth() -> None:
    trace = Trace()
    assert (trace.depth, trace.emitted_count, trace.text_bytes) == (0, 0, b"")
    assert trace.exit_layers.shape == (0,)


def test_that_the_token_in_flight_is_kept_but_not_counted_as_emitted() -> None:
    trace = two_tokens_and_one_in_flight()
    assert len(trace.records) == 3
    assert trace.emitted_count == 2
    assert [r.token for r in trace.emitted] == [0, 1]
    assert trace.exit_layers.tolist() == [DEPTH, 5]


def test_that_text_is_the_exact_bytes_without_control_tokens() -> None:
    trace = trace_of(started(), emitted(0, b"\xe2\x82"), emitted(1, b"\xac!"), emitted(2, "<|im_end|>", special=True))
    assert trace.text_bytes == "€!".encode()


def test_that_each_event_lands_in_the_record_of_its_token() -> None:
    record = two_tokens_and_one_in_flight().records[1]
    assert record.draft is not None
    assert record.schedule is not None
    assert record.emitted is not None
    assert record.verified[4].candidate_rank == 1
    assert np.flatnonzero(record.evaluated).tolist() == [3, 4]
    assert np.flatnonzero(record.proposed).tolist() == [4]
    assert record.scores[4] == pytest.approx(0.8)
    assert record.layers_run == 5


def test_that_features_of_layers_without_a_predictor_are_nan() -> None:
    record = two_tokens_and_one_in_flight().records[1]
    assert record.features.shape == (DEPTH, 12)
    assert np.isnan(record.features[2]).all()
    assert not np.isnan(record.features[3:5]).any()


def test_that_a_token_in_flight_counts_the_layers_run_so_far() -> None:
    trace = two_tokens_and_one_in_flight()
    trace.append(layer_run(2, 1))
    assert trace.records[2].layers_run == 2
    assert trace.records[2].emitted is None


def test_that_kv_changes_told_after_the_token_do_not_reopen_it() -> None:
    trace = two_tokens_and_one_in_flight()
    trace.append(KVUpdated(0, 1, position=7, skipped_from=5, recomputed=np.zeros((0, 3), np.int64)))
    assert trace.records[1].kv is not None
    assert trace.emitted_count == 2


def test_that_appending_one_by_one_makes_the_trace_that_all_at_once_makes() -> None:
    whole = two_tokens_and_one_in_flight()
    stepwise = Trace()
    for event in whole.events:
        stepwise.append(event)
    assert stepwise.events == whole.events
    assert stepwise.exit_layers.tolist() == whole.exit_layers.tolist()
    assert [r.layers_run for r in stepwise.records] == [r.layers_run for r in whole.records]


@pytest.mark.parametrize(("event", "field"), [(started(), "started"), (prefilled(), "prefill"), (ended(), "ended")])
def test_that_the_runs_own_events_make_no_token(event: Event, field: str) -> None:
    trace = trace_of(event)
    assert getattr(trace, field) is event
    assert trace.records == []
