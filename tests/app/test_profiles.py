"""Named settings, and what was measured of them."""

from __future__ import annotations

from typing import Any

import pytest

from app.form_values import FOLLOW_MODEL
from app.profiles import PAPER, Point, frontier_of, measured_at, profiles_of, recommended
from core.choices import Head, Lens
from core.config import RunSettings, SchedulerSettings
from tests.app.cards import card, point


def test_that_the_papers_values_are_always_offered() -> None:
    (paper,) = profiles_of({})
    assert paper.key == PAPER
    assert paper.point == Point(0.5, (), SchedulerSettings(5, 2, 8, False), Lens.IDENTITY, 0.0, Head.FULL, Head.FULL)
    assert Point.of(RunSettings()) == paper.point


def test_that_a_measured_recommendation_comes_before_the_papers_values() -> None:
    recommended, paper = profiles_of(card())
    assert (recommended.key, recommended.point) == (FOLLOW_MODEL, Point(threshold=0.95))
    assert paper.key == PAPER


@pytest.mark.parametrize("threshold", [None, "0.9", 1.5, -0.1, float("nan"), [0.5]])
def test_that_a_spoilt_recommendation_is_none(threshold: object) -> None:
    assert [one.key for one in profiles_of({"recommended_threshold": threshold})] == [PAPER]


WHOLE = {
    "threshold": 0.41237,
    "scheduler": {"offline_layers": 6},
    "lens": "tuned",
    "gate": 0.25,
    "check": "slim",
    "draft_head": "slim",
    "layer_thresholds": [[2, 0.5]],
    "max_new_tokens": 99,
}


def test_that_a_recommendation_is_read_as_the_fields_of_a_run_s_settings() -> None:
    point = recommended({"recommended": WHOLE, "recommended_threshold": 0.9})
    scheduler = SchedulerSettings(offline_layers=6)
    assert point == Point(0.4124, ((2, 0.5),), scheduler, Lens.TUNED, 0.25, Head.SLIM, Head.SLIM)


@pytest.mark.parametrize(("pieces", "offered"), [((), False), (("lens",), False), (("lens", "slim"), True)])
def test_that_a_recommendation_is_offered_only_with_the_pieces_it_wants(pieces: tuple[str, ...], offered: bool) -> None:
    assert (FOLLOW_MODEL in [one.key for one in profiles_of({"recommended": WHOLE}, pieces)]) == offered


@pytest.mark.parametrize(
    "spoilt",
    [
        {},
        {"gate": 0.5},
        {**WHOLE, "gate": "0.5"},
        {**WHOLE, "gate": 2},
        {**WHOLE, "lens": "rosy"},
        {**WHOLE, "scheduler": [5]},
        [0.5],
        0.5,
    ],
)
def test_that_a_spoilt_point_is_no_recommendation(spoilt: object) -> None:
    assert recommended({"recommended": spoilt}) is None


def test_that_figures_are_only_told_for_points_that_were_measured() -> None:
    found = measured_at(frontier_of(card()), Point(0.95))
    assert found is not None
    assert (found.agreement, found.mean_exit_layer) == (0.992, 11.4)
    others = (Point(0.94), Point(0.95, gate=0.1), Point(0.95, lens=Lens.TUNED), Point(0.95, ((1, 0.5),)))
    assert not any(measured_at(frontier_of(card()), point) for point in others)


def test_that_a_point_may_be_measured_with_lens_and_gate() -> None:
    row = {**point(0.5, 0.99, 9.0), "lens": "tuned", "gate": 0.2, "offline_layers": 6}
    found = measured_at(frontier_of({"frontier": [point(0.5, 0.8, 8.0), row]}), Point(0.5, lens=Lens.TUNED, gate=0.2))
    assert found is not None
    assert found.agreement == 0.99


@pytest.mark.parametrize("spoilt", [{}, {"frontier": 3}, {"frontier": [1, {}, {"threshold": 0.5}]}])
def test_that_spoilt_points_are_left_out(spoilt: dict[str, Any]) -> None:
    assert frontier_of(spoilt) == ()
    good = [*spoilt.get("frontier", []), point(0.7, 0.9, 10)] if isinstance(spoilt.get("frontier"), list) else []
    assert len(frontier_of({"frontier": good})) == bool(good)
