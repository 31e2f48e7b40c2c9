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
from app.commands.training_lines import Remaining, duration, watched
from core.config import DEFAULT_MODEL
from core.progress import Progress, Report
from core.training.options import Stage, TrainOptions
from resources.paths import PROMPTS

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
    assert capsys.readouterr() == ("parts\n", "Training the drafter 1 of 100 steps\n")


def test_that_the_programs_own_prompts_are_taken_where_none_are_named(options: dict[str, Any]) -> None:
    assert cli.main(["train"]) == 0
    assert options["prompts"] == tuple(sorted(PROMPTS.glob("*.jsonl")))
    assert options["prompts"]


class Clock:
    """Stands where it is put."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_that_the_rest_is_told_by_what_was_done_since_the_work_began() -> None:
    clock = Clock()
    remaining = Remaining(clock)
    assert remaining.said(Progress("Counting", 4, 10, "prompts")).message == "Counting"
    clock.now += 20
    assert remaining.said(Progress("Counting", 6, 10, "prompts")).message == "Counting, 40 s left"
    assert remaining.said(Progress("Fitting", 6, 10, "prompts")).message == "Fitting"
    assert (
        remaining.said(Progress("Writing: 9 tokens", 30, 1000, "seconds")).message == "Writing: 9 tokens, 16 min left"
    )


@pytest.mark.parametrize(("seconds", "words"), [(8.4, "8 s"), (180, "3 min"), (3900, "1 h 5 min")])
def test_that_a_duration_is_rounded_to_what_matters(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_that_where_lines_stay_each_piece_of_work_says_one_and_more_only_now_and_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    with watched(clock) as report:
        for step in range(6):
            report(Progress(f"Training: loss {step}", step, 10, "steps"))
            clock.now += 8
        report(Progress("Judging"))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" of")[0] for line in lines] == [
        "Training: loss 0 0",
        "Training: loss 3, 56 s left 3",
        "Judging",
    ]
