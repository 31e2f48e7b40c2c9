"""The stage that trains the exit predictors: a bank for each way to read a layer, without and with the lens.

A drafter guesses far better on answers that it was trained on: predictors that learned from its candidates there would
be sure of exits that fail on new prompts. So they learn from prompts that were kept from the drafter. Both banks are
trained for the label that an exit needs, `argmax = final and in S`; a third, for `argmax = final` alone as released,
stands beside them in the card.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from core.analysis.classification import predictor_quality
from core.choices import Lens
from core.drafting.head import DraftHead
from core.errors import UserError
from core.exits.lens import ExitLens
from core.exits.predictors import SHAPES, PredictorBank
from core.progress import Progress, Report
from core.trace.events import BoolArray, FloatArray
from core.training.data import Answers
from core.training.features import HeldOutViews, LayerViews, draw_schedules, held_out_views, training_views
from core.training.frontier import frontier, recommended
from core.training.looks import Looks
from core.training.options import Stage, TrainOptions
from core.training.predictors import EPOCHS, Coaching, TorchBank, fit_bank, scores_of
from core.training.prompts import Use
from core.training.workspace import Timer, Workspace

LOOKS_SHARE, BANK_SHARE, RELEASED_SHARE = 0.28, 0.16, 0.08
"""Of the stage's time: what one way to read a layer takes to look at the tokens and to train a bank, and the bank for
the released label."""

FINAL, EXIT = "argmax = final", "argmax = final and in S"
"""The labels."""


@dataclass(frozen=True, slots=True)
class Trained:
    """What the stage leaves."""

    banks: Mapping[Lens, PredictorBank]
    """The one for the lens is there where there is a lens."""
    facts: Mapping[str, Any]
    """For the parts' card."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What the stage builds on."""

    head: DraftHead
    lens: ExitLens | None
    answers: Answers
    options: TrainOptions
    work: Workspace
    report: Report
    cancel: threading.Event | None

    def looks(self, lens: Lens) -> Looks:
        """What each layer says through this lens."""
        return Looks(self.head.decoder, self.answers, self.work, self.lens if lens is Lens.TUNED else None)

    def views(self, looks: Looks) -> tuple[LayerViews, HeldOutViews, HeldOutViews]:
        """The tokens to train on, to tune on and to be tested on, as `looks` has looked at them."""
        train = training_views(self.head, self.answers, looks, self.report)
        tune, test = (held_out_views(self.head, self.answers, looks, use, self.report) for use in (Use.TUNE, Use.TEST))
        return train, tune, test

    @property
    def lenses(self) -> tuple[Lens, ...]:
        return (Lens.IDENTITY, Lens.TUNED) if self.lens is not None else (Lens.IDENTITY,)


def train_predictors(ground: Ground) -> Trained:
    """Train and judge the predictors, or take what an earlier run has finished.

    Raises:
        Cancelled: `ground.cancel` was set; what the layers said and finished banks stay.
        UserError: there are too few tokens to learn from.
    """
    work = ground.work
    if not work.path(Stage.PREDICTORS, "facts.json").is_file():
        facts = {lens.value: _train(ground, lens) for lens in ground.lenses}
        work.save_json(Stage.PREDICTORS, "facts.json", facts)
    return load_predictors(work)


def load_predictors(work: Workspace) -> Trained:
    """What an earlier run of the stage left.

    Raises:
        UserError: there is nothing, or it is damaged.
    """
    facts = work.load_json(Stage.PREDICTORS, "facts.json")
    if facts is None:
        raise UserError("No predictors have been trained here yet; run the stages before this one first.")
    return Trained({Lens(name): _load_bank(work, _file(Lens(name))) for name in facts}, facts)


def tune_views(ground: Ground, lens: Lens) -> HeldOutViews:
    """The tune prompts' tokens through this lens, as the stage has looked at them."""
    return held_out_views(ground.head, ground.answers, ground.looks(lens), Use.TUNE, ground.report)


def _train(ground: Ground, lens: Lens) -> dict[str, Any]:
    """Look, train and judge; the facts of one bank."""
    looks, seconds = ground.looks(lens), ground.options.seconds(Stage.PREDICTORS)
    looks.work_out(LOOKS_SHARE * seconds, ground.report, ground.cancel)
    train, tune, test = ground.views(looks)
    if not (len(train) and len(tune) and len(test)):
        raise UserError("Too few answers have been written to train predictors on; give more minutes or prompts.")
    trial = _Trial(ground, train, tune, test)
    bank, quality = trial.bank(_file(lens), EXIT, BANK_SHARE * seconds)
    tables = {EXIT: quality}
    if lens is Lens.IDENTITY:
        tables[FINAL] = trial.bank("bank-final.safetensors", FINAL, RELEASED_SHARE * seconds)[1]
    points = frontier(scores_of(bank, tune.features()), tune)
    return {
        "label": EXIT,
        "tokens": {"train": len(train), "tune": len(tune), "test": len(test)},
        "layers_agree": [round(float(share), 4) for share in test.agrees.mean(0)],
        "candidates_hold_the_final_token": round(float(test.listed.mean()), 4),
        "quality": tables,
        "frontier": [one.values() | {"lens": lens.value} for one in points],
        "recommended_threshold": recommended(points).threshold,
        "tune_auc": layer_auc(bank, tune),
    }


