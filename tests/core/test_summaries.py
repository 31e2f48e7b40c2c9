from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analysis import summaries
from core.analysis.summaries import RUNNING_MEAN, Outcome
from core.analysis.texts import quoted, visible
from core.trace.events import StageTimes
from core.trace.overview import CellState, cell_states
from core.trace.trace import Trace
from tests.core.handmade import (
    CANDIDATES,
    DEPTH,
    audited,
    draft,
    emitted,
    layers_up_to,
    schedule,
    started,
    token_id,
    trace_of,
    verified,
)


def four_outcomes() -> Trace:
    """Prefill, an early exit after a refusal, full depth without a proposal, full depth refused, and one in flight."""
    return trace_of(
        started(),
        emitted(0, "The"),
        [draft(1), schedule(1, [9, 19]), *layers_up_to(1, 20, {9: 0.7, 19: 0.9})],
        [verified(1, 9, " a", -1), verified(1, 19, " blue", 1), emitted(1, " blue", 20, times=StageTimes(total=0.02))],
        [draft(2), schedule(2, [9], [(1, 19)]), *layers_up_to(2, DEPTH, {9: 0.2})],
        emitted(2, " sky", times=StageTimes(total=0.03)),
        [draft(3), schedule(3, [9], [(1, 19)]), *layers_up_to(3, DEPTH, {20: 0.8})],
        [verified(3, 20, " a", -1), emitted(3, " is", times=StageTimes(total=0.05))],
        [draft(4), schedule(4, [9]), *layers_up_to(4, 3)],
    )


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b" blue", "·blue"),
        (b"\n\t\r", "⏎⇥<0D>"),
        (b"\x00\x1b\x7f", "<00><1B><7F>"),
        (b"\xe2", "<E2>"),
        (b"a\xf0\x9f", "a<F0><9F>"),
        ("하늘😀".encode(), "하늘😀"),
        ("\u00a0\u00ad\u200b\u3000".encode(), "⍽\\u00ad\\u200b\\u3000"),
        ("\u202e".encode(), "\\u202e"),
        ("\U000e0067".encode(), "\\U000e0067"),
        ("👩\u200d🔬".encode(), "👩\u200d🔬"),
        ("\u200d".encode(), "\\u200d"),
        ("👩\u200d".encode(), "👩\\u200d"),
        ("\u0301".encode(), "◌\u0301"),
        ("e\u0301".encode(), "e\u0301"),
        ("\u3164\u2800".encode(), "\\u3164\\u2800"),
        (b"", "∅"),
    ],
)
def test_that_nothing_in_a_token_stays_invisible(raw: bytes, shown: str) -> None:
    assert visible(raw) == shown


@given(st.binary(max_size=12))
def test_that_any_bytes_have_a_form_that_can_be_encoded_and_seen(raw: bytes) -> None:
    shown = visible(raw)
    assert shown.encode().strip()
    assert " " not in shown


@pytest.mark.parametrize(
    ("raw", "shown"), [(b"<|im_end|>", "<|im_end|>"), (b"<a b>", "<a b>"), (b" ", "·"), (b"", "∅")]
)
def test_that_control_tokens_are_shown_as_written_unless_that_is_nothing(raw: bytes, shown: str) -> None:
    assert visible(raw, special=True) == shown


def test_that_quotation_marks_keep_spaces_as_spaces() -> None:
    assert quoted(b" blue\n") == "‘ blue⏎’"


def test_that_each_way_to_end_has_its_outcome() -> None:
    chips = summaries.token_chips(four_outcomes())
    assert [Outcome(o) for o in chips.outcomes] == [
        Outcome.PREFILL,
        Outcome.EARLY_EXIT,
        Outcome.FULL_DEPTH,
        Outcome.REFUSED,
    ]
    assert chips.refusals.tolist() == [0, 1, 0, 1]
    assert chips.exit_layers.tolist() == [DEPTH, 20, DEPTH, DEPTH]
    assert chips.texts == ("The", "·blue", "·sky", "·is")


def test_that_chips_from_a_token_on_are_the_tail_of_all_chips() -> None:
    trace = four_outcomes()
    tail, whole = summaries.token_chips(trace, 2), summaries.token_chips(trace)
    assert tail.first == 2
    assert tail.texts == whole.texts[2:]
    assert summaries.token_chips(trace, 4).texts == ()


def test_that_the_running_mean_leaves_prefill_out() -> None:
    layers = np.array([30, *range(1, 13)])
    means = summaries.running_mean(layers)
    assert math.isnan(means[0])
    for at in range(1, len(layers)):
        assert means[at] == pytest.approx(layers[max(1, at - RUNNING_MEAN + 1) : at + 1].mean())


