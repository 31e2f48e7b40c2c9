"""From a model and prompts to trained parts; each stage resumable, see `core.training.options`."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, assert_never

import torch

from core.choices import DType, Lens
from core.drafting.head import DraftHead
from core.engine import Engine
from core.errors import UserError
from core.exits.adainfer import AdaInferParts
from core.exits.parts import TrainedParts
from core.exits.parts_folder import user_parts
from core.exits.parts_reading import load_parts
from core.exits.parts_writing import save_parts
from core.model.loading import LoadedModel, load_model
from core.model.store import ModelStore
from core.progress import Progress, Report, check, quiet
from core.training.ablations import ablate
from core.training.adainfer import fit_stage, has_libraries, load_adainfer, train_adainfer
from core.training.card import make_card
from core.training.data import Answers
from core.training.data_stage import write_answers
from core.training.drafter import best_head, drafter_facts, train_drafter
from core.training.lens_stage import has_lens, lens_facts, load_lens, train_lens
from core.training.looks import forget_looks
from core.training.options import Stage, TrainOptions, workplace
from core.training.predictor_stage import Ground, load_predictors, train_predictors, tune_views
from core.training.profile import curve, offline_tradeoff, predictor_share, profile_exits, profiled_at, rank_layers
from core.training.prompts import Prompt, read_prompts
from core.training.slim_stage import has_slim, load_slim, load_trimmed, slim_facts, train_slim
from core.training.tune_stage import tune, tune_facts
from core.training.workspace import Workspace

__all__ = ["Stage", "TrainOptions", "train"]

STORED = torch.float16
"""The number format of the parts' large weights; they are rounded before they are judged."""

WRITING = (Stage.PROFILE, Stage.TUNE, Stage.ALL)
"""After these the parts are written."""


