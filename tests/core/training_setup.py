"""A tiny model, its answers, and what they are compared with, for the tests of training."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor

from core.choices import DType
from core.model.loading import LoadedModel, load_model
from core.training.answers import Answer, Answerer, Job
from core.training.data import Answers, Key, arrays
from core.training.options import Stage
from core.training.prompts import Prompt, read_prompts
from core.training.workspace import Workspace
from tests.tiny import make_tiny_model


def tiny_model(folder: Path, family: str = "llama", **config: object) -> LoadedModel:
    """A model that does not end its answers after a token or two."""
    make_tiny_model(folder, family, **{"tied": False, "seed": 3, **config})  # type: ignore[arg-type]
    return load_model(folder, dtype=DType.FLOAT32)


def prompt_file(path: Path, count: int = 12) -> Path:
    lines = [{"id": str(i), "category": "ab"[i % 2], "prompt": f"say {i} words about the sea"} for i in range(count)]
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return path


def write_some(model: LoadedModel, jobs: list[Job], **changed: int) -> list[Answer]:
    settings = {"rows": 3, "limit": 12, "longest": max(len(job.ids) for job in jobs), "seed": 0} | changed
    answerer = Answerer(model.decoder, model.tokenizer.end_ids, **settings)  # type: ignore[arg-type]
    return list(answerer.run(iter(jobs), lambda: False))


def greedy_jobs(model: LoadedModel, count: int = 5, stride: int = 2) -> list[Job]:
    texts = [f"the {'quick ' * i}fox {i}" for i in range(count)]
    return [Job(i, 0, tuple(model.tokenizer.encode_chat(text)), 0.0, stride) for i, text in enumerate(texts)]


def store(answers: list[Answer], folder: Path, prompts: list[Prompt]) -> Answers:
    """As the data stage stores them."""
    work = Workspace(folder)
    tensors = {name: tensor for answer in answers for name, tensor in arrays(answer)}
    work.save_tensors(Stage.DATA, "answers-00000.safetensors", tensors)
    return Answers(work.files(Stage.DATA, "answers-*.safetensors"), prompts)


def stored_answers(model: LoadedModel, folder: Path) -> Answers:
    prompts = read_prompts([prompt_file(folder / "prompts.jsonl")])
    jobs = [Job(i, 0, tuple(model.tokenizer.encode_chat(p.text)), 0.0, 1) for i, p in enumerate(prompts)]
    return store(write_some(model, jobs, rows=6), folder / "work", prompts)


@torch.no_grad()
def teacher_forced(model: LoadedModel, ids: list[int]) -> list[Tensor]:
    """norm(h_l) [n, d] of every layer over these tokens, by the decoder alone."""
    decoder = model.decoder
    cache, rows = decoder.new_cache(len(ids)), decoder.rows(range(len(ids)), len(ids))
    x, found = decoder.embed(torch.tensor(ids)), []
    for index in range(decoder.config.depth):
        x = decoder.layer(index, x, rows, cache)
        found.append(decoder.norm(x))
    return found


def full_ids(answers: Answers, key: Key) -> tuple[list[int], int]:
    """Prompt and answer, and the prompt's length."""
    prompt = answers.read(Key(key.prompt, 0), "prompt_ids").tolist()
    return prompt + answers.read(key, "ids").tolist(), len(prompt)