@pytest.mark.parametrize("layers", [[], [30]])
def test_that_a_run_of_prefill_alone_has_no_mean(layers: list[int]) -> None:
    assert np.isnan(summaries.running_mean(np.array(layers, np.int64))).all()


def test_that_means_and_speed_count_the_tokens_after_the_first() -> None:
    trace = four_outcomes()
    assert summaries.mean_exit_layer(trace) == pytest.approx((20 + 30 + 30) / 3)
    assert summaries.tokens_per_second(trace) == pytest.approx(3 / 0.1)


def test_that_figures_without_data_are_none_rather_than_zero() -> None:
    trace = trace_of(started(), emitted(0, "The"))
    assert summaries.mean_exit_layer(trace) is None
    assert summaries.active_layers_mean(trace) is None
    assert summaries.tokens_per_second(trace) is None


def test_that_the_mean_active_set_counts_layers_of_every_schedule() -> None:
    assert summaries.active_layers_mean(four_outcomes()) == pytest.approx((2 + 6 + 6 + 1) / 4)


def test_that_the_scheduler_map_tells_offline_online_evaluated_refused_and_exited_apart() -> None:
    states = summaries.scheduler_map(four_outcomes()).states
    offline_refused = CellState.OFFLINE | CellState.EVALUATED | CellState.PROPOSED | CellState.REFUSED
    assert states.shape == (5, DEPTH)
    assert states[1, 9] == offline_refused
    assert states[1, 19] == CellState.OFFLINE | CellState.EVALUATED | CellState.PROPOSED | CellState.EXITED
    assert states[2, 9] == CellState.OFFLINE | CellState.EVALUATED
    assert states[2, 21] == CellState.ONLINE
    assert states[2, 29] == CellState.EXITED
    assert not states[4, 10:].any()


def test_that_the_map_of_a_run_not_started_is_empty() -> None:
    assert summaries.scheduler_map(Trace()).states.shape == (0, 0)


def test_that_online_sources_name_the_past_exits_within_the_radius() -> None:
    trace = trace_of(started(), schedule(5, [], [(1, 15), (2, 18), (3, 19), (4, 29)]))
    assert summaries.online_sources(trace.records[5], 17, 2) == [(1, 16), (2, 19), (3, 20)]
    assert summaries.online_sources(trace.records[0], 17, 2) == []


def test_that_curves_cover_the_evaluated_layers_and_know_the_emitted_candidate() -> None:
    curves = summaries.candidate_curves(four_outcomes(), 1)
    assert curves is not None
    assert curves.layers.tolist() == [9, 19]
    assert curves.probabilities == pytest.approx(np.array([[0.4, 0.5, 0.6, 0.7]]) + np.array([[9], [19]]))
    assert curves.scores == pytest.approx([0.7, 0.9])
    assert curves.candidate_texts == ("·red", "·blue", "·so", "·the")
    assert (curves.emitted_candidate, curves.exit_layer, curves.early) == (1, 20, True)


def test_that_curves_of_a_token_in_flight_claim_no_exit() -> None:
    curves = summaries.candidate_curves(four_outcomes(), 4)
    assert curves is not None
    assert curves.probabilities.shape == (0, len(CANDIDATES))
    assert (curves.emitted_candidate, curves.exit_layer, curves.early) == (-1, 0, False)


def test_that_a_token_that_nothing_was_drafted_for_has_no_curves() -> None:
    assert summaries.candidate_curves(four_outcomes(), 0) is None


def test_that_an_emitted_token_outside_the_candidates_matches_none_of_them() -> None:
    curves = summaries.candidate_curves(four_outcomes(), 2)
    assert curves is not None
    assert token_id(" sky") not in map(token_id, CANDIDATES)
    assert curves.emitted_candidate == -1


def test_that_an_audit_marks_a_wrong_exit_and_gives_curves_at_all_layers() -> None:
    trace = trace_of(
        started(),
        emitted(0, "The"),
        [draft(1), schedule(1, [9]), *layers_up_to(1, 10, {9: 0.7}), verified(1, 9, " red", 0)],
        [audited(1, (12, " red"), (DEPTH, " blue"), scores={3: 0.2, 9: 0.7}), emitted(1, " red", 10)],
    )
    assert summaries.outcome(trace.records[1]) is Outcome.WRONG_EXIT
    assert cell_states(trace.records[1])[9] & CellState.WRONG
    assert summaries.agreement(trace) == 0
    curves = summaries.candidate_curves(trace, 1)
    assert curves is not None
    assert curves.audit is not None
    assert curves.audit.local == pytest.approx(np.full((DEPTH, 4), 0.25))
    assert curves.audit.full.shape == (DEPTH, 4)
    assert curves.audit.scores[3] == pytest.approx(0.2)
