"""Answers as the drafter sees them: pairs (token, feature of the position before) and what comes two tokens on.

Slot i of a sequence takes in token i + 1 with the feature of position i, and predicts what the target thinks at
position i + 1 of token i + 2 (`core.drafting.head`). A prompt's last `CONTEXT` tokens lead up to the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.training.data import Answers, Key

CONTEXT = 192


@dataclass(frozen=True, slots=True)
class Example:
    """n slots."""

    key: Key
    ids: Tensor
    """Shape [n], int64, the tokens taken in."""
    features: Tensor
    """Shape [n, d], float16, norm(h) at full depth of the positions before them."""
    early: Tensor
    """Shape [n, d], float16, the same at a late layer where one was kept."""
    taps: Tensor
    """Shape [n, t, d], float16, norm(h) at the layers of `core.drafting.taps.tap_layers`."""
    top_ids: Tensor
    """Shape [n, TOP], int64, the target's likeliest tokens."""
    top_probabilities: Tensor
    """Shape [n, TOP], float16."""
    drafted: Tensor
    """Shape [n], bool: the slot predicts a token that the drafter will be asked for, the answer's second or later."""
    learned: Tensor
    """Shape [n], bool: the slot counts in training: all of a greedy answer's, so that a prompt is learned from once."""

    def __len__(self) -> int:
        return len(self.ids)

    def states(self, taps: bool) -> Tensor:
        """What a drafter with or without taps sees at full depth, [n, (t + 1) d] or [n, d], float16."""
        return torch.cat([self.taps.flatten(1), self.features], -1) if taps else self.features


def read_examples(answers: Answers, keys: Sequence[Key]) -> list[Example]:
    """The examples of these answers; answers of a single token give none."""
    found = []
    for key in keys:
        if len(answers.read(key, "ids")) >= 2:
            found.append(_example(answers, key))
    return found


def _example(answers: Answers, key: Key) -> Example:
    prompt = Key(key.prompt, 0)
    source = prompt if answers.has(prompt, "prompt_ids") else key
    prompt_ids = answers.read(source, "prompt_ids")
    first = max(0, len(prompt_ids) - CONTEXT)
    parts = {
        field: (answers.read(source, f"prompt_{field}")[first:-1], answers.read(key, field))
        for field in ("features", "taps", "top_ids", "top_probabilities")
    }
    (before, own), (taps_before, taps) = parts["features"], parts["taps"]
    top_ids, top_probabilities = (torch.cat(parts[field])[1:] for field in ("top_ids", "top_probabilities"))
    ids = torch.cat([prompt_ids[first + 1 :], answers.read(key, "ids")[:-1]])
    drafted = torch.arange(len(ids)) >= len(before)
    return Example(
        key,
        ids.long(),
        torch.cat([before, own[:-1]]),
        torch.cat([before, answers.read(key, "early")[:-1]]),
        torch.cat([taps_before, taps[:-1]]),
        top_ids.long(),
        top_probabilities,
        drafted,
        torch.ones_like(drafted) if key.sample == 0 else drafted,
    )


def batches(examples: Sequence[Example], slots: int, random: np.random.Generator) -> list[list[int]]:
    """Indices of examples in shuffled batches of up to `slots` padded slots, like lengths together."""
    order = random.permutation(len(examples))
    pooled = [sorted(order[at : at + POOL], key=lambda i: len(examples[i])) for at in range(0, len(order), POOL)]
    found: list[list[int]] = []
    for index in (int(i) for pool in pooled for i in pool):
        if found and (len(found[-1]) + 1) * max(len(examples[index]), *(len(examples[i]) for i in found[-1])) <= slots:
            found[-1].append(index)
        else:
            found.append([index])
    return [found[i] for i in random.permutation(len(found))]


POOL = 96
"""Examples sorted by length together: enough to waste little padding, few enough to mix batches well."""


def padded(tensors: Sequence[Tensor]) -> Tensor:
    """[n_i, …] each to [b, max n, …], zeros at the end."""
    return torch.nn.utils.rnn.pad_sequence(list(tensors), batch_first=True)
