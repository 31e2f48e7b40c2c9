"""What the predictors learn from: each layer's view of the candidates, and whether its own choice was final.

The states of all layers were kept while the answers were written. Each layer's argmax over the whole vocabulary is
the costly part and does not depend on the drafter, so it is worked out once and lies with the answers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.config import CANDIDATES, SchedulerSettings
from core.drafting.head import DraftHead
from core.exits.predictors import features_of
from core.exits.scheduling import TwoLevelScheduler
from core.model.decoder import Decoder
from core.progress import Progress, Report, check
from core.trace.events import BoolArray, FloatArray, IntArray
from core.training.data import Answers, Key
from core.training.examples import read_examples
from core.training.options import Stage
from core.training.prompts import Use
from core.training.quality import draft_candidates
from core.training.workspace import Timer, Workspace

TOKENS = 18_000
"""About so many tokens are looked at, at most."""
HELD_OUT = 1 / 3
"""Part of them that may come from tune and test prompts, which are few and judge the result."""
BLOCK = 256
"""Rows whose logits are held at once."""


@dataclass(frozen=True, slots=True)
class LayerViews:
    """n tokens as the layers 0…L-2 see them."""

    prompts: IntArray
    """Shape [n], which prompt each token answers."""
    logits: FloatArray
    """Shape [n, L-1, k], norm(h_l)·W[S]."""
    agrees: BoolArray
    """Shape [n, L-1]: the layer's argmax is the full-depth token."""
    among: BoolArray
    """Shape [n, L-1]: the layer's argmax is one of the candidates, so verification would pass."""

    def __len__(self) -> int:
        return len(self.prompts)

    @property
    def exits(self) -> BoolArray:
        """Shape [n, L-1]: the argmax is final and among the candidates, the label of an exit that is right."""
        return self.agrees & self.among

    def features(self, active: BoolArray | None = None) -> FloatArray:
        """The predictors' inputs, [n, L-1, 3k]: differences go to the last active layer below (`specee.md` §1).

        `active` [n, L-1] says which layers were; all, where it is None.
        """
        local = features_of(self.logits, None)[..., CANDIDATES : 2 * CANDIDATES]
        if active is None:
            active = np.ones(self.agrees.shape, np.bool_)
        before = previous_active(active)
        earlier = np.take_along_axis(local, np.maximum(before, 0)[..., None], 1)
        return features_of(self.logits, np.where(before[..., None] >= 0, earlier, np.float32(0)))


def previous_active(active: BoolArray) -> IntArray:
    """The last active layer below each layer, -1 where there is none. Both shaped [n, layers]."""
    marked = np.where(active, np.arange(active.shape[1]), -1)
    highest = np.maximum.accumulate(marked, 1)
    return np.concatenate([np.full((len(active), 1), -1), highest[:, :-1]], 1)


def draw_schedules(count: int, layers: int, random: np.random.Generator, *, all_share: float = 0.5) -> BoolArray:
    """Active sets as runs may have them, [count, layers]: every layer (T1), or T2's for drawn N, r, M and exits."""
    active = np.ones((count, layers), np.bool_)
    for row in range(round(count * all_share), count):
        active[row] = _draw_two_level(layers, random)
    return active[random.permutation(count)]


