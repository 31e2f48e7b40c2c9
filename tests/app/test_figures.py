"""The figures of the status bar, kept up from the tail, against those computed from the whole trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app import figures as figures_module
from app.figures import Figures
from core.analysis import summaries
from core.analysis.shortlist import shortlist_miss_rate
from core.choices import Head, Policy
from core.config import RunSettings
from core.trace.events import Audited, Event, Verified
from core.trace.reading import ReadableTrace
from core.trace.trace import Trace
from core.trace.veiled import VeiledTrace
from tests.fakes import fake_run_events
from tests.tree_passes import TreePlan, tree_trace


def agree(figures: Figures, trace: ReadableTrace) -> None:
    assert figures.count == trace.emitted_count
    assert figures.mean_exit_layer == pytest.approx(summaries.mean_exit_layer(trace))
    assert figures.tokens_per_second == pytest.approx(summaries.tokens_per_second(trace))
    assert figures.agreement == pytest.approx(summaries.agreement(trace))
    assert figures.acceptance_length == pytest.approx(summaries.acceptance_length(trace))
    whole, kept = summaries.exit_series(trace), figures.exit_series()
    np.testing.assert_array_equal(kept.exit_layers, whole.exit_layers)
    np.testing.assert_array_equal(kept.outcomes, whole.outcomes)
    np.testing.assert_array_equal(kept.running_mean, whole.running_mean)
    assert kept.depth == whole.depth


def grown(events: Sequence[Event], cuts: Iterable[int]) -> tuple[Trace, Figures]:
    """A trace that takes these events in pieces, cut at these places, and figures that were right after each."""
    trace, figures, at = Trace(), Figures(), 0
    for cut in (*sorted(cuts), len(events)):
        first = trace.emitted_count
        for event in events[at : max(at, cut)]:
            trace.append(event)
        at = max(at, cut)
        figures.update(trace, first)
        agree(figures, trace)
    return trace, figures


@given(
    cuts=st.lists(st.integers(0, 400), max_size=6),
    policy=st.sampled_from([Policy.DENSE, Policy.SPECEE_T1T2]),
    audit=st.booleans(),
)
def test_that_figures_kept_up_from_the_tail_are_those_of_the_whole_trace(
    cuts: list[int], policy: Policy, audit: bool
) -> None:
    events = fake_run_events(20, settings=RunSettings(policy=policy), audit=audit)
    trace, figures = grown(events, cuts)
    if policy is Policy.SPECEE_T1T2:
        assert figures.active_layers_mean == pytest.approx(summaries.active_layers_mean(trace))
    else:
        assert figures.active_layers_mean is None


@settings(max_examples=15)
@given(cuts=st.lists(st.integers(0, 150), max_size=6))
def test_that_the_acceptance_length_kept_up_from_the_tail_is_that_of_the_whole_trace(cuts: list[int]) -> None:
    plans = (TreePlan(), TreePlan(accepted=(), bonus=" it", exit_layer=30), TreePlan(accepted=(2,), bonus=" sea"))
    events = tree_trace(*plans).events
    _, figures = grown(events, cuts)
    assert figures.acceptance_length == pytest.approx((4 + 1 + 2) / 3)


def test_that_another_trace_starts_the_figures_anew_and_none_clears_them() -> None:
    figures = Figures()
    figures.update(Trace.of(fake_run_events(9)), 0)
    other = Trace.of(fake_run_events(4, run=1))
    figures.update(other, 3)
    agree(figures, other)
    figures.update(None, 0)
    assert figures.count == 0
    assert figures.mean_exit_layer is None
    assert figures.tokens_per_second is None


def shortlist_trace(tokens: int) -> Trace:
    """Two checks a token, of which every other token's first is a miss."""
    events: list[Event] = []
    for event in fake_run_events(tokens, settings=RunSettings(check=Head.SLIM), audit=True):
        if isinstance(event, Audited):
            own = [replace_check(event, layer, missed=layer == 0 and event.token % 2 == 0) for layer in (0, 1)]
            events += own
        if not isinstance(event, Verified):
            events.append(event)
    return Trace.of(events)


def replace_check(audit: Audited, layer: int, *, missed: bool) -> Verified:
    token_id = int(audit.token_ids[layer]) + missed
    return Verified(audit.run, audit.token, layer, token_id, b"x", -1, 0.1)


def test_that_the_shortlist_s_misses_are_those_of_the_whole_trace() -> None:
    trace, figures = shortlist_trace(21), Figures()
    for first in (0, 7, 20):
        figures.update(trace, first)
        assert figures.shortlist_miss_rate == pytest.approx(shortlist_miss_rate(trace))
    figures.update(Trace.of(fake_run_events(9, audit=True)), 0)
    assert figures.shortlist_miss_rate is None


def test_that_a_long_run_is_not_read_through_for_the_shortlist_s_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures_module, "MOST_READ", 20)
    figures = Figures()
    figures.update(shortlist_trace(21), 0)
    assert figures.shortlist_miss_rate is None
    assert figures.mean_exit_layer is not None


def test_that_a_veil_comes_and_goes_without_another_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    trace, figures = Trace.of(fake_run_events(9)), Figures()
    figures.update(trace, 0)
    veiled = VeiledTrace(trace, 4)
    monkeypatch.setattr(figures_module, "outcomes", pytest.fail)
    for told in (veiled, trace, veiled):
        figures.update(told, 0)
        agree(figures, told)
    veiled.lift(6)
    figures.update(veiled, 4)
    agree(figures, veiled)


def test_that_a_run_that_ended_since_the_last_look_is_swept_once_more_under_its_veil() -> None:
    events = fake_run_events(9)
    trace, figures = Trace(), Figures()
    for event in events[: len(events) // 2]:
        trace.append(event)
    figures.update(trace, 0)
    for event in events[len(events) // 2 :]:
        trace.append(event)
    figures.update(VeiledTrace(trace, 9), 0)
    figures.update(trace, 9)
    agree(figures, trace)
