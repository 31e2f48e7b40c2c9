"""Other predictors on the same tokens: which are tried, and what is left of an interruption."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import torch

from core.drafting.head import DraftHead
from core.progress import Cancelled, Progress, quiet
from core.training.ablations import ablate, table, trials
from core.training.options import Stage, TrainOptions
from core.training.predictor_stage import Ground, train_predictors
from core.training.predictors import Shape
from core.training.workspace import Workspace
from tests.core.training_setup import stored_answers, tiny_model


def test_that_the_paper_comes_first_and_every_trial_differs() -> None:
    offered = trials()
    assert offered[0].shape == Shape()
    assert len({trial.shape for trial in offered}) == len({trial.name for trial in offered}) == len(offered)
    assert {trial.shape.hidden for trial in offered} == {64, 128, 256, 512, 1024}
    assert {trial.shape.depth for trial in offered} == {1, 2, 3, 4}
    alone = [set(trial.shape.features) for trial in offered if trial.name.endswith("alone")][:3]
    assert set.union(*alone) == set(range(12))


def test_that_an_interrupted_table_is_finished_without_doing_a_trial_twice(tmp_path: Path) -> None:
    model = tiny_model(tmp_path / "model")
    answers, work = stored_answers(model, tmp_path), Workspace(tmp_path / "work")
    head = DraftHead.random(model.decoder, torch.Generator().manual_seed(2))
    stop, seen = threading.Event(), []

    def tell(progress: Progress) -> None:
        seen.append(progress.message)
        if "variations alone" in progress.message:
            stop.set()

    options = TrainOptions("", (tmp_path,), budget_minutes=0.001)
    train_predictors(Ground(head, None, answers, options, work, quiet, None))
    with pytest.raises(Cancelled):
        ablate(Ground(head, None, answers, options, work, tell, stop))
    done = list(work.load_json(Stage.ABLATIONS, "rows.json") or {})
    assert trials()[0].name in done
    seen.clear()
    path = ablate(Ground(head, None, answers, options, work, tell, None))
    assert not any(name in message for name in done for message in seen)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines[2:]] == [trial.name for trial in trials()]


def test_that_what_was_not_measured_is_a_dash() -> None:
    row = {"auc": None, "accuracy": 0.91234, "ece": 0.05, "parameters": 10, "seconds": 2.4}
    assert table([("one", row)]).splitlines()[-1] == "| one | – | 0.912 | 0.050 | 10 | 2 |"