def train(options: TrainOptions, report: Report = quiet, cancel: threading.Event | None = None) -> Path:
    """Run the wanted stages, in float32, and save the parts once there is a profile.

    What a stage makes lies in a folder beside the parts, named like them with `.training` added; later stages, and
    `resume`, build on it.

    Returns:
        The folder of the parts, or that other folder where stages are still to come; of ablations, a file in it.

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
    work = Workspace(workplace(out))
    run = _Training(model, folder, prompts, options, out, work, report, cancel)
    if options.stage is Stage.ABLATIONS:
        return run.ablate()
    if not options.resume:
        work.reset(options.steps)
        if Stage.PREDICTORS in options.steps:
            forget_looks(work)
    for step in options.steps:
        run.run(step)
        check(cancel)
    return out if options.stage in WRITING else work.folder


def _of_stage(stage: Stage, report: Report) -> Report:
    """The same report, which adds the stage that is being done."""
    return lambda progress: report(replace(progress, part=stage.value))


class _Training:
    """One run over the stages."""

    def __init__(
        self,
        model: LoadedModel,
        folder: Path,
        prompts: list[Prompt],
        options: TrainOptions,
        out: Path,
        work: Workspace,
        report: Report,
        cancel: threading.Event | None,
    ) -> None:
        """`folder` is where the model lies, `out` where the parts go."""
        self.model, self.folder, self.prompts, self.options = model, folder, prompts, options
        self.out, self.work, self._told, self._cancel = out, work, report, cancel
        self._report = report
        """Tells with every progress whose stage it is."""

    def run(self, stage: Stage) -> None:
        """Do one stage, or what an earlier run left of it."""
        self._report = _of_stage(stage, self._told)
        common = self.options, self.work, self._report, self._cancel
        match stage:
            case Stage.DATA:
                self._answers()
            case Stage.DRAFTER:
                train_drafter(self.model, self._answers(), *common)
            case Stage.HEAD:
                train_slim(self._head(), self._answers(), *common)
            case Stage.LENS:
                train_lens(self.model.decoder, self._answers(), *common)
            case Stage.PREDICTORS:
                train_predictors(self._ground())
            case Stage.PROFILE:
                self._profile()
                self._save()
            case Stage.ADAINFER:
                self._adainfer()
            case Stage.TUNE:
                self._tune()
                self._save()
            case Stage.ALL | Stage.ABLATIONS:
                raise AssertionError(f"{stage} is no step of its own")
            case _:
                assert_never(stage)

    def ablate(self) -> Path:
        """Try other predictors on what the stages have made; the table's file."""
        if not self.options.resume:
            self.work.reset((Stage.ABLATIONS,))
        load_predictors(self.work)
        return ablate(self._ground())

    def _save(self) -> None:
        save_parts(self.out, self._parts(self._profile(), card=True), drafter_dtype=STORED)

    def _parts(self, profile: Mapping[str, Any] | None, *, card: bool = False) -> TrainedParts:
        """What the stages have made; without a profile, with any ranking."""
        decoder, work, predictors = self.model.decoder, self.work, load_predictors(self.work)
        auc = predictors.facts[Lens.IDENTITY.value]["tune_auc"]
        adainfer, about = self._classifiers() if card else (None, {})
        return TrainedParts(
            fingerprint=self.model.info.fingerprint,
            drafter=self._head(),
            predictors=predictors.banks[Lens.IDENTITY],
            offline_ranking=rank_layers(profile["exits"] if profile else [0] * len(auc), auc),
            card=self._card(profile, about) if card and profile else {},
            adainfer=adainfer,
            slim=load_slim(decoder, work) if has_slim(work) else None,
            lens=load_lens(decoder, work) if Lens.TUNED in predictors.banks else None,
            lens_predictors=predictors.banks.get(Lens.TUNED),
            trimmed=load_trimmed(decoder, work),
        )

    def _card(self, profile: Mapping[str, Any], adainfer: Mapping[str, Any]) -> dict[str, Any]:
        return make_card(
            self.options,
            self._answers(),
            self._head(),
            {
                "drafter": drafter_facts(self.work),
                "head": slim_facts(self.work),
                "lens": lens_facts(self.work),
                "predictors": load_predictors(self.work).facts,
                "profile": profile,
                "tune": tune_facts(self.work),
                "adainfer": adainfer,
            },
        )

    def _answers(self) -> Answers:
        return write_answers(self.model, self.prompts, self.options, self.work, self._report, self._cancel)

    def _head(self) -> DraftHead:
        rounded = {name: weight.to(STORED) for name, weight in best_head(self.model, self.work).state().items()}
        return DraftHead.from_state(self.model.decoder, rounded)

    def _ground(self) -> Ground:
        lens = load_lens(self.model.decoder, self.work) if has_lens(self.work) else None
        common = self.options, self.work, self._report, self._cancel
        return Ground(self._head(), lens, self._answers(), *common)

    def _profile(self) -> dict[str, Any]:
        """The profile with what follows from it."""
        predictors = load_predictors(self.work)
        settings = profiled_at(predictors.facts)
        engine = Engine(self.model, self._parts(None))
        common = self.options, self.work, self._report, self._cancel
        found = profile_exits(engine, settings, self.prompts, *common)
        facts = self.work.load_json(Stage.PROFILE, "facts.json")
        if facts is None:
            lens, auc = Lens(found["lens"]), predictors.facts[Lens.IDENTITY.value]["tune_auc"]
            views, ranking = tune_views(self._ground(), lens), rank_layers(found["exits"], auc)
            share = predictor_share(found)
            rows = offline_tradeoff(views, predictors.banks[lens], ranking, found["threshold"], share)
            facts = {
                "predictor_layers": round(share, 4),
                "hit_rate_curve": curve(found, settings.scheduler.radius),
                "offline": rows,
                "offline_layers": min(rows, key=lambda row: row["layer_times"])["offline_layers"],
            }
            self.work.save_json(Stage.PROFILE, "facts.json", facts)
        return found | facts

    def _adainfer(self) -> None:
        """The baseline's classifiers where their libraries are; what is there already stays otherwise."""
        if has_libraries():
            fit_stage(self.model, self._answers(), self.options, self.work, self._report, self._cancel)
        else:
            self._report(Progress("AdaInfer is left out: it needs `pip install specee-viewer[adainfer]`"))

    def _classifiers(self) -> tuple[AdaInferParts | None, dict[str, Any]]:
        """AdaInfer's, with their card: of this run, or of the parts that are to be replaced."""
        own = load_adainfer(self.work)
        if own is not None:
            return own
        try:
            before = load_parts(self.out, self.model)
        except UserError:
            return None, {}
        return before.adainfer, dict(before.card.get("adainfer", {}))

    def _tune(self) -> None:
        """Find the operating point with the parts as they are stored, in the format that runs are fastest in."""
        profile = self._profile()
        self._save()
        model = load_model(self.folder, report=self._report, cancel=self._cancel)
        model = self.model if model.info.dtype == self.model.info.dtype else model
        ground = self._ground()
        views = {lens: tune_views(ground, lens) for lens in load_predictors(self.work).banks}
        engine = Engine(model, load_parts(self.out, model))
        common = self.options, self.work, self._report, self._cancel
        tune(engine, views, profile["predictor_layers"], self.prompts, *common)
