"""A K/V map that is read bit by bit: in the end it is the whole map, whatever the order."""

from __future__ import annotations

import numpy as np
import pytest

from core.analysis import kv_reading
from core.analysis.kv_map import KVState, kv_map
from core.analysis.kv_reading import UNREAD, KVLook, KVReading, read_updates
from core.choices import KVPolicy
from core.trace.trace import Trace
from tests.core.recordings import Recorder, audit_settings


def read_all(reading: KVReading, first: int, last: int) -> int:
    """Read what these rows need; how many tokens that took."""
    taken = 0
    while tokens := reading.unread(first, last):
        reading.take(read_updates(reading.trace, tokens))
        taken += len(tokens)
    return taken


@pytest.mark.parametrize("policy", KVPolicy)
def test_that_rows_read_in_any_order_are_the_whole_maps(
    recorder: Recorder, policy: KVPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kv_reading, "BLOCK", 5)
    trace = recorder.run(audit_settings(kv_policy=policy))
    whole, reading, count = kv_map(trace), KVReading(trace), trace.emitted_count
    for first in (20, 5, 26, 0, 11):
        read_all(reading, first, first + 6)
        last = min(first + 6, count)
        np.testing.assert_array_equal(reading.states[first:last], whole.states[first:last])
        np.testing.assert_array_equal(reading.caught_up_by[first:last], whole.caught_up_by[first:last])
    read_all(reading, 0, count)
    assert reading.known.all()
    np.testing.assert_array_equal(reading.states, whole.states)


def test_that_only_what_the_rows_in_view_need_is_read(recorder: Recorder) -> None:
    reading = KVReading(recorder.run(audit_settings()))
    assert read_all(reading, 4, 8) < 20
    look = KVLook(reading)
    assert (look.rows(4, 8) != UNREAD).all()
    assert (look.rows(25, 31) == UNREAD).any()


def test_that_a_run_that_is_ahead_of_the_reading_is_read_as_far_as_that_has_grown(recorder: Recorder) -> None:
    whole = recorder.run(audit_settings())
    for grown in range(2, 16):
        trace = Trace.of([event for event in whole.events if getattr(event, "token", 0) < grown])
        reading = KVReading(trace)
        for event in whole.events:
            if getattr(event, "token", 0) >= grown:
                trace.append(event)
        read_all(reading, 0, grown)
        assert reading.known.all()


def test_that_the_look_back_is_the_map_of_that_time(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    reading = KVReading(trace)
    read_all(reading, 0, trace.emitted_count)
    for until in (1, 7, 16, trace.emitted_count - 1):
        then, look = kv_map(trace, until), KVLook(reading, until)
        np.testing.assert_array_equal(look.rows(0, until + 1), then.states)
        assert (look.rows(until, trace.emitted_count) == KVState.NONE).all()
        for token in range(until):
            np.testing.assert_array_equal(look.caught_up_by(token), then.caught_up_by[token])


def test_that_a_growing_run_ends_in_the_map_that_is_made_at_once(recorder: Recorder) -> None:
    whole = recorder.run(audit_settings())
    trace, reading = Trace(), None
    for event in whole.events:
        trace.append(event)
        if trace.started is None:
            continue
        reading = reading or KVReading(trace)
        reading.grow(getattr(event, "token", trace.emitted_count))
        read_all(reading, 0, trace.emitted_count)
    assert reading is not None
    np.testing.assert_array_equal(reading.states, kv_map(whole).states)


def test_that_a_token_that_changed_is_read_again_and_undoes_what_its_pass_had_caught_up(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    reading = KVReading(trace)
    read_all(reading, 0, trace.emitted_count)
    reading.grow(9)
    then = kv_map(trace, 8)
    np.testing.assert_array_equal(reading.states[:8], then.states[:8])
    read_all(reading, 0, trace.emitted_count)
    np.testing.assert_array_equal(reading.states, kv_map(trace).states)
