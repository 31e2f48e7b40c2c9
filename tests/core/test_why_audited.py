"""What is said of audited tokens."""

from __future__ import annotations

import pytest

from core.analysis.audit_words import wrong_exit
from core.analysis.why import why_plain
from core.choices import Policy
from core.trace.trace import Trace
from tests.core.handmade import (
    DEPTH,
    audited,
    draft,
    emitted,
    layer_run,
    layers_up_to,
    schedule,
    started,
    trace_of,
    verified,
)


def a_pass(*stretches: tuple[int, str], left: int = 23, text: str = " blue") -> Trace:
    """Token 1 leaves with `text` after `left` layers; layer 20 (index 19) was refused, layer 15 stayed below."""
    scores = {14: 0.2, 19: 0.8} | ({left - 1: 0.7} if left < DEPTH else {})
    checks = [verified(1, 19, " a", -1)] + ([verified(1, left - 1, text, 1)] if left < DEPTH else [])
    return trace_of(
        started(),
        emitted(0, "The"),
        [draft(1), schedule(1, (14, 19, 22)), *layers_up_to(1, left, scores), *checks],
        [audited(1, *stretches, scores=dict.fromkeys(range(DEPTH - 1), 0.71)), emitted(1, text, left)],
    )


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (
            a_pass((18, " a"), (DEPTH, " blue")),
            "Running on to layer 30 gives the same token: right exit. It stays from layer 19 on: 4 layers wasted.",
        ),
        (
            a_pass((22, " a"), (DEPTH, " blue")),
            "right exit. No earlier layer says this token and stays with it: nothing was wasted.",
        ),
        (
            a_pass((18, " a"), (24, " blue"), (25, " red"), (DEPTH, " blue")),
            "right exit. In between layers say otherwise; from layer 26 on it stays.",
        ),
        (
            a_pass((22, " a"), (26, " blue"), (DEPTH, " red")),
            "Running on to layer 30 gives ‘ red’ instead: wrong exit. From layer 27 on it stays ‘ red’: "
            "this pass left 4 layers too early.",
        ),
        (
            a_pass((18, " a"), (DEPTH, " red")),
            "wrong exit. From layer 19 on it stays ‘ red’, so the layer it left at says so too: what it left with is "
            "not that layer’s own token.",
        ),
        (
            a_pass((24, " a"), (DEPTH, " blue"), left=DEPTH),
            "It stays from layer 25 on: leaving there would have saved 5 layers.",
        ),
        (
            a_pass((29, " a"), (DEPTH, " blue"), left=DEPTH),
            "No earlier layer says this token and stays with it: there was nothing to gain.",
        ),
    ],
)
def test_that_an_audited_pass_is_judged_by_its_full_depth(trace: Trace, said: str) -> None:
    assert said in why_plain(trace, 1, None)


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (
            3,
            "Asked, its predictor would have scored 0.71 > 0.50. Its own token is ‘ a’, 0.25 ahead of the next best in",
        ),
        (3, "in probability; full depth gives ‘ red’."),
        (14, "the pass goes on. Its own token is ‘ a’"),
        (
            19,
            "refused; the pass goes on. It leads the next best token by 0.41 in probability. Full depth gives ‘ red’.",
        ),
        (22, "Running on to layer 30 gives ‘ red’ instead: wrong exit."),
        (25, "The audit ran it on the side. Its own token is ‘ blue’"),
        (27, "full depth gives the same."),
        (29, "The audit ran it on the side. Its own token is ‘ red’, 0.25 ahead of the next best in probability."),
    ],
)
def test_that_each_audited_layer_tells_its_own_token(layer: int, said: str) -> None:
    assert said in why_plain(a_pass((22, " a"), (26, " blue"), (DEPTH, " red")), 1, layer)


def test_that_a_layer_that_agrees_for_a_while_only_is_not_called_settled() -> None:
    trace = a_pass((18, " a"), (19, " blue"), (21, " a"), (DEPTH, " blue"))
    assert "full depth gives the same, but it stays only from layer 22 on." in why_plain(trace, 1, 18)


def test_that_the_hover_of_a_wrong_exit_names_both_tokens_and_a_right_one_has_none() -> None:
    wrong = a_pass((22, " a"), (26, " blue"), (DEPTH, " red"))
    assert wrong_exit(wrong.records[1]) == "left early with ‘ blue’; full depth gives ‘ red’"
    assert wrong_exit(a_pass((18, " a"), (DEPTH, " blue")).records[1]) == ""
    assert wrong_exit(wrong.records[0]) == ""


def test_that_rule_policies_are_audited_too() -> None:
    trace = trace_of(
        started(Policy.CALM),
        emitted(0, "The"),
        [layer_run(1, layer, 0.1) for layer in range(9)],
        [layer_run(1, 9, 0.9), audited(1, (9, " a"), (DEPTH, " blue")), emitted(1, " blue", 10)],
    )
    assert "right exit. No earlier layer" in why_plain(trace, 1, None)
    assert "→ exit. Running on to layer 30 gives the same token: right exit." in why_plain(trace, 1, 9)
    assert "Its own token is ‘ a’" in why_plain(trace, 1, 3)