def _draw_two_level(layers: int, random: np.random.Generator) -> BoolArray:
    """Past exits cluster around a layer of the upper part, with some tokens at full depth."""
    settings = SchedulerSettings(
        window=int(random.integers(1, 9)),
        radius=int(random.integers(0, 4)),
        offline_layers=int(random.integers(0, min(12, layers) + 1)),
    )
    ranking = np.argsort(-(random.random(layers) + np.arange(layers) / layers))
    scheduler = TwoLevelScheduler(settings, layers + 1, ranking)
    centre = random.integers(layers // 3, layers + 1)
    for token in range(settings.window):
        near = np.clip(centre + random.integers(-3, 4), 0, layers)
        scheduler.record(token, int(layers if random.random() < 0.4 else near))
    return scheduler.schedule().active[:layers]


class Argmaxes:
    """Each layer's argmax at the kept tokens, worked out a chunk of answers at a time."""

    def __init__(self, decoder: Decoder, answers: Answers, work: Workspace, seconds: float) -> None:
        self._decoder, self._answers, self._work, self._seconds = decoder, answers, work, seconds
        self._keys = {key for key in answers.keys if answers.has(key, "layers") and _is_watched(answers, key)}
        self._strides = self._plan()

    def stride(self, key: Key) -> int:
        """Every so many of the answer's kept tokens are looked at."""
        return self._strides[_part(self._answers, key)]

    def work_out(self, report: Report, cancel: threading.Event | None) -> None:
        """Fill in what is missing.

        Raises:
            Cancelled: `cancel` was set; finished chunks stay.
        """
        timer = Timer(0.0, self._seconds)
        for done, path in enumerate(self._answers.files):
            if self._work.path(Stage.DATA, _argmax_file(path.name)).is_file():
                continue
            found = {}
            for key in self._keys.intersection(self._answers.in_file(path)):
                check(cancel)
                found[key.name("argmax")] = self._argmax(self._answers.read(key, "layers")[:: self.stride(key)])
                message = f"Every layer's own choice: {int(timer.elapsed)} s"
                report(Progress(message, done, len(self._answers.files), "files"))
            self._work.save_tensors(Stage.DATA, _argmax_file(path.name), found)

    def load(self) -> dict[str, Tensor]:
        """Everything worked out so far, [kept, L-1] for each answer."""
        found: dict[str, Tensor] = {}
        for path in self._answers.files:
            found |= self._work.load_tensors(Stage.DATA, _argmax_file(path.name))
        return found

    @torch.no_grad()
    def _argmax(self, layers: Tensor) -> Tensor:
        flat = layers.flatten(0, 1)
        blocks = [
            self._decoder.norm(flat[at : at + BLOCK].to(self._decoder.dtype)) for at in range(0, len(flat), BLOCK)
        ]
        chosen = [self._decoder.logits(block).argmax(-1).int() for block in blocks]
        return torch.cat(chosen).view(layers.shape[:2]) if chosen else torch.zeros(layers.shape[:2], dtype=torch.int32)

    def _plan(self) -> dict[str, int]:
        """As many tokens as the time allows, by trying one block; remembered, so that all chunks agree."""
        plan = self._work.load_json(Stage.DATA, "argmax.json")
        if plan is None:
            totals = {"train": 0, "held out": 0}
            for key in self._keys:
                totals[_part(self._answers, key)] += len(self._answers.read(key, "kept"))
            wanted = min(TOKENS, self._seconds / self._seconds_a_token())
            shares = {"train": 1 - HELD_OUT, "held out": HELD_OUT}
            plan = {part: max(1, round(total / max(1.0, wanted * shares[part]))) for part, total in totals.items()}
            self._work.save_json(Stage.DATA, "argmax.json", plan)
        return plan

    def _seconds_a_token(self) -> float:
        rows = torch.zeros(BLOCK // 4, 4, self._decoder.config.hidden)
        self._argmax(rows)
        start = time.perf_counter()
        self._argmax(rows)
        return (time.perf_counter() - start) / BLOCK * max(1, self._decoder.config.depth - 1)


def _is_watched(answers: Answers, key: Key) -> bool:
    """Predictors learn from the reserved training prompts, see `core.training.prompts.Use`."""
    return answers.prompts[key.prompt].use is not Use.TRAIN


def _part(answers: Answers, key: Key) -> str:
    return "train" if answers.prompts[key.prompt].use is Use.RESERVED else "held out"


def _argmax_file(answers_file: str) -> str:
    return answers_file.replace("answers-", "argmax-")


def layer_views(head: DraftHead, answers: Answers, argmaxes: Argmaxes, use: Use, report: Report) -> LayerViews:
    """The watched tokens of this use's greedy answers, with this drafter's candidates."""
    found = argmaxes.load()
    keys = [key for key in answers.of(use) if key.name("argmax") in found]
    parts = []
    for done, key in enumerate(keys):
        parts.append(_views(head, answers, key, found[key.name("argmax")].numpy(), argmaxes.stride(key)))
        report(Progress("Reading what the layers see", done + 1, len(keys), "answers"))
    return _joined([part for part in parts if part is not None], head.decoder.config.depth - 1)


@torch.no_grad()
def _views(head: DraftHead, answers: Answers, key: Key, argmax: IntArray, stride: int) -> LayerViews | None:
    examples = read_examples(answers, [key])
    if not examples:
        return None
    at = answers.read(key, "kept").numpy()[::stride]
    candidates = draft_candidates(head, examples[0])[at - 1]
    final = answers.read(key, "ids").numpy()[at]
    states = head.decoder.norm(answers.read(key, "layers")[::stride].to(head.decoder.dtype))
    rows = head.decoder.head_weight[torch.from_numpy(candidates)]
    logits = torch.einsum("nld,nkd->nlk", states, rows).float().numpy()
    return LayerViews(
        np.full(len(at), key.prompt, np.int64),
        logits,
        argmax == final[:, None],
        (argmax[..., None] == candidates[:, None]).any(-1),
    )


def _joined(parts: Sequence[LayerViews], layers: int) -> LayerViews:
    if not parts:
        none = np.zeros((0, layers), np.bool_)
        return LayerViews(np.zeros(0, np.int64), np.zeros((0, layers, CANDIDATES), np.float32), none, none)
    return LayerViews(
        np.concatenate([part.prompts for part in parts]),
        np.concatenate([part.logits for part in parts]),
        np.concatenate([part.agrees for part in parts]),
        np.concatenate([part.among for part in parts]),
    )
