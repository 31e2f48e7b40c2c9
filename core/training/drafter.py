"""The stage that trains the drafter: epochs over the answers, with looks at tune prompts and checkpoints in between."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from core.drafting.head import DraftHead
from core.errors import UserError
from core.model.loading import LoadedModel
from core.progress import Progress, Report, check
from core.training.data import Answers, Key
from core.training.distil import Vocabulary, token_mass
from core.training.drafter_steps import DrafterTraining, Recipe
from core.training.examples import Example, batches, read_examples
from core.training.options import Stage, TrainOptions
from core.training.prompts import Use
from core.training.quality import DrafterQuality, chain_quality
from core.training.workspace import Timer, Workspace

SLOTS = 1536
"""Padded slots of a batch."""
COLUMNS, SAMPLED, COVERAGE = 8192, 1024, 0.995
EPOCHS = 40
"""No more than so many, however much time is left."""
EVALUATIONS = 12
"""How often tune prompts are looked at."""
DEPTHS = 3
"""Tokens of a chain that are judged then."""
SAVE_SECONDS = 60.0
TUNE_SLOTS = 4000


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a drafter is trained on, for how long, and where its files go."""

    name: str
    """For the user: "the drafter"."""
    stage: Stage
    prefix: str
    """Of its files' names."""
    keys: Sequence[Key]
    """The answers to learn from."""
    seconds: float
    recipe: Recipe = field(default_factory=Recipe)


def train_drafter(
    model: LoadedModel,
    answers: Answers,
    options: TrainOptions,
    work: Workspace,
    report: Report,
    cancel: threading.Event | None,
) -> DraftHead:
    """Train on all training prompts until the stage's time is over; raises as `fit_drafter`."""
    seconds = options.seconds(Stage.DRAFTER)
    whole = Assignment("the drafter", Stage.DRAFTER, "", answers.of(Use.TRAIN), seconds)
    return fit_drafter(model, answers, whole, options.seed, work, report, cancel)


def fit_drafter(
    model: LoadedModel,
    answers: Answers,
    assignment: Assignment,
    seed: int,
    work: Workspace,
    report: Report,
    cancel: threading.Event | None,
) -> DraftHead:
    """Train until the time is over, and return the head that did best on tune prompts.

    Raises:
        Cancelled: `cancel` was set; a checkpoint stays.
        UserError: a checkpoint is damaged.
    """
    training = DrafterTraining(model, seed, assignment.recipe)
    saved = work.load_json(assignment.stage, assignment.prefix + "course.json")
    if saved is not None:
        training.restore(work.load_tensors(assignment.stage, assignment.prefix + "checkpoint.safetensors"), saved)
    if not training.course.done:
        _Loop(training, answers, assignment, work, report, cancel).run()
    best = work.load_tensors(assignment.stage, assignment.prefix + "best.safetensors")
    return DraftHead.from_state(model.decoder, best)


def best_head(model: LoadedModel, work: Workspace) -> DraftHead:
    """The head that an earlier stage trained.

    Raises:
        UserError: there is none.
    """
    if not work.path(Stage.DRAFTER, "best.safetensors").is_file():
        raise UserError("No drafter has been trained here yet; run the stages data and drafter first.")
    return DraftHead.from_state(model.decoder, work.load_tensors(Stage.DRAFTER, "best.safetensors"))


def drafter_facts(work: Workspace) -> dict[str, Any]:
    """How the drafter was trained, for the parts' card."""
    course = work.load_json(Stage.DRAFTER, "course.json") or {}
    facts = work.load_json(Stage.DRAFTER, "facts.json") or {}
    return facts | {name: course[name] for name in ("step", "epoch", "seconds", "curve") if name in course}


