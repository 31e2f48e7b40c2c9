"""The figures of the status bar, kept up from the tail, against those computed from the whole trace."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.figures import Figures
from core.analysis import summaries
from core.config import Policy, RunSettings
from core.trace.trace import Trace
from tests.fakes import fake_run_events


def agree(figures: Figures, trace: Trace) -> None:
    assert figures.count == trace.emitted_count
    assert figures.mean_exit_layer == pytest.approx(summaries.mean_exit_layer(trace))
    assert figures.tokens_per_second == pytest.approx(summaries.tokens_per_second(trace))
    assert figures.agreement == pytest.approx(summaries.agreement(trace))
    whole, kept = summaries.exit_series(trace), figures.exit_series()
    np.testing.assert_array_equal(kept.exit_layers, whole.exit_layers)
    np.testing.assert_array_equal(kept.outcomes, whole.outcomes)
    np.testing.assert_array_equal(kept.running_mean, whole.running_mean)
    assert kept.depth == whole.depth


@given(
    cuts=st.lists(st.integers(0, 400), max_size=6),
    policy=st.sampled_from([Policy.DENSE, Policy.SPECEE_T1T2]),
    audit=st.booleans(),
)
def test_that_figures_kept_up_from_the_tail_are_those_of_the_whole_trace(
    cuts: list[int], policy: Policy, audit: bool
) -> None:
    events = fake_run_events(20, settings=RunSettings(policy=policy), audit=audit)
    trace, figures, at = Trace(), Figures(), 0
    for cut in (*sorted(cuts), len(events)):
        first = trace.emitted_count
        for event in events[at : max(at, cut)]:
            trace.append(event)
        at = max(at, cut)
        figures.update(trace, first)
        agree(figures, trace)
    if policy is Policy.SPECEE_T1T2:
        assert figures.active_layers_mean == pytest.approx(summaries.active_layers_mean(trace))
    else:
        assert figures.active_layers_mean is None


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
