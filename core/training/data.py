"""What training learns from: answers that the target wrote, in files that grow as it writes.

A chunk holds some answers; its tensors are named PROMPT.SAMPLE.FIELD, counting prompts as `read_prompts` lists them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from core.errors import UserError
from core.model.loading import LoadedModel
from core.progress import Progress, Report, check
from core.training.answers import Answer, Answerer, Job
from core.training.options import Stage, TrainOptions
from core.training.prompts import Prompt, Split, digest
from core.training.workspace import Timer, Workspace

ROWS = 48
"""Answers written side by side."""
LIMIT = 256
"""Most tokens of an answer."""
LONGEST = 1024
"""Most tokens of a prompt; longer ones are left out."""
SHORT = 256
"""Prompts up to here are answered again and again; reading a longer one costs more than its answer is worth."""
ROUNDS = 8
TEMPERATURE = 0.8
KEPT = 20_000
"""About how many tokens have all their layers kept."""
CHUNK = 48
"""Answers in a file."""


@dataclass(frozen=True, slots=True)
class Key:
    """One stored answer."""

    prompt: int
    sample: int

    def name(self, field: str) -> str:
        return f"{self.prompt}.{self.sample}.{field}"


class Answers:
    """The stored answers, read a tensor at a time."""

    def __init__(self, files: Sequence[Path], prompts: Sequence[Prompt]) -> None:
        self.files, self.prompts = list(files), prompts
        self._at: dict[str, Path] = {}
        for path in self.files:
            self._at.update(dict.fromkeys(_names(path), path))

    @cached_property
    def keys(self) -> list[Key]:
        """Every answer, by prompt and sample."""
        pairs = [name.split(".") for name in self._at if name.endswith(".ids")]
        return [Key(*pair) for pair in sorted((int(prompt), int(sample)) for prompt, sample, _ in pairs)]

    def of(self, *splits: Split) -> list[Key]:
        """The answers to these splits' prompts."""
        return [key for key in self.keys if self.prompts[key.prompt].split in splits]

    def in_file(self, path: Path) -> list[Key]:
        """The answers of one chunk."""
        return [key for key in self.keys if self._at[key.name("ids")] == path]

    def read(self, key: Key, field: str) -> Tensor:
        """One array of an answer; the prompt's are stored with the greedy answer."""
        with safe_open(self._at[key.name(field)], "pt") as file:
            tensor: Tensor = file.get_tensor(key.name(field))
            return tensor

    def has(self, key: Key, field: str) -> bool:
        return key.name(field) in self._at


def write_answers(
    model: LoadedModel,
    prompts: Sequence[Prompt],
    options: TrainOptions,
    work: Workspace,
    report: Report,
    cancel: threading.Event | None,
) -> Answers:
    """Let the target answer: held-out prompts first, then the others, then the short ones again at a temperature.

    Raises:
        Cancelled: `cancel` was set; what was written stays.
        UserError: earlier data came from other prompts or another model, or no prompt is short enough.
    """
    state = _state(model, prompts, work)
    stored = Answers(work.files(Stage.DATA, "answers-*.safetensors"), prompts)
    if not state["done"]:
        timer = Timer(state["seconds"], options.seconds(Stage.DATA))
        _write(model, stored, options, work, state, timer, report, cancel)
        work.save_json(Stage.DATA, "state.json", state | {"seconds": timer.elapsed, "done": True})
        stored = Answers(work.files(Stage.DATA, "answers-*.safetensors"), prompts)
    for split in Split:
        if not stored.of(split):
            raise UserError(f"No prompt of the {split} part is short enough for training; add shorter prompts.")
    return stored


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


def _write(
    model: LoadedModel,
    stored: Answers,
    options: TrainOptions,
    work: Workspace,
    state: dict[str, Any],
    timer: Timer,
    report: Report,
    cancel: threading.Event | None,
) -> None:
    jobs = _jobs(model, stored)
    longest = max((len(job.ids) for job in jobs), default=1)
    answerer = Answerer(
        model.decoder,
        model.tokenizer.end_ids,
        rows=min(ROWS, max(len(jobs), 1)),
        limit=min(LIMIT, model.config.context - longest),
        longest=longest,
        stride=max(1, len(stored.prompts) * LIMIT // 2 // KEPT),
        seed=options.seed + len(stored.files),
    )
    waiting: list[Answer] = []
    tokens = 0
    lacking = {split for split in Split if not stored.of(split)}

    def enough() -> bool:
        return (timer.over and not lacking) or bool(cancel and cancel.is_set())

    for answer in answerer.run(iter(jobs), enough):
        waiting.append(answer)
        tokens += len(answer.ids)
        lacking.discard(stored.prompts[answer.job.prompt].split)
        report(Progress(f"Writing answers: {tokens} tokens", int(timer.elapsed), int(timer.limit), "seconds"))
        if len(waiting) >= CHUNK:
            _save(work, waiting, state, timer)
            waiting = []
    _save(work, waiting, state, timer)
    check(cancel)


def _jobs(model: LoadedModel, stored: Answers) -> list[Job]:
    """What is still to be answered, short prompts first, so that rows of a batch are about as long."""
    encoded = [_encode(model, prompt.text) for prompt in stored.prompts]
    longest = min(LONGEST, model.config.context // 2)
    order = sorted((i for i, ids in enumerate(encoded) if len(ids) <= longest), key=lambda i: len(encoded[i]))
    training = [i for i in order if stored.prompts[i].split is Split.TRAIN]
    rounds = [[*(i for i in order if stored.prompts[i].split is not Split.TRAIN), *training]]
    rounds += [[i for i in training if len(encoded[i]) <= SHORT]] * (ROUNDS - 1)
    done = set(stored.keys)
    return [
        Job(i, sample, tuple(encoded[i]), TEMPERATURE if sample else 0.0)
        for sample, indices in enumerate(rounds)
        for i in indices
        if Key(i, sample) not in done
    ]


def _encode(model: LoadedModel, text: str) -> list[int]:
    tokenizer = model.tokenizer
    return tokenizer.encode_chat(text) if tokenizer.has_chat_template else tokenizer.encode(text)


def _save(work: Workspace, answers: Sequence[Answer], state: dict[str, Any], timer: Timer) -> None:
    if not answers:
        return
    tensors = {name: tensor for answer in answers for name, tensor in _arrays(answer)}
    number = len(work.files(Stage.DATA, "answers-*.safetensors"))
    work.save_tensors(Stage.DATA, f"answers-{number:05}.safetensors", tensors)
    work.save_json(Stage.DATA, "state.json", state | {"seconds": timer.elapsed})


def _arrays(answer: Answer) -> Iterator[tuple[str, Tensor]]:
    key = Key(answer.job.prompt, answer.job.sample)
    yield key.name("ids"), torch.tensor(answer.ids, dtype=torch.int32)
    for field in ("features", "early", "top_ids", "top_probabilities"):
        yield key.name(field), torch.stack(getattr(answer, field))
    if answer.kept:
        yield key.name("kept"), torch.tensor(answer.kept, dtype=torch.int32)
        yield key.name("layers"), torch.stack(answer.layers)
    if answer.job.sample == 0:
        prompt = answer.prompt
        yield key.name("prompt_ids"), torch.tensor(prompt.ids, dtype=torch.int32)
        yield key.name("prompt_features"), prompt.features
        yield key.name("prompt_top_ids"), prompt.top_ids
        yield key.name("prompt_top_probabilities"), prompt.top_probabilities


def _names(path: Path) -> list[str]:
    try:
        with safe_open(path, "pt") as file:
            return list(file.keys())
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path} is damaged; train again without --resume.") from error
