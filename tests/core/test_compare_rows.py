"""Two runs aligned by token: rows, the way from difference to difference, and one token as each run has it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from core.analysis.compare import compare
from core.analysis.compare_rows import Aligned, side
from core.analysis.summaries import Outcome, outcomes
from core.config import RunSettings
from core.trace.trace import Trace
from tests.core.handmade import DEPTH, draft, emitted, layers_up_to, schedule, started, trace_of, verified
from tests.fakes import fake_run_events
from tests.tree_passes import TreePlan, tree_trace


def text(*tokens: tuple[str, int]) -> Trace:
    return trace_of(started(), *[emitted(at, word, layers) for at, (word, layers) in enumerate(tokens)])


A = text(("x", DEPTH), ("y", 20), ("z", 11), ("u", 9))
B = text(("x", DEPTH), ("y", 24), ("z", 11), ("v", 9), ("w", 8))


def test_that_rows_say_what_the_comparison_says() -> None:
    a, b = Trace.of(fake_run_events(12)), Trace.of(fake_run_events(9, run=1, settings=RunSettings(threshold=0.9)))
    rows, found = Aligned(a, b), compare(a, b)
    assert len(rows) == 12
    assert rows.counts == (12, 9)
    for token in range(len(rows)):
        row = rows.row(token)
        assert row.same == found.same[token]
        for side_at, (trace, cell) in enumerate(zip((a, b), row.cells, strict=True)):
            if token >= trace.emitted_count:
                assert cell is None
                continue
            assert cell is not None
            assert cell.exit_layer == found.exit_layers[side_at][token]
            assert cell.outcome == Outcome(int(outcomes(trace)[token]))
    assert [rows.row(token).layers_delta for token in range(9)] == found.exit_delta.tolist()
    assert rows.row(10).layers_delta is None


def test_that_the_runs_part_in_one_row_only() -> None:
    rows = Aligned(A, B)
    assert [rows.row(token).first for token in range(len(rows))] == [False, False, False, True, False]


def test_that_every_difference_is_met_once_forwards_and_the_same_ones_backwards() -> None:
    rows = Aligned(A, B)
    met, at = [], rows.next_difference(None)
    while at is not None:
        met.append(at)
        at = rows.next_difference(at)
    assert met == [1, 3, 4] == np.flatnonzero(rows.differs).tolist()
    assert rows.next_difference(None, forward=False) == 4
    assert [rows.next_difference(later, forward=False) for earlier, later in pairwise(met)] == met[:-1]
    assert rows.next_difference(1, forward=False) is None


def test_that_saved_layers_are_those_of_tokens_that_both_have() -> None:
    rows = Aligned(A, B)
    assert rows.layers_saved == -4
    assert rows.share_saved == pytest.approx(-4 / (DEPTH + 20 + 11 + 9))
    assert Aligned(B, A).layers_saved == 4
    assert rows.same_texts == 3
    assert Aligned(text(), B).share_saved is None


def test_that_a_time_that_nobody_measured_has_no_difference() -> None:
    assert Aligned(A, B).row(1).seconds_delta is None
    timed = Trace.of(fake_run_events(3))
    assert Aligned(timed, timed).row(1).seconds_delta == 0


def test_that_one_token_of_one_run_tells_its_candidates_and_scores() -> None:
    scores = {20: 0.25, 22: 0.75, 24: 0.75}
    begun = started(threshold=0.5)
    trace = trace_of(
        replace(begun, settings=replace(begun.settings, layer_thresholds=((22, 0.8),))),
        emitted(0, "x"),
        *[draft(1), schedule(1, [20, 22, 24]), *layers_up_to(1, 25, scores)],
        *[verified(1, 24, " blue", 1), emitted(1, " blue", 25)],
    )
    found = side(trace, 1)
    assert found is not None
    assert (found.text, found.exit_layer, found.depth) == ("·blue", 25, DEPTH)
    assert found.scores == ((20, 0.25, False), (22, 0.75, False), (24, 0.75, True)), "each layer by its own threshold"
    assert [one.text for one in found.candidates if one.emitted] == ["·blue"]
    assert found.candidates[0].local == pytest.approx(0.4 + 24), "as the last layer that was asked has it"
    first = side(trace, 0)
    assert first is not None
    assert (first.candidates, first.scores) == ((), ())
    assert side(trace, 2) is None


def test_that_a_token_of_a_trees_pass_tells_the_candidates_it_was_one_of() -> None:
    trace = tree_trace(TreePlan(refused=(14, 16)))
    found = side(trace, 2)
    assert found is not None
    assert len(found.candidates) == 4
    assert found.exit_layer == trace.exit_layers[2]


def test_that_a_token_in_flight_tells_the_layers_so_far() -> None:
    trace = trace_of(started(), emitted(0, "x"), draft(1), layers_up_to(1, 7))
    found = side(trace, 1)
    assert found is not None
    assert (found.text, found.exit_layer, found.given) == ("", 7, False)
