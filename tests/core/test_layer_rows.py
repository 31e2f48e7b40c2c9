"""A token's layers as rows, live and audited, without a tree and in one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.analysis.counterfactual import counterfactual
from core.analysis.layer_rows import LayerState, layer_column
from core.choices import Policy, Record
from core.trace.events import WalkEnd
from tests.core.recordings import DEPTH, Recorder, audit_settings
from tests.tree_passes import TreePlan, tree_trace


def test_that_an_audited_rows_values_are_the_counterfactual_columns(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    assert trace.started is not None
    for record in trace.emitted[1:8]:
        found, column = layer_column(record, trace.started.settings), counterfactual(record)
        assert column is not None
        assert tuple(row.text for row in found.rows) == column.texts
        np.testing.assert_array_equal([row.margin for row in found.rows], column.margins)
        np.testing.assert_array_equal(np.float32([row.score for row in found.rows]), column.scores)
        for row in found.rows:
            assert (row.rank if row.rank is not None else -2) == column.candidate_ranks[row.layer]
            assert np.isnan(row.probability) == (row.rank is None or row.rank < 0)


@pytest.mark.parametrize("record", Record)
def test_that_the_states_follow_the_runs_own_decisions(recorder: Recorder, record: Record) -> None:
    trace = recorder.run(audit_settings(record=record))
    assert trace.started is not None
    seen: set[LayerState] = set()
    for one in trace.emitted[1:]:
        rows = layer_column(one, trace.started.settings).rows
        states = [row.state for row in rows]
        seen |= set(states)
        assert one.emitted is not None
        end = one.emitted.exit_layer
        assert states[end - 1] is (LayerState.LAST if end == DEPTH else LayerState.EXITED)
        assert all(state is LayerState.BEYOND for state in states[end:])
        for layer in range(end - 1):
            assert (states[layer] is LayerState.NOT_SCHEDULED) == (not one.evaluated[layer])
            assert (states[layer] is LayerState.REFUSED) == (layer in one.checks)
            assert (states[layer] is LayerState.BELOW) == bool(one.evaluated[layer] and not one.proposed[layer])
    assert {LayerState.EXITED, LayerState.BELOW, LayerState.NOT_SCHEDULED} <= seen


def test_that_a_live_row_knows_its_own_token_only_where_one_was_checked(recorder: Recorder) -> None:
    live, audit = recorder.run(audit_settings(record=Record.LIVE)), recorder.run(audit_settings())
    assert live.started is not None
    for one, other in zip(live.emitted[1:], audit.emitted[1:], strict=True):
        column = counterfactual(other)
        assert column is not None
        for row in layer_column(one, live.started.settings).rows:
            known = row.layer in one.checks or row.layer + 1 == one.emitted.exit_layer
            assert (row.text is not None) == known
            assert row.text in (None, column.texts[row.layer])
            assert np.isnan(row.score) == (not one.evaluated[row.layer])


def test_that_a_dense_runs_layers_have_no_predictor(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings(policy=Policy.DENSE, record=Record.LIVE))
    assert trace.started is not None
    found = layer_column(trace.records[1], trace.started.settings)
    assert [row.state for row in found.rows] == [LayerState.RAN] * (DEPTH - 1) + [LayerState.LAST]
    assert all(np.isnan(row.threshold) for row in found.rows)


def test_that_a_trees_token_is_told_at_its_own_node() -> None:
    trace = tree_trace(TreePlan(refused=(16,), refusal=WalkEnd.GATED))
    assert trace.started is not None
    record = trace.records[2]
    assert record.tree is not None
    node = record.tree.nodes_by_token[1]
    found = layer_column(record, trace.started.settings)
    for layer in record.tree.judged_layers:
        assert found.rows[layer].score == pytest.approx(float(record.tree.layers[layer].scores[node]))
    assert found.rows[16].state is LayerState.GATED
    assert found.rows[23].state is LayerState.EXITED
    assert found.rows[23].text == "·because"


def test_that_a_nodes_score_above_the_threshold_is_never_told_to_be_below_it() -> None:
    """Its path scores as its lowest node, and may be below."""
    plan = TreePlan()
    trace = tree_trace(plan)
    assert trace.started is not None
    settings, record = trace.started.settings, trace.records[1]
    rows = [
        row for row in layer_column(record, settings).rows if row.state in (LayerState.BELOW, LayerState.PATH_BELOW)
    ]
    assert rows
    for row in rows:
        assert (row.state is LayerState.PATH_BELOW) == (row.score > row.threshold)
    low = replace(settings, threshold=min(row.score for row in rows) - 1e-3)
    states = [layer_column(record, low).rows[row.layer].state for row in rows]
    assert set(states) == {LayerState.PATH_BELOW}
