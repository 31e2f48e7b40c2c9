"""Training the drafter: EAGLE-1's head, KL only (`specee.md` §§5, 8), against distributions that the target left.

Noise on the features, and features of late layers in place of the last one's at some positions, prepare it for what
it meets after an early exit.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.drafting.head import DraftHead
from core.errors import UserError
from core.model.loading import LoadedModel
from core.progress import Progress, Report, check
from core.training.adam import Adam
from core.training.data import Answers, Key
from core.training.distil import Columns, Vocabulary, distil, token_mass
from core.training.examples import Example, batches, padded, read_examples
from core.training.options import Stage, TrainOptions
from core.training.prompts import Use
from core.training.quality import DrafterQuality, drafter_quality
from core.training.workspace import Timer, Workspace

SLOTS = 1536
"""Padded slots of a batch."""
RATE, WARM_UP, LAST_RATE = 1e-3, 0.04, 0.02
"""Peak learning rate, share of the time before it, and what is left of it at the end (cosine)."""
BETAS, DECAY, CLIP = (0.9, 0.95), 0.05, 1.0
NOISE = 0.1
"""Uniform within ± this, on the features."""
EARLY = 0.15
"""Share of positions whose feature is a late layer's."""
COLUMNS, SAMPLED, COVERAGE = 8192, 1024, 0.995
EPOCHS = 40
"""No more than so many, however much time is left."""
EVALUATIONS = 16
"""How often tune prompts are looked at."""
SAVE_SECONDS = 60.0
TUNE_SLOTS = 4000


@dataclass(slots=True)
class Course:
    """How far training has come."""

    epoch: int = 0
    batch: int = 0
    step: int = 0
    seconds: float = 0.0
    done: bool = False
    best: float = -1.0
    """Highest top-4 rate on tune prompts."""
    curve: list[dict[str, float]] = field(default_factory=list)

    def values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in Course.__slots__}


class DrafterTraining:
    """The head's parameters, its optimiser, and where in the data they are."""

    def __init__(self, model: LoadedModel, seed: int) -> None:
        self.decoder, self.seed = model.decoder, seed
        start = DraftHead.random(model.decoder, torch.Generator().manual_seed(seed)).state()
        self.parameters = {name: weight.clone().requires_grad_() for name, weight in start.items()}
        self.head = DraftHead.from_state(model.decoder, self.parameters)
        self.adam = Adam(self.parameters, betas=BETAS, decay=DECAY)
        self.course = Course()

    def state(self) -> dict[str, Tensor]:
        """Weights and the optimiser's moments, for a checkpoint."""
        return self.parameters | self.adam.state()

    def restore(self, state: Mapping[str, Tensor], course: Mapping[str, Any]) -> None:
        """Take back what `state` and the course's values gave."""
        self.course = Course(**course)
        with torch.no_grad():
            for name, weight in self.parameters.items():
                weight.copy_(state[name])
        self.adam.restore(state, self.course.step)

    def learn(
        self, examples: Sequence[Example], vocabulary: Vocabulary, share: float, random: torch.Generator
    ) -> float:
        """One step over a batch; the mean loss of a slot.

        `share` of the time has passed; it sets the learning rate.
        """
        features = mixed_features(examples, random)
        embedded = self.decoder.embed(padded([example.ids for example in examples]))
        learned = padded([example.learned for example in examples])
        predicted = self.head.forward_batch(embedded, features)[learned]
        top_ids = padded([example.top_ids for example in examples])[learned]
        probabilities = padded([example.top_probabilities for example in examples])[learned]
        columns: Columns = vocabulary.columns(random)
        total, gradient = distil(predicted.detach(), vocabulary.place[top_ids], probabilities, columns)
        torch.autograd.backward(predicted, gradient / len(predicted))
        torch.nn.utils.clip_grad_norm_(list(self.parameters.values()), CLIP)
        self.adam.step(RATE * rate_at(share))
        self.course.step += 1
        return total / len(predicted)

    def weights(self) -> dict[str, Tensor]:
        """The head's weights alone."""
        return {name: weight.detach().clone() for name, weight in self.parameters.items()}


def rate_at(share: float) -> float:
    """The learning rate's factor when `share` of the time has passed."""
    if share < WARM_UP:
        return max(share / WARM_UP, 0.01)
    along = (share - WARM_UP) / (1 - WARM_UP)
    return LAST_RATE + (1 - LAST_RATE) * 0.5 * (1 + math.cos(math.pi * along))


def mixed_features(examples: Sequence[Example], random: torch.Generator) -> Tensor:
    """Features of a batch as training feeds them, [b, n, d]: some of a late layer, all with noise."""
    full = padded([example.features for example in examples]).float()
    early = padded([example.early for example in examples]).float()
    chosen = torch.rand(full.shape[:2], generator=random) < EARLY
    mixed = torch.where(chosen[..., None], early, full)
    return mixed.add_(torch.rand(mixed.shape, generator=random).mul_(2 * NOISE).sub_(NOISE))


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
    training = DrafterTraining(model, seed)
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
        self._quality = DrafterQuality.empty()

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
        self._quality = drafter_quality(self._training.head, self._tune)
        loss = float(np.mean(self._losses[-100:])) if self._losses else float("nan")
        course.curve.append({"step": course.step, "loss": loss, **self._quality.values()})
        if self._quality.top4 > course.best:
            course.best = self._quality.top4
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
        message = (
            f"Training {self._assignment.name}: epoch {course.epoch + 1}, step {course.step}, loss {loss:.3f}; "
            f"on tune prompts top-1 {quality.top1:.1%}, top-4 {quality.top4:.1%}"
        )
        self._report(Progress(message, int(self._timer.elapsed), int(self._timer.limit), "seconds"))

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
