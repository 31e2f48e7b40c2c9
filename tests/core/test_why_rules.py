"""What is said of policies without predictors, and of a token's time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.analysis.why import why_plain
from core.analysis.wording import took
from core.choices import Policy
from core.config import RunSettings
from core.trace.events import ExitReason, LayerRun, StageTimes
from core.trace.trace import Trace
from tests.core.handmade import DEPTH, draft, emitted, layer_run, layers_up_to, schedule, started, trace_of

EARLY = 10


def judged(layer: int, score: float, leaves: bool) -> LayerRun:
    """As CALM and AdaInfer tell it: the features are the gap and p₁."""
    return LayerRun(0, 1, layer, np.array([0.03, 0.31], np.float32), score, leaves)


def a_run(policy: Policy, *, early: bool, **settings: object) -> Trace:
    opening = started(policy if policy is not Policy.CUSTOM else Policy.DENSE)
    asked = RunSettings(policy=policy, **settings)  # type: ignore[arg-type]  # the tests' own keywords
    looks = policy not in (Policy.DENSE, Policy.FIXED, Policy.ORACLE)
    left = EARLY if early else DEPTH
    layers = [judged(at, 0.4, False) if looks else layer_run(1, at) for at in range(left)]
    if early:
        layers[-1] = judged(left - 1, 0.8, True)
    elif looks:
        layers[-1] = layer_run(1, DEPTH - 1)
    end = emitted(1, " blue", left, ExitReason.RULE if early else ExitReason.LAST_LAYER)
    return trace_of(replace(opening, settings=asked), emitted(0, "The"), list(layers), end)


OWN = {"custom": "mine.py:Mine"}


@pytest.mark.parametrize(
    ("policy", "settings", "said"),
    [
        (Policy.CALM, {}, "20 layers saved. There the likeliest token’s probability was 0.80 > 0.50."),
        (Policy.FIXED, {"fixed_layer": EARLY}, "The fixed policy always leaves there."),
        (Policy.ORACLE, {}, "It is the earliest layer from which every layer says this token"),
        (Policy.ADAINFER_SVM, {}, "There AdaInfer’s support vector machine called the token final (score 0.80)."),
        (Policy.ADAINFER_CRF, {}, "There AdaInfer’s random field called the token final (score 0.80)."),
        (Policy.CUSTOM, OWN, "There your own policy Mine proposed the exit (score 0.80)."),
    ],
)
def test_that_a_rule_that_left_early_says_what_made_it(policy: Policy, settings: dict[str, object], said: str) -> None:
    assert said in why_plain(a_run(policy, early=True, **settings), 1, None)


@pytest.mark.parametrize(
    ("policy", "settings", "said"),
    [
        (Policy.DENSE, {}, "ran all 30 layers. The dense policy asks no predictor."),
        (Policy.CALM, {}, "passed the threshold (the highest probability was 0.40 ≤ 0.50, at layer 1)."),
        (Policy.FIXED, {"fixed_layer": DEPTH}, "The fixed policy always runs 30 layers."),
        (Policy.ORACLE, {}, "The oracle found no earlier layer to leave at."),
        (Policy.ADAINFER_SVM, {}, "called no layer’s token final (the highest score was 0.40, at layer 1)."),
        (Policy.CUSTOM, OWN, "Your own policy Mine proposed no exit (the highest score was 0.40, at layer 1)."),
    ],
)
def test_that_a_rule_that_ran_to_the_end_says_why(policy: Policy, settings: dict[str, object], said: str) -> None:
    trace = a_run(policy, early=False, **settings)
    assert said in why_plain(trace, 1, None)
    assert "is the last and always ends the pass." in why_plain(trace, 1, DEPTH - 1)


@pytest.mark.parametrize(
    ("policy", "settings", "stays", "leaves"),
    [
        (Policy.CALM, {}, "probability is 0.40 ≤ 0.50 → the pass goes on.", "probability is 0.80 > 0.50 → exit."),
        (Policy.FIXED, {"fixed_layer": EARLY}, "does not leave here.", "the fixed policy always leaves here → exit."),
        (Policy.ORACLE, {}, "the oracle policy does not leave here.", "every layer says this token → exit."),
        (
            Policy.ADAINFER_SVM,
            {},
            "does not call the token final (score 0.40, from p₁ 0.31 and a gap of 0.03) → the pass goes on.",
            "calls the token final (score 0.80, from p₁ 0.31 and a gap of 0.03) → exit.",
        ),
        (Policy.CUSTOM, OWN, "Mine proposes none (score 0.40) → the pass goes on.", "proposes an exit (score 0.80)"),
    ],
)
def test_that_each_layer_of_a_rule_is_explained(
    policy: Policy, settings: dict[str, object], stays: str, leaves: str
) -> None:
    trace = a_run(policy, early=True, **settings)
    assert stays in why_plain(trace, 1, 3)
    assert leaves in why_plain(trace, 1, EARLY - 1)


def test_that_a_layer_that_ones_own_policy_skipped_is_said_to_be_so() -> None:
    opening = replace(started(), settings=RunSettings(policy=Policy.CUSTOM, custom="mine.py:Mine"))
    trace = trace_of(opening, emitted(0, "The"), layers_up_to(1, DEPTH), emitted(1, " blue"))
    assert "your own policy Mine did not look at it." in why_plain(trace, 1, 3)


def test_that_ones_own_policy_with_a_draft_is_explained_by_its_predictors_and_not_by_t2() -> None:
    opening = replace(started(), settings=RunSettings(policy=Policy.CUSTOM, custom="mine.py:Mine"))
    layers = [*layers_up_to(1, 9, {4: 0.2}), layer_run(1, 9, 0.9)]
    end = emitted(1, " blue", 10, ExitReason.RULE)
    trace = trace_of(opening, emitted(0, "The"), [draft(1), schedule(1, [4, 9]), *layers, end])
    assert "2 predictors were asked" in why_plain(trace, 1, None)
    assert "offline" not in why_plain(trace, 1, None) + why_plain(trace, 1, 4) + why_plain(trace, 1, 5)
    assert "with a token of the policy’s own choice → exit." in why_plain(trace, 1, 9)


def test_that_every_stage_of_a_tokens_time_is_named_and_none_without_time() -> None:
    times = StageTimes(0.002, 0.02, 0.003, 0.004, recompute=0.0015, recording=0.00001, total=0.031)
    words = took(times).replace("<b>", "").replace("</b>", "")
    assert words == (
        "It took 31.0 ms: drafter 2.0, layers 20.0, skipped K/V caught up 1.5, predictors 3.0, "
        "full-vocabulary checks 4.0, recording &lt;\N{NO-BREAK SPACE}0.1."
    )
    assert "drafter" not in took(StageTimes(layers=0.02, total=0.02))
    assert took(StageTimes()) == ""
