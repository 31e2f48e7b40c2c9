from __future__ import annotations

import re

import pytest

from core.analysis.why import why, why_plain
from core.analysis.wording import compared, listed
from core.choices import Policy
from core.trace.events import Event, StageTimes
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
    token_id,
    trace_of,
    verified,
)

OFFLINE = (14, 19, 22)
RING = ((1, 20), (2, 23))


def a_run(*more: Event | list[Event], policy: Policy = Policy.SPECEE_T1T2) -> Trace:
    """Three emitted tokens, then `more` about token 3."""
    opening = [emitted(0, "The"), emitted(1, " sky", 21), emitted(2, " is", 24)]
    return trace_of(started(policy), prefilled(), opening, draft(3), schedule(3, OFFLINE, RING), *more)


def an_early_exit() -> Trace:
    """Token 3 leaves after layer 23 (index 22): layer 15 below, layer 20 refused, layer 23 verified."""
    return a_run(
        layers_up_to(3, 20, {14: 0.2, 19: 0.8}),
        verified(3, 19, " a", -1, 0.02),
        [layer_run(3, 20, 0.1), layer_run(3, 21, 0.3), layer_run(3, 22, 0.71)],
        verified(3, 22, " blue", 1),
        emitted(3, " blue", 23, times=StageTimes(0.002, 0.02, 0.003, 0.004, total=0.0295)),
    )


def to_the_end(scores: dict[int, float], text: str = " grey") -> Trace:
    return a_run(
        layers_up_to(3, DEPTH, scores),
        [verified(3, layer, " a", -1) for layer, score in scores.items() if score > 0.5],
        emitted(3, text),
    )


def in_flight() -> Trace:
    return a_run(layers_up_to(3, 16, {14: 0.2}))


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (22, "Layer 23: score 0.71 > 0.50, full vocabulary says ‘ blue’, which is candidate 2 of 4 → exit, 7 layers"),
        (22, "It leads the next best token by 0.41 in probability."),
        (22, "it is one of the 3 offline layers and because token 2 left at layer 21 and token"),
        (19, "score 0.80 > 0.50, full vocabulary says ‘ a’, which is none of the candidates"),
        (19, "(‘ red’, ‘ blue’, ‘ so’, ‘ the’) → refused; the pass goes on."),
        (14, "Layer 15: score 0.20 ≤ 0.50, so no exit is proposed and the full vocabulary is not asked"),
        (14, "Its predictor is active because it is one of the 3 offline layers."),
        (21, "because token 2 left at layer 21 and token 3 left at layer 24, within ±2 of it."),
        (5, "Layer 6 ran without its predictor: it is none of the 3 offline layers, and no past exit in the ring lies"),
        (5, "within ±2 of it (the nearest: token 2 left at layer 21)."),
        (23, "Layer 24 never ran: Token 4 ‘ blue’ left after layer 23, 7 layers before the end."),
        (29, "Layer 30 never ran: Token 4 ‘ blue’ left after layer 23"),
    ],
)
def test_that_each_layer_of_an_early_exit_is_explained(layer: int, said: str) -> None:
    assert said in why_plain(an_early_exit(), 3, layer)


@pytest.mark.parametrize(
    "said",
    [
        "Token 4 ‘ blue’ left after layer 23 of 30: 7 layers saved.",
        "9 of 29 predictors are active: 3 offline and 6 more within ±2 of the last 2 exits.",
        "5 predictors were asked; 2 exits proposed, 1 refused.",
        "The drafter had it as candidate 2 of 4, with probability 0.30.",
        "It took 29.5 ms: drafter 2.0, layers 20.0, predictors 3.0, full-vocabulary checks 4.0.",
    ],
)
def test_that_a_pass_with_an_early_exit_is_summed_up(said: str) -> None:
    assert said in why_plain(an_early_exit(), 3, None)


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ({14: 0.2, 22: 0.44}, "no predictor proposed an exit (the highest score was 0.44 ≤ 0.50, at layer 23)"),
        ({14: 0.2, 22: 0.94}, "every exit that a predictor proposed was refused by the full vocabulary"),
        ({}, "no predictor was asked"),
    ],
)
def test_that_a_full_depth_pass_says_why_nothing_ended_it_earlier(scores: dict[int, float], said: str) -> None:
    trace = to_the_end(scores)
    assert f"Token 4 ‘ grey’ ran all 30 layers: {said}." in why_plain(trace, 3, None)
    assert f"got this far because {said}." in why_plain(trace, 3, DEPTH - 1)


