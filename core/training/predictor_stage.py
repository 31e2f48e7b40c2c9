"""The stage that trains predictors on both labels, keeps one bank, and finds the threshold to recommend.

A drafter guesses far better on answers that it was trained on: predictors that learned from its candidates there would
be sure of exits that fail on new prompts. So they learn from half of the training prompts with the candidates of a
second drafter, trained on the other half only and thrown away afterwards; tune and test prompts show the real one.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from core.analysis.classification import predictor_quality
from core.drafting.head import DraftHead
from core.errors import UserError
from core.exits.predictors import SHAPES, PredictorBank
from core.model.loading import LoadedModel
from core.progress import Progress, Report
from core.trace.events import BoolArray, FloatArray
from core.training.data import Answers
from core.training.drafter import Assignment, fit_drafter
from core.training.features import Argmaxes, LayerViews, draw_schedules, layer_views
from core.training.frontier import Point, frontier, recommended
from core.training.options import Stage, TrainOptions
from core.training.predictors import EPOCHS, fit_bank, scores_of
from core.training.prompts import Use
from core.training.workspace import Timer, Workspace

SHARES = {"second drafter": 0.45, "argmax": 0.35, "bank": 0.1}
"""Of the stage's time; there are two banks."""

LABELS = {"final": "argmax = final", "exit": "argmax = final and in S"}


@dataclass(frozen=True, slots=True)
class Trained:
    """What the stage leaves."""

    bank: PredictorBank
    facts: Mapping[str, Any]
    """For the parts' card: labels, frontier, quality."""


def train_predictors(
    model: LoadedModel,
    head: DraftHead,
    answers: Answers,
    options: TrainOptions,
    work: Workspace,
    report: Report,
    cancel: threading.Event | None,
) -> Trained:
    """Train and judge the predictors, or take what an earlier run has finished.

    Raises:
        Cancelled: `cancel` was set; the layers' argmaxes and a finished bank stay.
        UserError: there are too few tokens to learn from.
    """
    if work.path(Stage.PREDICTORS, "facts.json").is_file():
        return load_predictors(work)
    seconds = options.seconds(Stage.PREDICTORS)
    second = _second_drafter(model, answers, options, work, report, cancel)
    argmaxes = Argmaxes(head.decoder, answers, work, SHARES["argmax"] * seconds)
    argmaxes.work_out(report, cancel)
    train = layer_views(second, answers, argmaxes, Use.RESERVED, report)
    tune, test = (layer_views(head, answers, argmaxes, use, report) for use in (Use.TUNE, Use.TEST))
    if not (len(train) and len(tune) and len(test)):
        raise UserError("Too few answers have been written to train predictors on; give more minutes or prompts.")
    banks = _banks(train, options, SHARES["bank"] * seconds, work, report, cancel)
    frontiers = {name: frontier(scores_of(bank, tune.features()), tune) for name, bank in banks.items()}
    chosen = better(frontiers)
    facts = {
        "label": LABELS[chosen],
        "second_drafter": (work.load_json(Stage.PREDICTORS, "second-course.json") or {})["curve"][-1],
        "tokens": {"train": len(train), "tune": len(tune), "test": len(test)},
        "frontier": [one.values() for one in frontiers[chosen]],
        "recommended_threshold": recommended(frontiers[chosen]).threshold,
        "other_label_frontier": [one.values() for name in frontiers if name != chosen for one in frontiers[name]],
        "quality": {LABELS[name]: _quality(bank, test, options.seed) for name, bank in banks.items()},
        "tune_auc": _layer_auc(banks[chosen], tune),
    }
    _save_bank(work, "bank.safetensors", banks[chosen])
    work.save_json(Stage.PREDICTORS, "facts.json", facts)
    return Trained(banks[chosen], facts)


def load_predictors(work: Workspace) -> Trained:
    """What an earlier run of the stage left.

    Raises:
        UserError: there is nothing, or it is damaged.
    """
    facts = work.load_json(Stage.PREDICTORS, "facts.json")
    if facts is None:
        raise UserError("No predictors have been trained here yet; run the stages before this one first.")
    return Trained(_load_bank(work, "bank.safetensors"), facts)


