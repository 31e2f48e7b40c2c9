"""Two runs held against each other: where they part, and what each comes to."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from core.analysis import summaries
from core.analysis.compare import compare, figures_of, where_they_part
from core.choices import Policy
from core.trace.events import RunStarted
from core.trace.overview import refusals
from core.trace.trace import Trace
from tests.core.handmade import DEPTH, audited, emitted, started, trace_of, verified
from tests.core.recordings import Recorder, audit_settings
from tests.tree_passes import TreePlan, tree_trace


def text(*tokens: str, exits: tuple[int, ...] = (), opening: RunStarted | None = None) -> Trace:
    layers = (*exits, *[DEPTH] * (len(tokens) - len(exits)))
    return trace_of(
        opening or started(), *[emitted(i, t, e) for i, (t, e) in enumerate(zip(tokens, layers, strict=True))]
    )


def test_that_a_run_does_not_part_from_itself(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    found = compare(trace, trace)
    assert found.first_divergence is None
    assert found.first_other_exit is None
    assert found.aligned == trace.emitted_count
    assert not found.exit_delta.any()
    assert not found.seconds_delta.any()
    assert found.settings == ()


@pytest.mark.parametrize(
    ("a", "b", "divergence"),
    [
        (("x", "y"), ("x", "y"), None),
        (("x", "y"), ("x", "z"), 1),
        (("x", "y", "z"), ("x", "y"), 2),
        (("x",), ("x", "y"), 1),
        ((), ("x",), 0),
        ((), (), None),
    ],
)
def test_that_runs_part_at_the_first_other_token_or_where_one_ends(
    a: tuple[str, ...], b: tuple[str, ...], divergence: int | None
) -> None:
    found = compare(text(*a), text(*b))
    assert found.first_divergence == divergence
    assert found.aligned == min(len(a), len(b))
    assert compare(text(*b), text(*a)).first_divergence == divergence


def test_that_deltas_are_b_minus_a_where_both_have_a_token() -> None:
    a, b = text("x", "y", "z", exits=(DEPTH, 20, 11)), text("x", "y", exits=(DEPTH, 24))
    found = compare(a, b)
    assert found.exit_delta.tolist() == [0, 4]
    assert found.first_other_exit == 1
    assert found.exit_layers[1].tolist() == [DEPTH, 24, 0]
    assert np.isnan(found.seconds[1][2])


def test_that_other_models_tokens_are_compared_by_text() -> None:
    opening = started()
    other = dataclasses.replace(opening, model=dataclasses.replace(opening.model, fingerprint="other", name="big"))
    a = trace_of(opening, dataclasses.replace(emitted(0, "x"), token_id=1))
    b = trace_of(other, dataclasses.replace(emitted(0, "x"), token_id=2))
    assert compare(a, b).first_divergence is None
    assert compare(a, trace_of(opening, *b.events[1:])).first_divergence == 0


def test_that_every_setting_that_differs_is_named_and_no_other() -> None:
    found = compare(text("x"), text("x", opening=started(Policy.CALM, threshold=0.7, radius=1)))
    assert {one.name: (one.a, one.b) for one in found.settings} == {
        "policy": (Policy.SPECEE_T1T2, Policy.CALM),
        "threshold": (0.5, 0.7),
        "scheduler.radius": (2, 1),
    }


def test_that_the_margins_at_the_divergence_are_those_of_the_chosen_tokens() -> None:
    a = trace_of(started(), emitted(0, "x"), verified(1, 19, "y", 0, margin=0.125), emitted(1, "y", 20))
    b = trace_of(started(), emitted(0, "x"), audited(1, (DEPTH, "z")), emitted(1, "z"))
    found = compare(a, b)
    assert found.margins == (0.125, 0.25)
    assert where_they_part(found, a, b) == (
        "They part at <b>token 2</b>: <b>‘y’</b> in A, <b>‘z’</b> in B (<b>0.12</b> and <b>0.25</b> ahead of the next "
        f"best). The first other exit is that of <b>token 2</b>: after layer <b>20</b> in A, <b>{DEPTH}</b> in B."
    )


def test_that_the_words_say_where_one_run_ends() -> None:
    a, b = text("x", "y"), text("x")
    assert where_they_part(compare(a, b), a, b).startswith("The runs emit the same <b>1</b> tokens; then B ends.")


def test_that_figures_are_those_of_the_summaries(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    found = figures_of(trace)
    assert found.mean_exit_layer == summaries.mean_exit_layer(trace)
    assert found.agreement == summaries.agreement(trace)
    assert found.early == np.mean([r.emitted.exit_layer < trace.depth for r in trace.emitted[1:]])
    assert found.refusals == np.mean([refusals(r) for r in trace.emitted[1:]])
    assert found.acceptance_length == 1
    assert figures_of(text("x")).early is None


def test_that_a_trees_figures_count_its_passes_once() -> None:
    found = figures_of(tree_trace(TreePlan(refused=(14, 16)), TreePlan(accepted=())))
    assert found.acceptance_length == (4 + 1) / 2
    assert found.refusals == 2 / 5


def test_that_the_json_form_says_the_same_counted_from_one(recorder: Recorder) -> None:
    a, b = recorder.run(audit_settings()), recorder.run(audit_settings(threshold=1.0))
    found = compare(a, b)
    written = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert written["first_divergence"] == found.first_divergence + 1
    assert written["aligned_tokens"] == len([row for row in written["tokens"] if None not in row["exit_layers"]])
    assert [row["exit_layers"][0] for row in written["tokens"]] == a.exit_layers.tolist()
    assert [row["same"] for row in written["tokens"]] == found.same.tolist()
    assert written["settings"] == [{"name": "threshold", "a": 0.3, "b": 1.0}]
