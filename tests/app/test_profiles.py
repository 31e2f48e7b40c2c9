"""Named settings, and what was measured of them."""

from __future__ import annotations

from typing import Any

import pytest

from app.form_values import FOLLOW_MODEL
from app.profiles import PAPER, frontier_of, measured_at, profiles_of
from core.config import SchedulerSettings
from tests.app.cards import card, point


def test_that_the_papers_values_are_always_offered() -> None:
    (paper,) = profiles_of({})
    assert (paper.key, paper.threshold, paper.scheduler) == (PAPER, 0.5, SchedulerSettings(5, 2, 8, False))


def test_that_a_measured_recommendation_comes_before_the_papers_values() -> None:
    recommended, paper = profiles_of(card())
    assert (recommended.key, recommended.threshold) == (FOLLOW_MODEL, 0.95)
    assert paper.key == PAPER


@pytest.mark.parametrize("threshold", [None, "0.9", 1.5, -0.1, float("nan"), [0.5]])
def test_that_a_spoilt_recommendation_is_none(threshold: object) -> None:
    assert [one.key for one in profiles_of({"recommended_threshold": threshold})] == [PAPER]


def test_that_figures_are_only_told_for_thresholds_that_were_measured() -> None:
    found = measured_at(frontier_of(card()), 0.95)
    assert found is not None
    assert (found.agreement, found.mean_exit_layer) == (0.992, 11.4)
    assert measured_at(frontier_of(card()), 0.94) is None


@pytest.mark.parametrize("spoilt", [{}, {"frontier": 3}, {"frontier": [1, {}, {"threshold": 0.5}]}])
def test_that_spoilt_points_are_left_out(spoilt: dict[str, Any]) -> None:
    assert frontier_of(spoilt) == ()
    good = [*spoilt.get("frontier", []), point(0.7, 0.9, 10)] if isinstance(spoilt.get("frontier"), list) else []
    assert len(frontier_of({"frontier": good})) == bool(good)
