"""The K/V map against what a run's events say happened, and against the engine's own cache."""

from __future__ import annotations

import numpy as np
import pytest

from core.analysis.kv_map import LABELS, KVState, kv_map
from core.choices import KVPolicy
from core.run_state import RunState
from core.trace.events import KVUpdated
from core.trace.trace import Trace
from tests.core.handmade import DEPTH, emitted, started, trace_of
from tests.core.recordings import Recorder, audit_settings

PROMPT = 3
"""Prompt tokens of `handmade.started`."""


def fed(token: int, skipped_from: int, *recomputed: tuple[int, int, int]) -> KVUpdated:
    """The pass that emits `token` feeds the one before it."""
    return KVUpdated(0, token, PROMPT + token - 1, skipped_from, np.array(recomputed, np.int64))


def row(held: int, then: KVState) -> list[int]:
    return [KVState.HELD] * held + [then] * (DEPTH - held)


def test_that_an_exit_leaves_its_fed_token_without_the_deeper_layers_until_it_is_caught_up() -> None:
    trace = trace_of(
        started(),
        emitted(0, "x"),
        *[fed(1, 12), emitted(1, "y", 12)],
        *[fed(2, 20, (PROMPT, 12, 20)), emitted(2, "z", 20)],
        *[fed(3, DEPTH, (PROMPT, 20, DEPTH), (PROMPT + 1, 20, DEPTH)), emitted(3, "!")],
    )
    assert kv_map(trace, 1).states.tolist() == [row(12, KVState.SKIPPED), [KVState.NONE] * DEPTH]
    second = kv_map(trace, 2)
    assert second.states[0].tolist() == [1] * 12 + [KVState.RECOMPUTED] * 8 + [KVState.SKIPPED] * 10
    assert second.waiting.tolist() == [10, 10, 0]
    last = kv_map(trace)
    assert last.states.tolist() == [
        row(12, KVState.RECOMPUTED),
        row(20, KVState.RECOMPUTED),
        row(DEPTH, KVState.HELD),
        [KVState.NONE] * DEPTH,
    ]
    assert last.caught_up_by[0].tolist() == [-1] * 12 + [2] * 8 + [3] * 10
    assert last.counts()[KVState.RECOMPUTED] == 18 + 10


@pytest.mark.parametrize(
    ("policy", "state"), [(KVPolicy.HOLE, KVState.SKIPPED), (KVPolicy.PROPAGATE, KVState.PROPAGATED)]
)
def test_that_hole_and_propagate_leave_what_an_exit_skipped_as_it_is(
    recorder: Recorder, policy: KVPolicy, state: KVState
) -> None:
    trace = recorder.run(audit_settings(kv_policy=policy))
    found = kv_map(trace)
    for record in trace.emitted[1:]:
        expected = np.where(np.arange(trace.depth) < record.emitted.exit_layer, KVState.HELD, state)
        np.testing.assert_array_equal(found.states[record.token - 1], expected)
    assert (found.states == state).any()
    assert (found.caught_up_by == -1).all()


def test_that_recompute_leaves_nothing_missing_below_the_deepest_layer_run_since(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    for until in range(1, trace.emitted_count):
        found = kv_map(trace, until)
        for token in range(until):
            deepest = trace.exit_layers[token + 1 : until + 1].max()
            assert (found.states[token, :deepest] != KVState.SKIPPED).all()
            assert (found.states[token, deepest:] == KVState.SKIPPED).all()


def test_that_the_maps_growth_changes_only_what_a_pass_touched(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    assert kv_map(trace, 99).states.tolist() == kv_map(trace).states.tolist()
    assert kv_map(Trace()).states.shape == (0, 0)
    assert (kv_map(trace).states[-1] == KVState.NONE).all()


@pytest.mark.parametrize("policy", KVPolicy)
def test_that_the_map_tells_which_entries_the_cache_lacks(
    recorder: Recorder, policy: KVPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    states: list[RunState] = []
    made = RunState.__init__
    monkeypatch.setattr(RunState, "__init__", lambda self, *a, **k: (states.append(self), made(self, *a, **k))[1])
    trace = recorder.fresh(audit_settings(kv_policy=policy, max_new_tokens=12))
    present = states[0].context.cache.present.numpy()
    found = kv_map(trace)
    fed_rows = found.states[:-1]
    lacking = ~present[:, found.prompt : found.prompt + len(fed_rows)].T
    np.testing.assert_array_equal(fed_rows == KVState.SKIPPED, lacking)


def test_that_every_state_has_a_label() -> None:
    assert set(LABELS) == set(KVState)
