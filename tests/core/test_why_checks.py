"""What the words say of a check: by the shortlist, behind the gate, through the lens, with layers' own thresholds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.analysis.why import why_plain
from core.choices import Head, Lens, Policy
from core.trace.events import Event, Verified
from core.trace.trace import Trace
from tests.core.handmade import DEPTH, audited, draft, emitted, layer_run, layers_up_to, prefilled, started, trace_of
from tests.core.handmade import verified as check


def a_run(*more: Event | list[Event], policy: Policy = Policy.SPECEE_T1, **settings: Any) -> Trace:
    """One token from prefill, then `more` about token 1."""
    start = started(policy)
    return trace_of(
        replace(start, settings=replace(start.settings, **settings)), prefilled(), emitted(0, "The"), draft(1), *more
    )


def gated(layer: int, text: str, margin: float) -> Verified:
    return replace(check(1, layer, text, 0, margin), gated=True)


def to_the_end(*checks: Verified, **settings: Any) -> Trace:
    layers = layers_up_to(1, DEPTH, {one.layer: 0.9 for one in checks})
    return a_run(layers, list(checks), emitted(1, " red"), **settings)


def test_that_a_gate_s_refusal_names_the_lead_and_the_gate() -> None:
    said = why_plain(to_the_end(gated(19, " red", 0.05), gate=0.2), 1, 19)
    assert (
        "full vocabulary says ‘ red’, which is candidate 1 of 4, but it leads the next best token by only 0.05, less "
        "than the gate’s 0.20 → refused; the pass goes on."
    ) in said


def test_that_a_lead_next_to_the_gate_is_told_apart_from_it() -> None:
    said = why_plain(to_the_end(gated(19, " red", 0.1996), gate=0.2), 1, 19)
    assert "by only 0.1996, less than the gate’s 0.2000" in said


@pytest.mark.parametrize(
    ("checks", "settings", "by"),
    [
        ([gated(19, " red", 0.05)], {"gate": 0.2}, "was refused by the margin gate"),
        ([check(1, 19, " a", -1)], {}, "was refused by the full vocabulary"),
        ([check(1, 19, " a", -1)], {"check": Head.SLIM}, "was refused by the shortlist"),
        ([check(1, 19, " a", -1), gated(20, " red", 0.05)], {"gate": 0.2}, "was refused."),
    ],
)
def test_that_a_pass_to_the_end_names_what_refused_its_exits(
    checks: list[Verified], settings: dict[str, Any], by: str
) -> None:
    for layer in (None, DEPTH - 1):
        assert f"every exit that a predictor proposed {by}" in why_plain(to_the_end(*checks, **settings), 1, layer)


def a_shortlisted_exit(*more: Event) -> Trace:
    layers = layers_up_to(1, 22, {19: 0.2, 21: 0.9})
    return a_run(layers, check(1, 21, " blue", 1), *more, emitted(1, " blue", 22), check=Head.SLIM)


def test_that_a_shortlist_is_named_instead_of_the_full_vocabulary() -> None:
    said = why_plain(a_shortlisted_exit(), 1, 21)
    assert "the shortlist says ‘ blue’, which is candidate 2 of 4 → exit" in said
    assert "Among the shortlist it leads the next best token by 0.41 in probability." in said
    assert "so no exit is proposed and the shortlist is not asked" in why_plain(a_shortlisted_exit(), 1, 19)


def test_that_what_the_shortlist_lacked_is_told_where_an_audit_knows() -> None:
    lacked = "Over the whole vocabulary this layer says ‘ so’: the shortlist lacked it."
    assert lacked in why_plain(a_shortlisted_exit(audited(1, (22, " so"), (DEPTH, " blue"))), 1, 21)
    assert "lacked" not in why_plain(a_shortlisted_exit(audited(1, (DEPTH, " blue"))), 1, 21)
    assert "lacked" not in why_plain(a_shortlisted_exit(), 1, 21)


def test_that_a_score_through_the_lens_says_so() -> None:
    trace = a_run(layers_up_to(1, 22, {19: 0.2}), lens=Lens.TUNED)
    assert "Layer 20, seen through its lens: score 0.20 ≤ 0.50" in why_plain(trace, 1, 19)


def test_that_a_layer_s_own_threshold_is_the_one_compared_with() -> None:
    own = {"layer_thresholds": ((19, 0.9),)}
    layers = [*layers_up_to(1, 19), layer_run(1, 19, 0.8, proposed=False), layer_run(1, 20, 0.45)]
    trace = a_run(layers, [layer_run(1, layer) for layer in range(21, DEPTH)], emitted(1, " red"), **own)
    assert "Layer 20: score 0.80 ≤ 0.90, so no exit" in why_plain(trace, 1, 19)
    assert "Layer 21: score 0.45 ≤ 0.50" in why_plain(trace, 1, 20)
    assert "the highest score was 0.45 ≤ 0.50, at layer 21" in why_plain(trace, 1, None)


def test_that_calm_compares_with_a_layer_s_own_threshold() -> None:
    layers = [layer_run(1, layer, 0.6, proposed=False) for layer in range(DEPTH - 1)]
    trace = a_run(
        layers,
        layer_run(1, DEPTH - 1),
        emitted(1, " red"),
        policy=Policy.CALM,
        threshold=0.9,
        layer_thresholds=((4, 0.7),),
    )
    assert "probability is 0.60 ≤ 0.70" in why_plain(trace, 1, 4)
    assert "the highest probability was 0.60 ≤ 0.70, at layer 5" in why_plain(trace, 1, None)