def better(frontiers: Mapping[str, list[Point]]) -> str:
    """The label whose bank, at its recommended threshold, agrees enough and leaves earliest."""
    best = {name: recommended(points) for name, points in frontiers.items()}
    reaching = max(min(point.agreement, 0.99) for point in best.values())
    enough = {name: point for name, point in best.items() if min(point.agreement, 0.99) >= reaching}
    return min(enough, key=lambda name: enough[name].mean_exit_layer)


def _second_drafter(
    model: LoadedModel,
    answers: Answers,
    options: TrainOptions,
    work: Workspace,
    report: Report,
    cancel: threading.Event | None,
) -> DraftHead:
    keys = answers.of(Use.TRAIN)
    seconds = SHARES["second drafter"] * options.seconds(Stage.PREDICTORS)
    assignment = Assignment("a second drafter, for the predictors", Stage.PREDICTORS, "second-", keys, seconds)
    return fit_drafter(model, answers, assignment, options.seed + 1, work, report, cancel)


def _banks(
    train: LayerViews,
    options: TrainOptions,
    seconds: float,
    work: Workspace,
    report: Report,
    cancel: threading.Event | None,
) -> dict[str, PredictorBank]:
    """A bank for each label; one that an interrupted run finished is taken over."""
    banks = {}
    for name, wanted in _labels(train).items():
        file = f"bank-{name}.safetensors"
        if not work.path(Stage.PREDICTORS, file).is_file():
            timer = Timer(0.0, seconds)

            def tell(epoch: int, loss: float, label: str = LABELS[name]) -> None:
                report(Progress(f"Training predictors for {label}: loss {loss:.4f}", epoch, EPOCHS, "epochs"))

            bank = fit_bank(train, wanted, seed=options.seed, timer=timer, tell=tell, cancel=cancel)
            _save_bank(work, file, bank)
        banks[name] = _load_bank(work, file)
    return banks


def _labels(views: LayerViews) -> dict[str, BoolArray]:
    return {"final": views.agrees, "exit": views.exits}


def _quality(bank: PredictorBank, test: LayerViews, seed: int) -> dict[str, Any]:
    """Figures on test prompts under both labels, on all layers (T1) and over drawn schedules' gaps (T1+T2)."""
    schedules = draw_schedules(len(test), bank.layers, np.random.default_rng(seed), all_share=0.0)
    scored = {"t1": scores_of(bank, test.features()), "t1t2": scores_of(bank, test.features(schedules))}
    return {
        schedule: {LABELS[name]: _layers(scores, truth) for name, truth in _labels(test).items()}
        for schedule, scores in scored.items()
    }


def _layers(scores: FloatArray, truth: BoolArray) -> dict[str, Any]:
    """The figures of each layer, and their means over the layers that have them."""
    per_layer = [predictor_quality(scores[:, layer], truth[:, layer]).values() for layer in range(scores.shape[1])]
    means = {}
    for name in per_layer[0]:
        known = [value for one in per_layer if (value := one[name]) is not None]
        means[name] = round(float(np.mean(known)), 4) if known else None
    return {"mean": means, "layers": per_layer}


def _layer_auc(bank: PredictorBank, tune: LayerViews) -> list[float]:
    scores, truth = scores_of(bank, tune.features()), tune.exits
    found = [predictor_quality(scores[:, layer], truth[:, layer]).auc for layer in range(bank.layers)]
    return [0.5 if np.isnan(value) else round(value, 4) for value in found]


def _save_bank(work: Workspace, name: str, bank: PredictorBank) -> None:
    arrays = {key: torch.from_numpy(array) for key, array in bank.arrays().items()}
    work.save_tensors(Stage.PREDICTORS, name, arrays)


def _load_bank(work: Workspace, name: str) -> PredictorBank:
    tensors = work.load_tensors(Stage.PREDICTORS, name)
    return PredictorBank({key: tensors[key].numpy() for key in SHAPES if key in tensors})