class _Loop:
    """Epochs over the data, with looks at tune prompts and checkpoints in between."""

    def __init__(
        self,
        training: DrafterTraining,
        answers: Answers,
        assignment: Assignment,
        work: Workspace,
        report: Report,
        cancel: threading.Event | None,
    ) -> None:
        self._training, self._work, self._report, self._cancel = training, work, report, cancel
        self._assignment = assignment
        self._examples = read_examples(answers, assignment.keys)
        self._tune = _up_to(read_examples(answers, answers.greedy_of(Use.TUNE)))
        self._vocabulary = _vocabulary(training, self._examples)
        self._random = torch.Generator().manual_seed(training.seed + training.course.step)
        self._timer = Timer(training.course.seconds, assignment.seconds)
        self._saved_at = self._timer.elapsed
        self._losses: list[float] = []
        self._quality = [DrafterQuality.empty()] * DEPTHS
        self._fresh = False
        """Whether tune prompts were looked at since the last report."""

    def run(self) -> None:
        self._note_facts()
        course = self._training.course
        while course.epoch < EPOCHS and self._has_time():
            order = batches(self._examples, SLOTS, np.random.default_rng([self._training.seed, course.epoch]))
            while course.batch < len(order) and self._has_time():
                self._learn([self._examples[i] for i in order[course.batch]])
                course.batch += 1
            if course.batch >= len(order):
                course.epoch, course.batch = course.epoch + 1, 0
        self._look()
        course.done = True
        self._save()

    def _has_time(self) -> bool:
        """One step is made whatever the budget."""
        return self._training.course.step == 0 or not self._timer.over

    def _learn(self, examples: Sequence[Example]) -> None:
        if self._cancel is not None and self._cancel.is_set():
            self._save()
            check(self._cancel)
        self._losses.append(self._training.learn(examples, self._vocabulary, self._timer.share, self._random))
        if self._timer.share * EVALUATIONS >= len(self._training.course.curve) + 1:
            self._look()
        if self._timer.elapsed - self._saved_at > SAVE_SECONDS:
            self._save()
        self._tell()

    def _look(self) -> None:
        """Measure on tune prompts, and keep the weights where they are the best so far."""
        course = self._training.course
        self._quality = chain_quality(self._training.head, self._tune, DEPTHS)
        self._fresh = True
        loss = float(np.mean(self._losses[-100:])) if self._losses else float("nan")
        course.curve.append({"step": course.step, "loss": loss, **_by_depth(self._quality)})
        top4 = float(np.mean([one.top4 for one in self._quality]))
        if top4 > course.best:
            course.best = top4
            self._work.save_tensors(self._assignment.stage, self._file("best.safetensors"), self._training.weights())

    def _save(self) -> None:
        self._training.course.seconds = self._saved_at = self._timer.elapsed
        stage = self._assignment.stage
        self._work.save_tensors(stage, self._file("checkpoint.safetensors"), self._training.state())
        self._work.save_json(stage, self._file("course.json"), self._training.course.values())

    def _file(self, name: str) -> str:
        return self._assignment.prefix + name

    def _tell(self) -> None:
        course, quality = self._training.course, self._quality
        loss = float(np.mean(self._losses[-50:]))
        chain = " / ".join(f"{one.top1:.1%}, {one.top4:.1%}" for one in quality)
        message = (
            f"Training {self._assignment.name}: epoch {course.epoch + 1}, step {course.step}, loss {loss:.3f}; "
            f"on tune prompts top-1, top-4 at depth 1…{DEPTHS}: {chain}"
        )
        figures = {"step": float(course.step), "loss": loss}
        if self._fresh:
            figures |= {"top1": quality[0].top1, "top4": quality[0].top4}
        self._fresh = False
        timer = self._timer
        self._report(Progress(message, int(timer.elapsed), int(timer.limit), "seconds", figures=figures))

    def _note_facts(self) -> None:
        slots = sum(int(example.learned.sum()) for example in self._examples)
        facts = {
            "answers": len(self._examples),
            "learned_slots": slots,
            "answer_tokens": sum(int(example.drafted.sum()) for example in self._examples),
            "columns_always": len(self._vocabulary.always),
            "columns_sampled": SAMPLED,
            "columns_mass": round(self._vocabulary.covered, 5),
        }
        self._work.save_json(self._assignment.stage, self._file("facts.json"), facts)


def _by_depth(qualities: Sequence[DrafterQuality]) -> dict[str, float]:
    """Depth 1 under the plain names, deeper ones with their number: `top1`, `top1_depth2`."""
    found = qualities[0].values()
    for depth, one in enumerate(qualities[1:], 2):
        found |= {f"{name}_depth{depth}": value for name, value in one.values().items() if name != "tokens"}
    return found


def _vocabulary(training: DrafterTraining, examples: Sequence[Example]) -> Vocabulary:
    head = training.decoder.head_weight.float()
    mass = torch.zeros(len(head), dtype=torch.float64)
    for example in examples:
        at = example.learned
        mass += token_mass(example.top_ids[at], example.top_probabilities[at], len(head))
    return Vocabulary(head, mass, most=COLUMNS, sampled=SAMPLED, coverage=COVERAGE)


def _up_to(examples: list[Example]) -> list[Example]:
    """The first examples, every other category's among them, that hold about `TUNE_SLOTS` drafted slots."""
    total = sum(int(example.drafted.sum()) for example in examples)
    return examples[:: max(1, round(total / TUNE_SLOTS))]
