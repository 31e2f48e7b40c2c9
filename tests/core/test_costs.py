"""Costs: what was saved and spent adds up to what a full-depth pass would have taken less."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from core.analysis.cost_words import whole_run
from core.analysis.costs import PARTS, STAGES, Costs, costs, verdict, verdict_of_token
from core.choices import Policy
from core.trace.events import KVUpdated, StageTimes
from core.trace.trace import Trace
from tests.core.handmade import DEPTH, emitted, started, trace_of, verified
from tests.core.recordings import Recorder, audit_settings
from tests.tree_passes import TreePlan, tree_trace

LAYER, HEAD, DRAFT, PREDICTOR = 0.001, 0.005, 0.002, 0.003


def fed(token: int, layers_run: int, *recomputed: tuple[int, int, int]) -> KVUpdated:
    return KVUpdated(0, token, 2 + token, layers_run, np.array(recomputed, np.int64))


def spending(exit_layer: int, heads: int, caught_up: float = 0.0) -> StageTimes:
    layers = LAYER * exit_layer - caught_up / 2
    spent = (DRAFT, layers, PREDICTOR, HEAD * heads, caught_up)
    return StageTimes(*spent, recording=0.5, total=sum(spent) + 0.5 + 0.0125)


@pytest.fixture
def run() -> Trace:
    """Prefill, an exit at 20, full depth, an exit at 25 after a refusal that catches rows up."""
    return trace_of(
        started(),
        emitted(0, "x", times=StageTimes(layers=9.0, total=9.0)),
        *[verified(1, 19, "y", 0), fed(1, 20), emitted(1, "y", 20, times=spending(20, 1))],
        *[fed(2, DEPTH), emitted(2, "z", times=spending(DEPTH, 1))],
        *[verified(3, 17, "n", -1), verified(3, 24, "a", 0), fed(3, 25, (3, 20, 25))],
        emitted(3, "a", 25, times=spending(25, 2, caught_up=0.004)),
    )


def test_that_the_run_itself_tells_the_time_of_a_layer_and_of_a_head(run: Trace) -> None:
    found = costs(run)
    assert found.layer == pytest.approx(LAYER)
    assert found.head == pytest.approx(HEAD)
    assert found.layers_saved.tolist() == [0, 10, 0, 5]


def test_that_each_part_of_what_an_exit_cost_is_told_apart(run: Trace) -> None:
    found = costs(run)
    np.testing.assert_allclose(found.spent[1], [DRAFT, PREDICTOR, 0, 0], atol=1e-12)
    np.testing.assert_allclose(found.spent[3], [DRAFT, PREDICTOR, HEAD, 0.002], atol=1e-12)
    assert found.spent[0].tolist() == [0] * len(PARTS)
    assert found.stages[1, STAGES.index("other")] == pytest.approx(0.0125)


def test_that_what_was_gained_is_a_full_pass_minus_this_one(run: Trace) -> None:
    found = costs(run)
    full = DEPTH * LAYER + HEAD
    took = found.stages[1:, : STAGES.index("recording")].sum(1)
    np.testing.assert_allclose(found.net[1:], full - took, atol=1e-12)


def test_that_the_verdict_says_whether_the_exits_paid(run: Trace) -> None:
    lost = costs(run)
    assert lost.paid is False
    assert "<b>did not pay</b>: they cost <b>7.0</b> ms" in verdict(lost)
    assert "<b>15</b> layers saved <b>15.0</b> ms" in verdict(lost)
    gained = dataclasses.replace(lost, spent=lost.spent / 10)
    assert gained.paid is True
    assert "<b>paid</b>: they gained <b>12.8</b> ms" in verdict(gained)
    assert verdict_of_token(lost, 1).startswith("This pass <b>paid</b>")
    assert verdict_of_token(lost, 2).startswith("This pass <b>did not pay</b>")
    assert verdict_of_token(lost, 0) == ""


def test_that_nothing_has_no_sign(run: Trace) -> None:
    found = costs(run)
    found = dataclasses.replace(found, spent=np.where(np.arange(len(PARTS)) < 2, found.spent, -1e-12))
    assert "checks <b>0.0</b> ms" in verdict(found)
    assert "-0.0" not in whole_run(found)


def test_that_a_trees_drafting_is_not_the_exits_to_pay() -> None:
    found = costs(tree_trace(TreePlan(exit_layer=20), TreePlan(exit_layer=24)))
    assert found.trees
    assert not found.spent[:, PARTS.index("draft")].any()
    assert found.layers_saved.tolist() == [0, 10, 0, 0, 0, 6, 0, 0, 0]
    assert "token tree needs it" in verdict(found)


def test_that_a_run_of_no_pass_has_no_verdict() -> None:
    for trace in (Trace(), trace_of(started(), emitted(0, "x"))):
        found = costs(trace)
        assert verdict(found) == ""
        assert found.paid is None


def test_that_a_dense_run_gains_nothing_and_loses_what_idle_stages_take(
    recorder: Recorder,
) -> None:
    found = costs(recorder.run(audit_settings(policy=Policy.DENSE)))
    assert not found.layers_saved.any()
    idle = sum(found.stages[1:, STAGES.index(name)].sum() for name in ("draft", "predictor", "recompute"))
    assert found.net.sum() == pytest.approx(-idle)
    assert found.paid is None


def test_that_a_real_runs_stages_add_up_to_its_time(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    found = costs(trace)
    assert isinstance(found, Costs)
    np.testing.assert_allclose(found.stages.sum(1), [r.emitted.times.total for r in trace.emitted])
    assert found.layers_saved.sum() == (trace.depth - trace.exit_layers).sum()
    assert found.paid is not None
