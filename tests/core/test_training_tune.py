"""The operating point: what is tried, what it costs, and what is chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from core.choices import Head, Lens, Policy
from core.config import RunSettings
from core.model.loading import LoadedModel
from core.model.slim_head import SlimHead
from core.training.costs import check_layers, fastest
from core.training.prompts import Prompt, Split
from core.training.replay import Point
from core.training.tune import SHOWN, STEP, Prices, candidates, choose, fitted, frontier_of, in_turns, recommendation
from tests.engines import parts_that_always_propose

PRICES = Prices(0.1, {Head.FULL: 4.0, Head.SLIM: 1.0})


def point(mean: float, agreement: float, *, checks: float = 0.3, early: float = 0.3, m: int = 2) -> Point:
    return Point(0.9, 0.5, m, mean, early, agreement, checks, 5.0)


def test_that_a_price_counts_layers_predictors_checks_and_the_head_of_those_that_stay() -> None:
    assert PRICES.of(point(20, 0.99, checks=0.5, early=0.25), Head.FULL) == pytest.approx(20 + 0.5 + 2 + 3)
    assert PRICES.of(point(20, 0.99, checks=0.5, early=0.25), Head.SLIM) == pytest.approx(20 + 0.5 + 0.5 + 3)


def test_that_a_frontier_rises_with_the_exit_layer_and_leaves_out_what_another_beats() -> None:
    points = [point(22, 0.9), point(21, 0.95), point(25, 0.95 + STEP / 2), point(26, 0.99), point(20, SHOWN - 0.1)]
    assert [(one.mean_exit_layer, one.agreement) for one in frontier_of(points)] == [(21, 0.95), (26, 0.99)]


def test_that_bold_gates_are_tried_where_a_check_is_cheap(tiny: LoadedModel) -> None:
    slim = SlimHead(torch.zeros(2, tiny.config.hidden), torch.zeros(tiny.config.vocabulary, 2))
    parts = replace(parts_that_always_propose(tiny), slim=slim)
    asking, shy = point(20, 0.995, checks=2.0, early=0.5), point(24, 0.995, checks=0.3)
    listed = candidates({Lens.TUNED: [asking, shy]}, parts, PRICES)
    names = {one.name: one.settings for one in listed}
    assert list(names)[:2] == ["dense", "paper"]
    by_head = {one.check: one for one in names.values() if one.lens is Lens.TUNED}
    assert set(by_head) == {Head.FULL, Head.SLIM}
    assert all(one.check is one.draft_head for one in names.values())
    assert len(set(names.values())) == len(listed)
    without = candidates({Lens.TUNED: [asking, shy]}, replace(parts, slim=None), PRICES)
    assert all(one.settings.check is Head.FULL for one in without)


def test_that_where_nothing_agrees_only_dense_and_the_paper_are_tried(tiny: LoadedModel) -> None:
    listed = candidates({Lens.IDENTITY: [point(10, 0.5)]}, parts_that_always_propose(tiny), PRICES)
    assert [one.name for one in listed] == ["dense", "paper"]
    assert choose([row(one.name, 1.0, 10.0, 5.0) for one in listed]) is None


def row(name: str, agreement: float, mean: float, speed: float) -> dict[str, Any]:
    return {"name": name, "agreement": agreement, "mean_exit_layer": mean, "tokens_per_second": speed}


def test_that_the_earliest_of_the_fast_ones_that_agree_is_chosen() -> None:
    rows = [
        row("dense", 1.0, 30, 20),
        row("bold", 0.98, 24, 25),
        row("fast", 0.991, 27, 22),
        row("early", 0.992, 26, 21.7),
        row("slow", 0.995, 25, 15),
    ]
    chosen = choose(rows)
    assert chosen is not None
    assert chosen["name"] == "early"
    closest = choose([rows[0], rows[1], row("bolder", 0.9, 20, 30)])
    assert closest is not None
    assert closest["name"] == "bold"


def test_that_a_recommendation_holds_the_fields_of_an_operating_point() -> None:
    settings = RunSettings(threshold=0.9, gate=0.4, lens=Lens.TUNED, check=Head.SLIM)
    found = recommendation({"settings": settings.to_json()})
    assert RunSettings.from_json(RunSettings().to_json() | found) == settings
    assert set(found) == {"policy", "threshold", "gate", "lens", "check", "draft_head", "scheduler"}


def test_that_settings_are_shrunk_to_a_shallow_model() -> None:
    settings = fitted(RunSettings(policy=Policy.SPECEE_T1T2), 3)
    assert (settings.scheduler.offline_layers, settings.scheduler.radius) == (3, 2)
    settings.check_against(4)


def test_that_categories_take_turns_in_real_runs() -> None:
    prompts = [Prompt(text, category, text, Split.TUNE) for text, category in zip("12345", "aaabb", strict=True)]
    assert [prompt.text for prompt in in_turns(prompts)] == ["1", "4", "2", "5", "3"]


def test_that_the_quickest_of_several_times_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0, 5, 10, 12, 20, 27, 30, 33])
    monkeypatch.setattr("core.training.costs.time.perf_counter", lambda: next(ticks))
    assert fastest({"one": lambda: None, "two": lambda: None}, 2) == {"one": 5, "two": 2}


def test_that_checks_are_priced_for_the_heads_that_are_there(tiny: LoadedModel) -> None:
    slim = SlimHead(torch.randn(2, tiny.config.hidden), torch.randn(tiny.config.vocabulary, 2))
    assert set(check_layers(tiny.decoder, None, 1)) == {Head.FULL}
    found = check_layers(tiny.decoder, slim, 1)
    assert set(found) == {Head.FULL, Head.SLIM}
    assert all(price > 0 for price in found.values())
