"""Guesses of exit layers: the score of any sequence, which tokens can be guessed, and what a veil tells."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analysis.guesses import COLUMNS, NEAR, Guess, answer, guess_rows, score, why_no_question
from core.analysis.summaries import token_chips
from core.choices import Policy
from core.config import RunSettings
from core.trace.trace import Trace
from core.trace.veiled import VeiledTrace
from tests.fakes import fake_run_events
from tests.tree_passes import TreePlan, tree_trace

DEPTH = 12


@st.composite
def guess(draw: st.DrawFn) -> Guess:
    layers = st.integers(1, DEPTH)
    return Guess(0, draw(st.integers(0, 99)), b"x", draw(layers), draw(layers), DEPTH)


@given(st.lists(guess(), max_size=12))
def test_that_the_score_is_what_counting_by_hand_gives(guesses: list[Guess]) -> None:
    found = score(guesses)
    off = [abs(one.guessed - one.exit_layer) for one in guesses]
    assert (found.count, found.exact, found.near) == (len(off), off.count(0), sum(d <= NEAR for d in off))
    assert found.mean_distance == pytest.approx(sum(off) / len(off)) if off else math.isnan(found.mean_distance)
    row = "".join("x" if d <= NEAR else " " for d in off)
    assert found.streak == len(row) - len(row.rstrip("x"))
    assert found.best == max(map(len, row.split(" ")))


@given(st.lists(guess(), max_size=6))
def test_that_each_guess_is_a_row_that_counts_from_one(guesses: list[Guess]) -> None:
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in guess_rows(guesses)]
    assert [(row["token"], row["guess"]) for row in rows] == [(one.token + 1, one.guessed) for one in guesses]
    assert all(row["distance"] == abs(int(row["guess"]) - int(row["exit_layer"])) for row in rows)


@pytest.mark.parametrize(("guessed", "left"), [(0, 1), (DEPTH + 1, 1), (1, 0), (1, DEPTH + 1)])
def test_that_layers_beyond_the_model_are_no_guess(guessed: int, left: int) -> None:
    with pytest.raises(ValueError, match="lie in"):
        Guess(0, 0, b"", guessed, left, DEPTH)


def test_that_only_tokens_with_a_pass_of_their_own_are_asked_about() -> None:
    trace = Trace.of(fake_run_events(6))
    assert "prompt’s own pass" in why_no_question(trace, 0)
    assert [why_no_question(trace, token) for token in (1, 5, 6)] == ["", "", ""]
    dense = Trace.of(fake_run_events(6, settings=RunSettings(Policy.DENSE)))
    assert "leaves no layer out" in why_no_question(dense, 1)
    tree = tree_trace(TreePlan(), TreePlan())
    passes = tree.overview.passes
    for token in range(1, tree.emitted_count):
        assert (why_no_question(tree, token) == "") == (passes[token] == token)


def test_that_an_answer_is_the_tokens_own_exit() -> None:
    trace = Trace.of(fake_run_events(6, run=3))
    for token in range(1, 6):
        found = answer(trace, token, 5)
        assert (found.run, found.exit_layer, found.difference) == (3, trace.exit_layers[token], 5 - found.exit_layer)


def test_that_a_veil_tells_what_a_run_of_its_first_tokens_would() -> None:
    trace = Trace.of(fake_run_events(9))
    veiled = VeiledTrace(trace, 3)
    for count in (3, 7, 99):
        veiled.lift(count)
        told = min(count, 9)
        assert len(veiled.records) == veiled.emitted_count == told
        assert veiled.records[-1].token == told - 1
        assert np.array_equal(veiled.exit_layers, trace.exit_layers[:told])
        assert np.array_equal(veiled.overview.states, trace.overview.states[:told])
        assert len(token_chips(veiled, 0).texts) == told
        with pytest.raises(IndexError):
            veiled.records[told]
    assert veiled.text_bytes == trace.text_bytes