@dataclass(frozen=True, slots=True)
class _Trial:
    """Tokens to learn from, to calibrate on and to be judged by."""

    ground: Ground
    train: LayerViews
    tune: HeldOutViews
    test: HeldOutViews

    def bank(self, file: str, label: str, seconds: float) -> tuple[PredictorBank, dict[str, Any]]:
        """A calibrated bank for a label and what it is worth; one that an interrupted run finished is taken over."""
        work, facts = self.ground.work, file.replace(".safetensors", ".json")
        quality = work.load_json(Stage.PREDICTORS, facts)
        if quality is None:
            trained = self._fit(label, seconds)
            before = trained.folded()
            calibrate(trained, self.tune, labels_of(self.tune)[label], self.ground.options.seed)
            after = trained.folded()
            temperatures = [round(float(one), 3) for one in trained.temperature]
            quality = {**self._judged(before, after, label), "temperatures": temperatures}
            arrays = {key: torch.from_numpy(array) for key, array in after.arrays().items()}
            work.save_tensors(Stage.PREDICTORS, file, arrays)
            work.save_json(Stage.PREDICTORS, facts, quality)
            area = float(np.mean(layer_auc(after, self.tune)))
            self.ground.report(Progress(f"Trained predictors for {label}: ROC-AUC {area:.3f} on tune prompts"))
        return _load_bank(work, file), quality

    def _fit(self, label: str, seconds: float) -> TorchBank:
        def tell(epoch: int, loss: float) -> None:
            message, figures = f"Training predictors for {label}: loss {loss:.4f}", {"step": float(epoch), "loss": loss}
            self.ground.report(Progress(message, epoch, EPOCHS, "epochs", figures=figures))

        coaching = Coaching(self.ground.options.seed, Timer(0.0, seconds), tell, self.ground.cancel)
        return fit_bank(self.train, labels_of(self.train)[label], coaching)

    def _judged(self, before: PredictorBank, after: PredictorBank, label: str) -> dict[str, Any]:
        seed, truth = self.ground.options.seed, labels_of(self.test)[label]
        plain = layer_table(scores_of(before, self.test.features()), truth)["mean"]
        return bank_quality(after, self.test, seed) | {"uncalibrated_ece": plain["ece"]}


def calibrate(bank: TorchBank, tune: LayerViews, labels: BoolArray, seed: int) -> None:
    """Find the bank's temperatures on tune prompts, over the differences that T1 and T2 produce."""
    schedules = draw_schedules(len(tune), labels.shape[1], np.random.default_rng(seed), all_share=0.0)
    features = np.concatenate([tune.features(), tune.features(schedules)])
    bank.calibrate(features, np.concatenate([labels, labels]))


def labels_of(views: LayerViews) -> dict[str, BoolArray]:
    """Both labels, [n, L-1] each."""
    return {FINAL: views.agrees, EXIT: views.exits}


def bank_quality(bank: PredictorBank, test: LayerViews, seed: int) -> dict[str, Any]:
    """Figures on test prompts under both labels, on all layers (T1) and over drawn schedules' gaps (T1+T2)."""
    schedules = draw_schedules(len(test), bank.layers, np.random.default_rng(seed), all_share=0.0)
    scored = {"t1": scores_of(bank, test.features()), "t1t2": scores_of(bank, test.features(schedules))}
    return {
        schedule: {name: layer_table(scores, truth) for name, truth in labels_of(test).items()}
        for schedule, scores in scored.items()
    }


def layer_table(scores: FloatArray, truth: BoolArray) -> dict[str, Any]:
    """The figures of each layer, and their means over the layers that have them: all, and the late half."""
    rows = [predictor_quality(scores[:, layer], truth[:, layer]).values() for layer in range(scores.shape[1])]
    late = rows[(len(rows) + 1) // 2 :]
    return {"mean": _means(rows), "late_half": _means(late), "layers": rows}


def _means(rows: list[dict[str, float | None]]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name in rows[0] if rows else ():
        known = [value for one in rows if (value := one[name]) is not None]
        found[name] = round(float(np.mean(known)), 4) if known else None
    return found


def layer_auc(bank: PredictorBank, tune: LayerViews) -> list[float]:
    """Each predictor's area under the ROC curve for the label that an exit needs; 0.5 where it has none."""
    scores, truth = scores_of(bank, tune.features()), tune.exits
    found = [predictor_quality(scores[:, layer], truth[:, layer]).auc for layer in range(bank.layers)]
    return [0.5 if np.isnan(value) else round(value, 4) for value in found]


def _file(lens: Lens) -> str:
    return f"bank-{lens.value}.safetensors"


def _load_bank(work: Workspace, name: str) -> PredictorBank:
    tensors = work.load_tensors(Stage.PREDICTORS, name)
    return PredictorBank({key: tensors[key].numpy() for key in SHAPES if key in tensors})
