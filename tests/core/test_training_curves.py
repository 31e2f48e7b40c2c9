"""What is kept of a training stage for its plot."""

from __future__ import annotations

import pytest

from core.analysis.training_curves import MOST, TrainingCurves


def test_that_a_report_without_figures_leaves_the_curves_empty() -> None:
    curves = TrainingCurves()
    curves.add({})
    curves.add({"something": 3.0})
    assert curves.is_empty


def test_that_losses_stand_at_their_steps_and_hits_where_they_were_measured() -> None:
    curves = TrainingCurves()
    curves.add({"step": 451.0, "loss": 2.6})
    curves.add({"step": 452.0, "loss": 2.5, "top1": 0.27, "top4": 0.47})
    assert curves.steps == [451.0, 452.0]
    assert curves.losses == [2.6, 2.5]
    assert curves.hits == {"top1": [(452.0, 0.27)], "top4": [(452.0, 0.47)]}
    assert curves.starts == []


def test_that_steps_are_counted_on_where_something_new_is_trained() -> None:
    curves = TrainingCurves()
    for step in (1.0, 2.0, 3.0, 1.0, 2.0):
        curves.add({"step": step, "loss": 1.0})
    assert curves.steps == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert curves.starts == [4.0]


@pytest.mark.parametrize("count", [MOST, MOST + 1, 10 * MOST + 7])
def test_that_any_number_of_steps_takes_bounded_room_and_keeps_course_and_mean(count: int) -> None:
    curves = TrainingCurves()
    for step in range(1, count + 1):
        curves.add({"step": float(step), "loss": float(step)})
    assert len(curves.steps) == len(curves.losses) <= MOST
    assert curves.steps == sorted(set(curves.steps))
    assert curves.steps[-1] == curves.last_step == count
    assert curves.losses == sorted(curves.losses)
    assert sum(curves.losses) / len(curves.losses) == pytest.approx(count / 2, rel=0.02)
