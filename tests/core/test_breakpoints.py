"""Breakpoints: what each condition is met by, and that searches, counts and a live run agree on it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from core.analysis import breakpoints
from core.analysis.breakpoints import (
    INTERESTING,
    SIMPLE,
    AnyOf,
    Breakpoint,
    condition_from_json,
    find,
)
from core.analysis.conditions import (
    AcceptanceAtMost,
    ActiveSetChanged,
    CandidatesMiss,
    Condition,
    ExitAtLeast,
    ExitAtMost,
    NearThreshold,
    Refused,
    WrongExit,
)
from core.analysis.text_conditions import LONGEST_TEXT, TextContains, TokenMatches
from core.errors import UserError
from core.trace.trace import Trace
from tests.core.handmade import (
    DEPTH,
    audited,
    draft,
    emitted,
    layers_up_to,
    schedule,
    started,
    trace_of,
    verified,
)
from tests.core.recordings import Recorder, audit_settings
from tests.hit_counts import hit_counts
from tests.tree_passes import TreePlan, tree_trace

EVERY: tuple[Condition, ...] = (
    ExitAtMost(4),
    ExitAtLeast(5),
    Refused(),
    WrongExit(),
    NearThreshold(0.05),
    ActiveSetChanged(),
    CandidatesMiss(),
    TextContains("e"),
    TokenMatches("[a-m]"),
    AcceptanceAtMost(2),
)


@pytest.fixture(scope="module")
def sky() -> Trace:
    """Tokens: prefill, an early right exit, a wrong exit after a refusal, full depth with the final token unguessed."""
    return trace_of(
        started(),
        emitted(0, " the"),
        *[draft(1), schedule(1, [14]), *layers_up_to(1, 15, {14: 0.9}), verified(1, 14, " blue", 1)],
        *[audited(1, (10, " so"), (DEPTH, " blue")), emitted(1, " blue", 15)],
        *[draft(2), schedule(2, [14, 20], [(1, 14)]), *layers_up_to(2, 21, {14: 0.7, 20: 0.502})],
        *[verified(2, 14, " it", -1), verified(2, 20, " so", 2)],
        *[audited(2, (DEPTH - 1, " so"), (DEPTH, " red")), emitted(2, " so", 21)],
        *[draft(3), schedule(3, [14, 20], [(1, 14)]), *layers_up_to(3, DEPTH, {14: 0.1, 20: 0.2})],
        *[audited(3, (DEPTH, " it")), emitted(3, " it")],
    )


def tokens_of(condition: Condition, trace: Trace) -> list[int]:
    return np.flatnonzero(condition.found(trace, 0, trace.emitted_count)).tolist()


@pytest.mark.parametrize(
    ("condition", "tokens"),
    [
        (ExitAtMost(15), [1]),
        (ExitAtMost(21), [1, 2]),
        (ExitAtLeast(21), [2, 3]),
        (Refused(), [2]),
        (WrongExit(), [2]),
        (NearThreshold(0.003), [2]),
        (NearThreshold(0.001), []),
        (ActiveSetChanged(), [2]),
        (CandidatesMiss(), [3]),
        (TextContains("blue so"), [2]),
        (TextContains(" the blue"), [1]),
        (TextContains("·the·blue"), [1]),
        (TextContains("e"), [0, 1]),
        (TextContains("x"), []),
        (TokenMatches("^ [a-s]"), [1, 2, 3]),
        (TokenMatches("blue so"), []),
        (AcceptanceAtMost(9), []),
        (AnyOf((WrongExit(), CandidatesMiss())), [2, 3]),
        (AnyOf(()), []),
        (INTERESTING, [2]),
    ],
    ids=lambda value: value.label if isinstance(value, Condition) else None,
)
def test_that_each_condition_is_met_by_these_tokens(sky: Trace, condition: Condition, tokens: list[int]) -> None:
    assert tokens_of(condition, sky) == tokens


def test_that_a_tree_is_hit_once_a_pass_for_what_is_decided_a_pass() -> None:
    trace = tree_trace(TreePlan(exit_layer=20), TreePlan(accepted=(), exit_layer=24, refused=(14,)))
    assert tokens_of(ExitAtMost(24), trace) == [1, 5]
    assert tokens_of(Refused(), trace) == [5]
    assert tokens_of(AcceptanceAtMost(1), trace) == [5]
    assert tokens_of(AcceptanceAtMost(4), trace) == [1, 5]
    closest = [
        min(abs(run.path_scores - 0.5).min() for run in trace.records[at].tree.layers.values() if len(run.path_scores))
        for at in (1, 5)
    ]
    assert tokens_of(NearThreshold(float(min(closest)) + 1e-6), trace) == [[1, 5][int(np.argmin(closest))]]
    assert tokens_of(NearThreshold(float(max(closest)) + 1e-6), trace) == [1, 5]


def test_that_the_acceptance_length_of_the_newest_pass_is_not_what_has_been_emitted_of_it() -> None:
    trace, whole = Trace(), tree_trace(TreePlan())
    for event in whole.events:
        trace.append(event)
        if trace.emitted_count == 2:
            break
    assert tokens_of(AcceptanceAtMost(3), trace) == []
    assert tokens_of(AcceptanceAtMost(4), trace) == [1]


def test_that_characters_shared_by_tokens_are_found_and_control_tokens_are_no_text() -> None:
    sky = "天空".encode()
    trace = trace_of(
        started(),
        *[emitted(0, sky[:2]), emitted(1, "<|end|>", special=True), emitted(2, sky[2:5]), emitted(3, sky[5:])],
    )
    assert tokens_of(TextContains("天"), trace) == [2]
    assert tokens_of(TextContains("天空"), trace) == [3]
    assert tokens_of(TextContains("end"), trace) == [1]
    assert [TextContains("天空").hits(record, trace) for record in trace.records] == [False, False, False, True]


def test_that_a_token_in_flight_hits_nothing(sky: Trace) -> None:
    trace = Trace.of([*sky.events[:-1]])
    assert not any(one.hits(trace.records[-1], trace) for one in EVERY)


@pytest.mark.parametrize("condition", EVERY, ids=lambda one: one.label)
def test_that_stretches_single_tokens_counts_and_searches_agree(recorder: Recorder, condition: Condition) -> None:
    trace = recorder.run(audit_settings())
    met = tokens_of(condition, trace)
    assert [r.token for r in trace.emitted if condition.hits(r, trace)] == met
    assert hit_counts([condition], trace) == [len(met)]
    assert condition.found(trace, 3, 17).tolist() == [token in met for token in range(3, 17)]
    forward, at = [], -1
    while hit := find([condition], trace, at):
        at = hit.token
        forward.append(at)
    assert forward == met


@hypothesis_settings(max_examples=40)
@given(start=st.integers(-2, 40), forward=st.booleans(), chunk=st.integers(1, 9))
def test_that_a_search_finds_the_nearest_hit_in_its_direction(
    recorder: Recorder, start: int, forward: bool, chunk: int
) -> None:
    trace = recorder.run(audit_settings())
    met = np.array(tokens_of(Refused(), trace))
    expected = met[met > start][:1] if forward else met[met < start][-1:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(breakpoints, "CHUNK", chunk)
        hit = find([Refused(), WrongExit()][:1], trace, start, forward=forward)
    assert [hit.token] == expected.tolist() if hit else not len(expected)


def test_that_a_hit_tells_every_condition_that_was_met(sky: Trace) -> None:
    hit = find([WrongExit(), Refused(), CandidatesMiss()], sky, 0)
    assert (hit.token, hit.label) == (2, "wrong exit, and proposed but refused")


@pytest.mark.parametrize("condition", [*EVERY, INTERESTING], ids=lambda one: one.label)
def test_that_a_condition_survives_json(condition: Condition) -> None:
    written = json.loads(json.dumps(Breakpoint(condition, enabled=False).to_json()))
    assert Breakpoint.from_json(written) == Breakpoint(condition, enabled=False)


def test_that_every_simple_condition_is_tried_here() -> None:
    assert {type(one) for one in EVERY} == set(SIMPLE.values())


anything = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just([{"kind": "refused"}])
)
names = st.sampled_from(["layers", "epsilon", "text", "pattern", "length", "conditions"])


@hypothesis_settings(max_examples=50)
@given(kind=st.sampled_from([*SIMPLE, AnyOf.kind]), fields=st.dictionaries(names, anything, max_size=2), other=anything)
def test_that_what_is_no_breakpoint_is_refused_with_a_sentence(kind: str, fields: dict, other: object) -> None:
    for values in ({"kind": kind, **fields}, other):
        sentence = "it was read."
        try:
            assert condition_from_json(values).label
        except UserError as error:
            sentence = str(error)
        assert sentence.endswith(".")


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("(", "is no regular expression"),
        ("", "between 1 and 200"),
        ("a" * (LONGEST_TEXT + 1), "between 1 and 200"),
        ("(?:a{999}){999}", "repeats more than 1000 times"),
        ("a{99999999999999999999}", "repeats more than 1000 times"),
        ("(?R)*", "is no regular expression"),
        ("\udcff", "between 1 and 200"),
    ],
)
def test_that_a_bad_pattern_is_refused_when_made(pattern: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        TokenMatches(pattern)


def test_that_a_pattern_that_never_ends_is_given_up() -> None:
    trace = trace_of(started(), emitted(0, "a" * 500 + "!"))
    with pytest.raises(UserError, match="takes too long; write a simpler one"):
        tokens_of(TokenMatches("(a+)+$"), trace)


@pytest.mark.parametrize(
    "made",
    [
        lambda: ExitAtMost(0),
        lambda: ExitAtLeast(True),
        lambda: AcceptanceAtMost(1.5),
        lambda: NearThreshold(float("nan")),
        lambda: NearThreshold(0),
        lambda: TextContains(""),
        lambda: AnyOf((Refused(),) * 101),
    ],
)
def test_that_a_value_out_of_range_is_refused_when_made(made: object) -> None:
    with pytest.raises(UserError):
        made()


def test_that_only_wrong_exits_and_missed_tokens_need_an_audit() -> None:
    assert [one.label for one in EVERY if one.needs_audit] == [WrongExit().label, CandidatesMiss().label]
