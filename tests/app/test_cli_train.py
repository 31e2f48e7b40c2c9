"""`specee-viewer train`: the flags that reach the recipe."""

from __future__ import annotations

import dataclasses
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app import cli
from core.config import DEFAULT_MODEL
from core.progress import Progress, Report
from core.training.options import Stage, TrainOptions

DEFAULTS = {
    "model": DEFAULT_MODEL,
    "prompts": (Path("a.jsonl"),),
    "out": None,
    "budget_minutes": 12.0,
    "seed": 0,
    "resume": False,
    "stage": Stage.ALL,
}


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the recipe was asked for; filled by running the command."""
    asked: dict[str, Any] = {}

    def train(wanted: TrainOptions, report: Report, cancel: threading.Event) -> Path:
        asked.update(dataclasses.asdict(wanted))
        report(Progress("Training the drafter", 1, 100, "steps"))
        assert not cancel.is_set()
        return Path("parts")

    recipe = SimpleNamespace(train=train)
    monkeypatch.setitem(sys.modules, "core.training.recipe", recipe)
    return asked


@pytest.mark.parametrize(
    ("argv", "changed"),
    [
        ([], {}),
        (["b.jsonl"], {"prompts": (Path("a.jsonl"), Path("b.jsonl"))}),
        (["--model", "here", "--out", "there"], {"model": "here", "out": Path("there")}),
        (["--budget", "0.5", "--seed", "7"], {"budget_minutes": 0.5, "seed": 7}),
        (["--resume", "--stage", "profile"], {"resume": True, "stage": Stage.PROFILE}),
    ],
)
def test_that_flags_reach_the_recipe_and_the_folder_is_printed(
    argv: list[str], changed: dict[str, Any], options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["train", "--prompts", "a.jsonl", *argv]) == 0
    assert options == DEFAULTS | changed
    assert capsys.readouterr() == ("parts\n", "")