def test_that_a_token_outside_the_candidates_is_laid_at_the_drafters_door() -> None:
    said = why_plain(to_the_end({14: 0.2}), 3, None)
    assert "none of the drafter’s 4 candidates (‘ red’, ‘ blue’, ‘ so’, ‘ the’), so no early exit could" in said


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (None, "Token 4 is in flight: 16 of 30 layers have run."),
        (None, "1 predictor was asked so far; none proposed an exit."),
        (22, "Layer 23 has not run yet: 16 of 30 layers are done for Token 4."),
        (22, "Its predictor will be asked if the pass gets there."),
        (16, "Its predictor will not be asked: it is none of the 3 offline layers"),
        (29, "It is the last: it needs no predictor and always ends the pass."),
        (14, "score 0.20 ≤ 0.50"),
    ],
)
def test_that_a_token_in_flight_is_told_from_a_finished_one(layer: int | None, said: str) -> None:
    assert said in why_plain(in_flight(), 3, layer)


def test_that_a_check_under_way_is_not_reported_as_an_answer() -> None:
    trace = a_run(layers_up_to(3, 23, {22: 0.9}))
    assert "so an exit is proposed; the full vocabulary has not answered yet." in why_plain(trace, 3, 22)


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (None, "Token 4 was not finished: the run ended after 16 of 30 layers."),
        (20, "Layer 21 never ran: the run ended after 16 layers of Token 4."),
    ],
)
def test_that_a_stopped_token_is_not_said_to_be_in_flight(layer: int | None, said: str) -> None:
    trace = in_flight()
    trace.append(ended())
    assert said in why_plain(trace, 3, layer)


@pytest.mark.parametrize("layer", [None, 0, DEPTH - 1])
def test_that_the_first_token_is_prefills_and_never_an_exit(layer: int | None) -> None:
    said = why_plain(an_early_exit(), 0, layer)
    assert "Token 1 ‘The’ comes from the prompt’s own pass (prefill), which always runs all 30 layers" in said
    assert "→" not in said


def test_that_prefill_under_way_promises_nothing_but_full_depth() -> None:
    trace = trace_of(started(), layers_up_to(0, 3))
    assert "will come from the prompt’s own pass (prefill)" in why_plain(trace, 0, None)


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (None, "Token 2 ‘ sky’ ran all 30 layers. The dense policy asks no predictor."),
        (11, "Layer 12 ran for Token 2 ‘ sky’: the dense policy asks no predictor and always runs to full depth."),
    ],
)
def test_that_the_dense_policy_is_not_blamed_on_predictors(layer: int | None, said: str) -> None:
    trace = trace_of(started(Policy.DENSE), emitted(0, "The"), layers_up_to(1, DEPTH), emitted(1, " sky"))
    assert said in why_plain(trace, 1, layer)


def test_that_t1_speaks_of_every_layer_and_of_no_ring() -> None:
    trace = trace_of(
        started(Policy.SPECEE_T1),
        emitted(0, "The"),
        draft(1),
        schedule(1, every=True),
        layers_up_to(1, 10, dict.fromkeys(range(9), 0.1) | {9: 0.7}),
        verified(1, 9, " blue", 1),
        emitted(1, " blue", 10),
    )
    assert "T1 watches every layer but the last: 29 predictors." in why_plain(trace, 1, None)
    said = why_plain(trace, 1, 9)
    assert "Its predictor is active because T1 watches every layer but the last." in said
    assert "ring" not in said
    assert "offline" not in said


