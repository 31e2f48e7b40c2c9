"""The frontier: its points are what-ifs, and the recording's own threshold lies where the run itself does."""

from __future__ import annotations

import numpy as np

from core.analysis.columns import columns_of
from core.analysis.frontier import Frontier, FrontierPoint, advice, frontier, live_point, on_frontier, point_of
from core.analysis.what_if import Redecider
from core.choices import Record
from tests.core.recordings import DEPTH, Recorder, audit_settings


def redecider(recorder: Recorder, **changes: object) -> Redecider:
    trace = recorder.run(audit_settings(**changes))
    return Redecider(columns_of(trace), recorder.parts.predictors, recorder.parts.offline_ranking)


def points(*agreements: float) -> Frontier:
    made = [FrontierPoint(0.1 * (i + 1), 20.0 + i, agreement, 0.5, 0.5, 9) for i, agreement in enumerate(agreements)]
    return Frontier(tuple(made), 9)


def test_that_the_recordings_own_threshold_gives_the_runs_own_figures(recorder: Recorder) -> None:
    trace = recorder.run(audit_settings())
    at = next(p for p in frontier(redecider(recorder), audit_settings()).points if p.threshold == 0.3)
    assert (at.mean_exit_layer, at.agreement) == live_point(trace)
    assert at.exact_tokens == trace.emitted_count - 1
    checks = [len(record.verified) for record in trace.emitted[1:]]
    assert at.verifications == np.mean(checks)


def test_that_points_rise_by_threshold_and_end_at_full_depth_and_full_agreement(recorder: Recorder) -> None:
    found = frontier(redecider(recorder), audit_settings(), (1.0, 0.2))
    assert [point.threshold for point in found.points] == [0.2, 1.0]
    last = found.points[-1]
    assert (last.mean_exit_layer, last.agreement, last.early, last.verifications) == (DEPTH, 1, 0, 0)
    assert found.points[0].exact_tokens < found.tokens or not found.points[0].early


def test_that_each_point_is_a_what_if(recorder: Recorder) -> None:
    settings = audit_settings(layer_thresholds=((2, 0.9),))
    found = frontier(redecider(recorder, layer_thresholds=((2, 0.9),)), settings, (0.2,))
    plain = audit_settings(threshold=0.2)
    assert found.points == (point_of(redecider(recorder, layer_thresholds=((2, 0.9),)).decide(plain)),)


def test_that_the_recommended_threshold_is_the_boldest_from_which_all_agree_enough() -> None:
    assert points(0.9, 0.995, 0.98, 0.99, 1.0).recommended.threshold == 0.4
    assert points(0.9, 0.98).recommended is None
    assert "No threshold reaches 99%" in advice(points(0.9), 0.5)
    assert "<b>0.1</b> is bolder than that" in advice(points(0.9, 1.0), 0.1)
    assert "<b>0.5</b> is more careful than that" in advice(points(0.9, 1.0), 0.5)
    assert advice(Frontier((), 0), 0.5) == ""


def test_that_a_point_is_off_the_frontier_where_another_is_no_worse_in_both() -> None:
    made = [FrontierPoint(0.1, 20.0, 0.9, 0, 0, 1), FrontierPoint(0.2, 21.0, 0.9, 0, 0, 1)]
    made.append(FrontierPoint(0.3, 25.0, 0.99, 0, 0, 1))
    assert on_frontier(Frontier(tuple(made), 1)) == [True, False, True]


def test_that_a_run_without_an_audit_has_no_live_point(recorder: Recorder) -> None:
    assert live_point(recorder.run(audit_settings(record=Record.LIVE))) is None
    assert frontier(redecider(recorder, max_new_tokens=1), audit_settings(max_new_tokens=1)).points == ()
