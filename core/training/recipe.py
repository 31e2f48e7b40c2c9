"""From a model and prompts to trained parts: data, drafter, predictors, profile; each stage resumable."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import torch

from core.config import DType
from core.drafting.head import DraftHead
from core.engine import Engine
from core.exits.parts import TrainedParts, save_parts, user_parts
from core.model.loading import LoadedModel, load_model
from core.model.store import ModelStore
from core.progress import Report, check, quiet
from core.training.adainfer import train_adainfer
from core.training.card import make_card
from core.training.data import Answers
from core.training.data_stage import write_answers
from core.training.drafter import best_head, drafter_facts, train_drafter
from core.training.options import Stage, TrainOptions
from core.training.predictor_stage import load_predictors, train_predictors
from core.training.profile import profile_exits, rank_layers
from core.training.prompts import Prompt, read_prompts
from core.training.workspace import Workspace

__all__ = ["Stage", "TrainOptions", "train"]

STORED = torch.float16
"""The drafter's number format in the parts; it is rounded before it is judged."""


def train(options: TrainOptions, report: Report = quiet, cancel: threading.Event | None = None) -> Path:
    """Run the wanted stages, in float32, and save the parts once all have been run.

    What a stage makes lies in a folder beside the parts, named like them with `.training` added; later stages, and
    `resume`, build on it.

    Returns:
        The folder of the parts, or that other folder where stages are still to come.

    Raises:
        Cancelled: `cancel` was set; what was finished stays for `resume`.
        UserError: the prompts or the model will not do, a stage lacks what it builds on, or nothing can be written.
    """
    prompts = read_prompts(options.prompts)
    folder = ModelStore().resolve(options.model, report, cancel)
    model = load_model(folder, dtype=DType.FLOAT32, report=report, cancel=cancel)
    out = options.out or user_parts() / model.info.name
    if options.stage is Stage.ADAINFER:
        return train_adainfer(model, prompts, options, out, report, cancel)
    run = _Training(model, prompts, options, Workspace(out.with_name(out.name + ".training")), report, cancel)
    if not options.resume:
        run.work.reset(options.steps)
    for step in options.steps:
        run.run(step)
        check(cancel)
    if options.stage not in (Stage.PROFILE, Stage.ALL):
        return run.work.folder
    save_parts(out, run.parts(), drafter_dtype=STORED)
    return out


class _Training:
    """One run over the stages."""

    def __init__(
        self,
        model: LoadedModel,
        prompts: list[Prompt],
        options: TrainOptions,
        work: Workspace,
        report: Report,
        cancel: threading.Event | None,
    ) -> None:
        self.model, self.prompts, self.options, self.work = model, prompts, options, work
        self._report, self._cancel = report, cancel

    def run(self, stage: Stage) -> None:
        """Do one stage, or what an earlier run left of it."""
        if stage is Stage.DATA:
            self._answers()
        elif stage is Stage.DRAFTER:
            train_drafter(self.model, self._answers(), self.options, self.work, self._report, self._cancel)
        elif stage is Stage.PREDICTORS:
            arguments = self._answers(), self.options, self.work, self._report, self._cancel
            train_predictors(self.model, self._head(), *arguments)
        elif stage is Stage.PROFILE:
            self._profile()

    def parts(self) -> TrainedParts:
        """What all stages together have made."""
        head, predictors, profile = self._head(), load_predictors(self.work), self._profile()
        card = make_card(self.options, self._answers(), head, drafter_facts(self.work), predictors.facts, profile)
        ranking = rank_layers(profile["exits"], predictors.facts["tune_auc"])
        return TrainedParts(self.model.info.fingerprint, head, predictors.bank, ranking, card)

    def _answers(self) -> Answers:
        return write_answers(self.model, self.prompts, self.options, self.work, self._report, self._cancel)

    def _head(self) -> DraftHead:
        rounded = {name: weight.to(STORED) for name, weight in best_head(self.model, self.work).state().items()}
        return DraftHead.from_state(self.model.decoder, rounded)

    def _profile(self) -> dict[str, Any]:
        bank = load_predictors(self.work).bank
        ranking = rank_layers([0] * bank.layers, [0.0] * bank.layers)
        parts = TrainedParts(self.model.info.fingerprint, self._head(), bank, ranking)
        engine = Engine(self.model, parts)
        return profile_exits(engine, self.prompts, self.options, self.work, self._report, self._cancel)
