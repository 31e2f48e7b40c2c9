"""The stage that lets the target answer, until its time is over."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

from core.errors import UserError
from core.model.loading import LoadedModel
from core.progress import Progress, Report, check
from core.training.answers import Answer, Answerer, Job
from core.training.data import Answers, arrays
from core.training.jobs import Jobs
from core.training.looks import forget_looks
from core.training.options import BUILDS_ON, Stage, TrainOptions
from core.training.prompts import Prompt, Split, Use, digest
from core.training.self_prompts import SelfPrompts, load_prompts
from core.training.workspace import Timer, Workspace

ROWS, LONG_ROWS = 160, 32
"""Answers written side by side: to short prompts, and to long ones, whose K/V need more room."""
LONG_SHARE = 0.15
"""Of the time, for training prompts that are long."""
CHUNK = 48
"""Answers in a file."""


def write_answers(
    model: LoadedModel,
    prompts: Sequence[Prompt],
    options: TrainOptions,
    work: Workspace,
    report: Report,
    cancel: threading.Event | None,
) -> Answers:
    """Let the target answer, in the order that `core.training.jobs` gives; the held-out prompts whatever the time.

    Where this stage alone is resumed with more time than it has had, it adds answers to finished ones, and what later
    stages made from those is thrown away.

    Raises:
        Cancelled: `cancel` was set; what was written stays.
        UserError: earlier data came from other prompts or another model, or no prompt is short enough.
    """
    state = _state(model, prompts, work)
    if state["done"] and options.stage is Stage.DATA and options.seconds(Stage.DATA) > state["seconds"]:
        _forget_later(work)
        state["done"] = False
    if not state["done"]:
        _Stage(model, prompts, options, work, state, report, cancel).run()
    stored = _stored(prompts, work)
    for use in Use:
        if not stored.of(use):
            part = Split.TRAIN if use is Use.RESERVED else use
            raise UserError(f"Too few prompts of the {part} part are short enough for training; add shorter prompts.")
    return stored


def _forget_later(work: Workspace) -> None:
    """Throw away what was made from the answers so far."""
    work.reset(tuple(stage for stage in BUILDS_ON if Stage.DATA in BUILDS_ON[stage]))
    forget_looks(work)


def _stored(prompts: Sequence[Prompt], work: Workspace) -> Answers:
    return Answers(work.files(Stage.DATA, "answers-*.safetensors"), [*prompts, *load_prompts(work)])


def _state(model: LoadedModel, prompts: Sequence[Prompt], work: Workspace) -> dict[str, Any]:
    """How far an earlier run came, after checking that it is this one's; raises as `write_answers`."""
    fresh = {"digest": digest(prompts), "model": model.info.fingerprint, "seconds": 0.0, "done": False}
    state = fresh | (work.load_json(Stage.DATA, "state.json") or {})
    if state["digest"] != fresh["digest"]:
        raise UserError(
            "The interrupted run used other prompts; give the same files in the same order, or train without --resume."
        )
    if state["model"] != fresh["model"]:
        raise UserError("The interrupted run was for another model; give another --out, or train without --resume.")
    return state


class _Stage:
    """One run of the stage."""

    def __init__(
        self,
        model: LoadedModel,
        prompts: Sequence[Prompt],
        options: TrainOptions,
        work: Workspace,
        state: dict[str, Any],
        report: Report,
        cancel: threading.Event | None,
    ) -> None:
        self._model, self._work, self._state, self._report, self._cancel = model, work, state, report, cancel
        stored = _stored(prompts, work)
        self._timer = Timer(state["seconds"], options.seconds(Stage.DATA))
        self._own = SelfPrompts(model, prompts, work)
        self._seed = options.seed + len(stored.files)
        self._jobs = Jobs(model, stored, self._own, self._timer, self._seed)
        self._lacking = {use for use in (Use.TRAIN, Use.RESERVED) if not stored.of(use)}
        self._waiting: list[Answer] = []
        self._tokens = self._answers = 0

    def run(self) -> None:
        """Write until the time is over; raises `Cancelled` once what is there has been saved."""
        jobs = self._jobs
        self._write(jobs.long, LONG_ROWS, jobs.greedy(jobs.long), LONG_SHARE if jobs.short else 1.0)
        self._write(jobs.short, ROWS, self._all_short(), 1.0)
        self._save()
        check(self._cancel)
        self._state |= {"seconds": self._timer.elapsed, "done": True}
        self._work.save_json(Stage.DATA, "state.json", self._state)

    def _all_short(self) -> Iterator[Job]:
        yield from self._jobs.greedy(self._jobs.short)
        yield from self._jobs.further()

    def _write(self, indices: Sequence[int], rows: int, jobs: Iterator[Job], share: float) -> None:
        """Do these jobs until `share` of the time is over and the held-out ones of these prompts are done."""
        held_out = self._jobs.held_out(indices)
        last = share >= 1

        def enough() -> bool:
            finished = not held_out and not (last and self._lacking)
            return self._cancelled or (finished and self._timer.share >= share)

        if not indices or enough():
            return
        for answer in self._answerer(indices, rows).run(jobs, enough):
            if answer.ended or not self._cancelled:
                held_out.discard(answer.job.prompt)
                self._note(answer)

    def _answerer(self, indices: Sequence[int], rows: int) -> Answerer:
        return Answerer(
            self._model.decoder,
            self._model.tokenizer.end_ids,
            rows=rows,
            limit=self._jobs.limit(indices),
            longest=self._jobs.longest(indices),
            seed=self._seed,
            admit=self._jobs.admit,
            written=self._own.longest,
        )

    @property
    def _cancelled(self) -> bool:
        return self._cancel is not None and self._cancel.is_set()

    def _note(self, answer: Answer) -> None:
        self._waiting.append(answer)
        self._tokens += len(answer.ids)
        self._answers += 1
        self._lacking.discard(self._own.prompts[answer.job.prompt].use)
        timer = self._timer
        message = f"Writing answers: {self._tokens} tokens of {self._answers} answers"
        self._report(Progress(message, int(timer.elapsed), int(timer.limit), "seconds"))
        if len(self._waiting) >= CHUNK:
            self._save()

    def _save(self) -> None:
        """Write what is waiting: prompts before their answers, so that no answer lacks its prompt."""
        if not self._waiting:
            return
        self._own.save(self._work)
        tensors = {name: tensor for answer in self._waiting for name, tensor in arrays(answer)}
        number = len(self._work.files(Stage.DATA, "answers-*.safetensors"))
        self._work.save_tensors(Stage.DATA, f"answers-{number:05}.safetensors", tensors)
        self._work.save_json(Stage.DATA, "state.json", self._state | {"seconds": self._timer.elapsed})
        self._waiting = []
