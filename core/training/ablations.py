"""What the predictors' inputs and size are worth: the same training with features left out, other widths and depths.

As the paper's Figure 8 does for width and depth; judged on test prompts for the label that an exit needs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.choices import Lens
from core.config import CANDIDATES
from core.progress import Progress
from core.trace.events import FloatArray
from core.training.features import HeldOutViews, LayerViews
from core.training.options import Stage
from core.training.predictor_stage import EXIT, Ground, calibrate, labels_of, layer_table
from core.training.predictors import HIDDEN, Coaching, Shape, fit_bank
from core.training.workspace import Timer

TABLE = "ablations.md"
GROUPS = ("logits", "local probabilities", "variations")
"""Of k features each, in this order."""
WIDTHS, DEPTHS = (64, 128, 256, 512, 1024), (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Trial:
    """One predictor to try."""

    name: str
    shape: Shape


def trials() -> list[Trial]:
    """All of them, the paper's first."""
    every = range(len(GROUPS) * CANDIDATES)
    of = {group: range(CANDIDATES * at, CANDIDATES * (at + 1)) for at, group in enumerate(GROUPS)}
    alone = [Trial(f"{group} alone", Shape(features=tuple(of[group]))) for group in GROUPS]
    without = [
        Trial(f"without {group}", Shape(features=tuple(i for i in every if i not in of[group]))) for group in GROUPS
    ]
    first = Trial("the first candidate alone", Shape(features=tuple(CANDIDATES * at for at in range(len(GROUPS)))))
    widths = [Trial(f"hidden width {width}", Shape(hidden=width)) for width in WIDTHS if width != HIDDEN]
    depths = [Trial(f"{depth} hidden layers", Shape(depth=depth)) for depth in DEPTHS[1:]]
    paper = Trial(f"all 12, width {HIDDEN}, 1 hidden layer", Shape())
    return [paper, *alone, *without, first, *widths, *depths]


def ablate(ground: Ground, lens: Lens = Lens.IDENTITY) -> Path:
    """Train and judge each trial, those that an interrupted run has done left out; the table's file.

    Raises:
        Cancelled: `ground.cancel` was set; finished trials stay.
        UserError: the predictors' stage has not looked at the tokens yet.
    """
    train, tune, test = ground.views(ground.looks(lens))
    saved = ground.work.load_json(Stage.ABLATIONS, "rows.json") or {}
    offered = trials()
    seconds = ground.options.seconds(Stage.ABLATIONS) / len(offered)
    for number, trial in enumerate(offered):
        if trial.name in saved:
            continue

        def tell(epoch: int, loss: float, name: str = trial.name, done: int = number) -> None:
            message = f"Trying predictors: {name}, epoch {epoch}, loss {loss:.4f}"
            ground.report(Progress(message, done, len(offered), "trials"))

        coaching = Coaching(ground.options.seed, Timer(0.0, seconds), tell, ground.cancel)
        saved[trial.name] = _row(trial, coaching, train, tune, test)
        ground.work.save_json(Stage.ABLATIONS, "rows.json", saved)
    return ground.work.save_text(Stage.ABLATIONS, TABLE, table([(one.name, saved[one.name]) for one in offered]))


def _row(trial: Trial, coaching: Coaching, train: LayerViews, tune: HeldOutViews, test: HeldOutViews) -> dict[str, Any]:
    """Train one trial, and what it is worth on the late half of the layers."""
    start = time.process_time()
    bank = fit_bank(train, train.exits, coaching, trial.shape)
    spent = time.process_time() - start
    calibrate(bank, tune, labels_of(tune)[EXIT], coaching.seed)
    scores: FloatArray = (1 / (1 + np.exp(-bank.logits(test.features())))).astype(np.float32)
    late: dict[str, Any] = layer_table(scores, test.exits)["late_half"]
    return late | {
        "parameters": sum(weight[0].numel() for weight in bank.weights.values()),
        "seconds": round(spent, 1),
    }


def table(rows: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """Markdown, a row a trial."""
    lines = [
        "| predictor | ROC-AUC | accuracy | ECE | parameters a layer | CPU seconds |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, row in rows:
        figures = ("–" if row[each] is None else f"{row[each]:.3f}" for each in ("auc", "accuracy", "ece"))
        lines.append(f"| {name} | {' | '.join(figures)} | {row['parameters']} | {row['seconds']:.0f} |")
    return "\n".join(lines) + "\n"
