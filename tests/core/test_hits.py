"""Hit counts beside a growing run, and the condition that tells what happened to a token."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from core.analysis import hits
from core.analysis.conditions import (
    AcceptanceAtMost,
    CandidatesMiss,
    ExitAtLeast,
    ExitAtMost,
    NearThreshold,
    Refused,
    WrongExit,
)
from core.analysis.hits import HitCounts, telling_condition
from core.analysis.search import Query, search
from core.analysis.text_conditions import TextContains, TokenMatches
from core.errors import UserError
from core.progress import Cancelled
from core.trace.trace import Trace
from tests.core.handmade import DEPTH, audited, draft, emitted, layers_up_to, started, trace_of, verified
from tests.core.recordings import Recorder, audit_settings
from tests.hit_counts import hit_counts
from tests.tree_passes import TreePlan, tree_trace

CONDITIONS = (ExitAtMost(4), Refused(), WrongExit(), CandidatesMiss(), NearThreshold(0.05), TextContains("e"))


def test_that_counts_beside_a_growing_run_are_those_of_the_finished_one(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hits, "CHUNK", 5)
    whole, trace, counter = recorder.run(audit_settings()), Trace(), HitCounts(CONDITIONS)
    for place, event in enumerate(whole.events):
        trace.append(event)
        if place % 7 == 0:
            counter.update(trace, getattr(event, "token", 0))
    counter.update(trace, trace.emitted_count)
    assert counter.counts == hit_counts(CONDITIONS, whole)
    assert sum(counter.counts) > 0


def test_that_only_what_changed_is_looked_at_again(recorder: Recorder) -> None:
    trace, counter, told = recorder.run(audit_settings()), HitCounts(CONDITIONS), list[int]()
    counter.update(trace, 0, tell=told.append)
    counter.update(trace, trace.emitted_count, tell=told.append)
    assert told == [trace.emitted_count]
    counter.update(trace, 3, tell=told.append)
    assert len(told) == 2


def test_that_counting_ends_between_two_stretches_when_cancelled(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hits, "CHUNK", 4)
    trace, counter, cancel = recorder.run(audit_settings()), HitCounts(CONDITIONS), threading.Event()
    with pytest.raises(Cancelled):
        counter.update(trace, 0, cancel, lambda _: cancel.set())
    counter.update(trace, trace.emitted_count)
    assert counter.counts == hit_counts(CONDITIONS, trace)


def test_that_a_pattern_without_end_is_told_of_and_the_others_are_counted() -> None:
    trace = trace_of(started(), emitted(0, "a" * 500 + "!"))
    endless = TokenMatches("(a+)+$")
    counter = HitCounts([endless, TextContains("a!")])
    counter.update(trace, 0)
    assert counter.counts == [0, 1]
    assert counter.problems[endless].endswith("takes too long; write a simpler one.")


def test_that_a_tokens_own_pass_meets_the_condition_that_tells_of_it(recorder: Recorder) -> None:
    trees = tree_trace(TreePlan(exit_layer=20), TreePlan(accepted=(), exit_layer=24, refused=(14,)))
    for trace in (recorder.run(audit_settings()), trees):
        for token in range(trace.emitted_count):
            condition = telling_condition(trace, token)
            first = int(trace.overview.passes[token])
            assert condition.found(trace, first, token + 1).any(), (token, condition.label)


def test_that_the_gravest_of_what_happened_to_a_token_is_told() -> None:
    trace = trace_of(
        started(),
        emitted(0, " the"),
        *[draft(1), *layers_up_to(1, 15, {14: 0.9}), verified(1, 14, " blue", 1), emitted(1, " blue", 15)],
        *[draft(2), *layers_up_to(2, DEPTH, {14: 0.9}), verified(2, 14, " it", -1), emitted(2, " so")],
        *[draft(3), audited(3, (DEPTH, " red")), emitted(3, " so", 21)],
        *[draft(4), audited(4, (DEPTH, " it")), emitted(4, " it")],
        *[draft(5), emitted(5, " it")],
    )
    wanted = [TextContains(" the"), ExitAtMost(15), Refused(), WrongExit(), CandidatesMiss(), ExitAtLeast(DEPTH)]
    assert [telling_condition(trace, token) for token in range(6)] == wanted


def test_that_a_prompts_token_without_whole_characters_is_told_apart_by_nothing() -> None:
    with pytest.raises(UserError, match="select another one"):
        telling_condition(trace_of(started(), emitted(0, b"\xe5\xa4")), 0)


def test_that_one_token_of_a_live_trees_pass_asks_for_no_other_pass() -> None:
    """The acceptance length is looked at after every token of a run: it must not go through all passes before."""
    trace = tree_trace(*[TreePlan(accepted=())] * 4)
    looked: list[int] = []

    class Watched(list):  # type: ignore[type-arg]
        def __getitem__(self, at: int) -> object:  # type: ignore[override]
            looked.append(at)
            return super().__getitem__(at)

    trace._book.records = Watched(trace._book.records)
    last = trace.emitted_count - 1
    assert AcceptanceAtMost(1).found(trace, last, last + 1).all()
    assert set(looked) == {last}


@pytest.mark.parametrize(("case", "tokens"), [(True, [1]), (False, [0, 1])])
def test_that_a_search_by_pattern_tries_each_token_by_itself(case: bool, tokens: list[int]) -> None:
    trace = trace_of(started(), *[emitted(i, text) for i, text in enumerate(("Sky", " sky", " sk", "y"))])
    assert search(trace, Query("s[k]y$", pattern=True, match_case=case)).tolist() == tokens


def test_that_a_search_for_a_broken_pattern_says_so() -> None:
    with pytest.raises(UserError, match="is no regular expression"):
        search(trace_of(started(), emitted(0, "a")), Query("(", pattern=True))


def test_that_an_overview_may_be_read_while_a_token_is_put_into_it(recorder: Recorder) -> None:
    """The columns grow one after the other; what counts tokens grows last."""
    whole, trace = recorder.run(audit_settings()), Trace()
    overview_class = type(whole.overview)
    seen: list[int] = []
    plain = overview_class.put

    def put(self: object, first: int, rows: object) -> None:
        columns = trace.overview._numbers

        for name, column in columns.items():
            replace = column.replace

            def spied(at: int, values: object, replace: object = replace, name: str = name) -> None:
                replace(at, values)  # type: ignore[operator]
                seen.append(int(sum(one.found(trace, 0, trace.emitted_count).sum() for one in CONDITIONS)))
                search(trace, Query("e", outcomes=frozenset()))

            columns[name] = _Spy(column, spied)  # type: ignore[assignment]
        plain(self, first, rows)  # type: ignore[arg-type]
        for name, spy in list(columns.items()):
            columns[name] = spy.column  # type: ignore[attr-defined]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overview_class, "put", put)
        for event in whole.events:
            trace.append(event)
    assert seen
    assert np.array_equal(trace.overview.wrong, whole.overview.wrong)


class _Spy:
    """A growing column that something looks at the run in the middle of a change of."""

    def __init__(self, column: object, replace: object) -> None:
        self.column, self.replace = column, replace

    @property
    def values(self) -> object:
        return self.column.values  # type: ignore[attr-defined]
