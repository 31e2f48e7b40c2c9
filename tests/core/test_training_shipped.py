"""The parts that come with the program for the default model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.config import DEFAULT_MODEL
from core.exits.parts_folder import SHIPPED, find_parts
from core.exits.parts_reading import load_parts
from core.model.loading import LoadedModel

FOLDER = SHIPPED / DEFAULT_MODEL
MOST_BYTES = 40 * 2**20


@pytest.fixture(scope="module")
def card() -> dict[str, Any]:
    values: dict[str, Any] = json.loads((FOLDER / "parts.json").read_text(encoding="utf-8"))
    return values["card"]  # type: ignore[no-any-return]


def test_that_shipped_parts_are_small_and_hold_nothing_but_data() -> None:
    files = sorted(FOLDER.iterdir())
    assert {path.suffix for path in files} == {".json", ".md", ".safetensors"}
    assert sum(path.stat().st_size for path in files) < MOST_BYTES


def test_that_the_shipped_drafter_hits_what_it_should_on_prompts_it_has_not_seen(card: dict[str, Any]) -> None:
    quality = card["drafter"]["quality"]
    assert quality["overall"]["top1"] > 0.35
    assert quality["overall"]["top4"] > 0.58
    assert set(quality["by_category"]) == {"alpaca", "gsm8k", "humaneval", "mt_bench", "qa", "sum"}


def test_that_the_shipped_predictors_are_calibrated_on_prompts_they_have_not_seen(card: dict[str, Any]) -> None:
    about = card["predictors"]
    for schedule in ("t1", "t1t2"):
        mean = about["quality"][about["label"]][schedule][about["label"]]["mean"]
        assert mean["auc"] > 0.82
        assert mean["ece"] < 0.03


def test_that_the_recommended_settings_kept_to_99_percent_in_real_runs_on_tune_prompts(card: dict[str, Any]) -> None:
    chosen = next(row for row in card["tune"]["measured"] if row["name"] == card["tune"]["chosen"])
    assert chosen["agreement"] >= 0.99
    assert chosen["early"] > 0.2
    assert all(chosen["settings"][name] == value for name, value in card["recommended"].items())


@pytest.mark.model
def test_that_the_default_model_finds_and_loads_the_shipped_parts(default_model: LoadedModel) -> None:
    assert find_parts(default_model.info) == FOLDER
    parts = load_parts(FOLDER, default_model)
    assert len(parts.offline_ranking) == default_model.config.depth - 1