def test_that_an_empty_ring_and_no_offline_layers_are_said_in_words() -> None:
    trace = trace_of(started(), emitted(0, "The"), draft(1), schedule(1), layers_up_to(1, DEPTH), emitted(1, " x"))
    assert "no layer is offline, and no past exit has entered the ring yet." in why_plain(trace, 1, 4)
    assert "0 of 29 predictors are active: 0 offline; no past exit has entered the ring yet." in why_plain(
        trace, 1, None
    )


def test_that_many_past_exits_are_counted_rather_than_all_named() -> None:
    ring = [(t, 20) for t in range(1, 6)]
    trace = trace_of(started(), emitted(0, "The"), [emitted(t, "x", 21) for t in range(1, 6)], schedule(6, (), ring))
    trace.append(layer_run(6, 20, 0.1))
    assert "and 2 more exits, within ±2 of it" in why_plain(trace, 6, 20)


@pytest.mark.parametrize("text", ["<script>&", " </b><img src=x>", '"quoted"'])
def test_that_token_texts_cannot_become_markup(text: str) -> None:
    trace = a_run(layers_up_to(3, 23, {22: 0.9}), verified(3, 22, text, -1))
    for event in (*(layer_run(3, layer) for layer in range(23, DEPTH)), emitted(3, text)):
        trace.append(event)
    for layer in (None, 22, 29):
        assert set(re.findall(r"<[^>]*>", why(trace, 3, layer))) <= {"<b>", "</b>"}
        assert text in why_plain(trace, 3, layer)


@pytest.mark.parametrize(("raw", "shown"), [(b"\n", "‘⏎’"), (b"\xe2", "‘<E2>’"), (b"  ", "‘  ’"), (b"a  b", "‘a  b’")])
def test_that_invisible_tokens_are_spelled_out_and_spaces_kept(raw: bytes, shown: str) -> None:
    assert f"Token 1 {shown} comes" in why_plain(trace_of(started(), emitted(0, raw)), 0, None)


def test_that_a_very_long_token_leaves_the_sentence_readable() -> None:
    said = why_plain(trace_of(started(), emitted(0, "x" * 500 + "end")), 0, None)
    assert "…" in said
    assert "xend’" in said
    assert len(said) < 300


def test_that_nothing_selected_says_nothing() -> None:
    assert why(an_early_exit(), None, None) == ""
    assert why(Trace(), 0, 0) == ""


def test_that_a_token_beyond_the_run_is_not_made_up() -> None:
    trace = an_early_exit()
    assert why_plain(trace, 9, 3) == "Token 10 has not been generated yet."
    trace.append(ended())
    assert why_plain(trace, 9, None) == "Token 10 has not been generated."


def test_that_a_layer_without_a_schedule_gets_no_invented_reason() -> None:
    trace = trace_of(started(), emitted(0, "The"), layers_up_to(1, 5, {3: 0.2}))
    assert why_plain(trace, 1, 2) == "Layer 3 ran without its predictor."
    assert "active" not in why_plain(trace, 1, 3)


@pytest.mark.parametrize(
    ("score", "threshold", "words"),
    [
        (0.71, 0.5, "0.71 > 0.50"),
        (0.5, 0.5, "0.50 ≤ 0.50"),
        (0.5004, 0.5, "0.5004 > 0.5000"),
        (0.9999999, 1.0, "1.000000 ≤ 1.000000"),
    ],
)
def test_that_rounding_never_makes_a_comparison_look_false(score: float, threshold: float, words: str) -> None:
    plain = re.sub("<[^>]*>", "", compared(score, threshold)).replace("&gt;", ">")
    assert plain == words


@pytest.mark.parametrize(
    ("items", "words"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (list("abc"), "a, b and c")]
)
def test_that_lists_read_as_english(items: list[str], words: str) -> None:
    assert listed(items) == words


def test_that_same_texts_share_an_id_in_these_tests() -> None:
    assert token_id(" blue") == token_id(b" blue") != token_id("blue")
