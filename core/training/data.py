"""What training learns from: answers that the target wrote, in files that grow as it writes.

A chunk holds some answers; its tensors are named PROMPT.SAMPLE.FIELD, counting prompts as `read_prompts` lists them and
then those that the model wrote (`core.training.self_prompts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from core.errors import UserError
from core.training.answers import Answer
from core.training.prompts import Prompt, Use


@dataclass(frozen=True, slots=True)
class Key:
    """One stored answer."""

    prompt: int
    sample: int

    def name(self, field: str) -> str:
        return f"{self.prompt}.{self.sample}.{field}"


class Answers:
    """The stored answers, read a tensor at a time.

    Every answer has `ids` [m], and row j of these belongs to the position that emitted token j: `features` [m, d],
    `early` [m, d], `taps` [m, t, d], `top_ids` and `top_probabilities` [m, TOP] (`core.training.notes.Notes`). A greedy
    one, sample 0, also has the prompt's: `prompt_ids` [n] and, but for `early`, the same under `prompt_…`.

    Some greedy answers have `kept` [k], positions j among 1…m - 1, and `layers` [k, L - 1, d]: h_l of layers 0…L - 2 as
    the layers leave it, float16 or bfloat16, **not** normed. Every held-out answer has them at all its tokens but the
    first, those of reserved prompts likewise up to `jobs.KEPT_RESERVED` tokens in all, and about `jobs.KEPT_TRAIN`
    tokens of other training prompts, every `jobs.TRAIN_STRIDE`-th of an answer; `kept_of` lists them.
    """

    def __init__(self, files: Sequence[Path], prompts: Sequence[Prompt]) -> None:
        """`prompts` are all that have answers, those that the model wrote included."""
        self.files, self.prompts = list(files), prompts
        self._opened: dict[Path, Any] = {}
        self._at: dict[str, Path] = {}
        for path in self.files:
            self._at.update(dict.fromkeys(_names(path), path))

    @cached_property
    def keys(self) -> list[Key]:
        """Every answer, by prompt and sample."""
        pairs = [name.split(".") for name in self._at if name.endswith(".ids")]
        return [Key(*pair) for pair in sorted((int(prompt), int(sample)) for prompt, sample, _ in pairs)]

    def of(self, *uses: Use) -> list[Key]:
        """The answers to prompts of these uses, greedy and sampled; of reserved prompts there are greedy ones only."""
        return [key for key in self.keys if self.prompts[key.prompt].use in uses]

    def greedy_of(self, *uses: Use) -> list[Key]:
        """The greedy answers to prompts of these uses."""
        return [key for key in self.of(*uses) if key.sample == 0]

    def kept_of(self, *uses: Use) -> list[Key]:
        """The answers to prompts of these uses that have all layers of some tokens."""
        return [key for key in self.of(*uses) if self.has(key, "layers")]

    def read(self, key: Key, field: str) -> Tensor:
        """One array of an answer; the prompt's are stored with the greedy answer."""
        tensor: Tensor = self._file(key, field).get_tensor(key.name(field))
        return tensor

    def layer(self, key: Key, layer: int) -> Tensor:
        """One layer of an answer's `layers`, [k, d]; the others are not read."""
        states: Tensor = self._file(key, "layers").get_slice(key.name("layers"))[:, layer]
        return states

    def length(self, key: Key, field: str) -> int:
        """How many rows one of an answer's arrays has, 0 where there is none; the array is not read."""
        return int(self._file(key, field).get_slice(key.name(field)).get_shape()[0]) if self.has(key, field) else 0

    def _file(self, key: Key, field: str) -> Any:
        """The file that holds an array, opened once: reading its table of contents takes longer than an array."""
        path = self._at[key.name(field)]
        if path not in self._opened:
            self._opened[path] = safe_open(path, "pt")
        return self._opened[path]

    def has(self, key: Key, field: str) -> bool:
        return key.name(field) in self._at


def arrays(answer: Answer) -> Iterator[tuple[str, Tensor]]:
    """An answer's tensors under their names in a chunk."""
    key = Key(answer.job.prompt, answer.job.sample)
    yield key.name("ids"), torch.tensor(answer.ids, dtype=torch.int32)
    yield from ((key.name(field), values) for field, values in answer.own.items())
    if answer.layers is not None:
        yield key.name("kept"), torch.tensor(answer.kept, dtype=torch.int32)
        yield key.name("layers"), answer.layers
    if answer.job.sample == 0:
        yield key.name("prompt_ids"), torch.tensor(answer.job.ids, dtype=torch.int32)
        yield from ((key.name(f"prompt_{field}"), rows) for field, rows in answer.prompt.items() if field != "early")


def _names(path: Path) -> list[str]:
    try:
        with safe_open(path, "pt") as file:
            return list(file.keys())
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path} is damaged; train again without --resume.") from error
