"""What the predictors learn from: each layer's view of the candidates, and whether its own choice was final."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np
import torch

from core.config import CANDIDATES, SchedulerSettings
from core.drafting.head import DraftHead
from core.exits.predictors import features_of
from core.exits.scheduling import TwoLevelScheduler
from core.progress import Progress, Report
from core.trace.events import BoolArray, FloatArray, IntArray
from core.training.data import Answers, Key
from core.training.examples import read_examples
from core.training.looks import Looks
from core.training.prompts import Use
from core.training.quality import draft_candidates


@dataclass(frozen=True, slots=True)
class LayerViews:
    """n tokens as the layers 0…L-2 see them."""

    prompts: IntArray
    """Shape [n], which prompt each token answers."""
    logits: FloatArray
    """Shape [n, L-1, k], norm(h_l)·W[S]."""
    agrees: BoolArray
    """Shape [n, L-1]: the layer's argmax is the full-depth token."""
    listed: BoolArray
    """Shape [n]: the full-depth token is one of the candidates."""

    def __len__(self) -> int:
        return len(self.prompts)

    @property
    def exits(self) -> BoolArray:
        """Shape [n, L-1]: the argmax is final and among the candidates, the label of an exit that is right."""
        return self.agrees & self.listed[:, None]

    def features(self, active: BoolArray | None = None) -> FloatArray:
        """The predictors' inputs, [n, L-1, 3k]: differences go to the last active layer below (`docs/rules.md`).

        `active` [n, L-1] says which layers were; all, where it is None.
        """
        local = features_of(self.logits, None)[..., CANDIDATES : 2 * CANDIDATES]
        if active is None:
            active = np.ones(self.agrees.shape, np.bool_)
        before = previous_active(active)
        earlier = np.take_along_axis(local, np.maximum(before, 0)[..., None], 1)
        return features_of(self.logits, np.where(before[..., None] >= 0, earlier, np.float32(0)))


@dataclass(frozen=True, slots=True)
class HeldOutViews(LayerViews):
    """The same of held-out tokens, with what a check would find; an answer's tokens are in the order it was written."""

    among: BoolArray
    """Shape [n, L-1]: the layer's argmax is one of the candidates, so a check would let it leave."""
    tops: FloatArray
    """Shape [n, L-1], p₁ over the whole vocabulary."""
    margins: FloatArray
    """Shape [n, L-1], p₁ - p₂."""


Views = TypeVar("Views", bound=LayerViews)


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


def training_views(head: DraftHead, answers: Answers, looks: Looks, report: Report) -> LayerViews:
    """The reserved prompts' tokens with this drafter's candidates; it has not seen these prompts."""
    found, parts = looks.load(Use.RESERVED), []
    for seen in _seen(head, answers, looks, Use.RESERVED, report):
        agrees = found[seen.key.name("agrees")].numpy()
        parts.append(LayerViews(seen.prompts, seen.logits, agrees, seen.listed))
    return _joined(parts, _no_views(head))


def held_out_views(head: DraftHead, answers: Answers, looks: Looks, use: Use, report: Report) -> HeldOutViews:
    """The tune or test prompts' tokens with this drafter's candidates."""
    found, parts = looks.load(use), []
    for seen in _seen(head, answers, looks, use, report):
        argmax = found[seen.key.name("argmax")].numpy()
        agrees, among = argmax == seen.final[:, None], (argmax[..., None] == seen.candidates[:, None]).any(-1)
        tops, margins = (found[seen.key.name(name)].float().numpy() for name in ("top", "margin"))
        parts.append(HeldOutViews(seen.prompts, seen.logits, agrees, seen.listed, among, tops, margins))
    none = _no_views(head)
    shares = np.zeros(none.agrees.shape, np.float32)
    empty = HeldOutViews(none.prompts, none.logits, none.agrees, none.listed, none.agrees, shares, shares)
    return _joined(parts, empty)


@dataclass(frozen=True, slots=True)
class _Seen:
    """One answer's n kept tokens and the drafter's candidates for them."""

    key: Key
    prompts: IntArray
    candidates: IntArray
    """Shape [n, k]."""
    final: IntArray
    """Shape [n]."""
    logits: FloatArray
    """Shape [n, L-1, k]."""

    @property
    def listed(self) -> BoolArray:
        found: BoolArray = (self.candidates == self.final[:, None]).any(1)
        return found


@torch.no_grad()
def _seen(head: DraftHead, answers: Answers, looks: Looks, use: Use, report: Report) -> Iterator[_Seen]:
    keys = looks.keys(use)
    for done, key in enumerate(keys):
        report(Progress(f"Reading what the layers see on {use.value} prompts", done, len(keys), "answers"))
        at = answers.read(key, "kept").numpy()
        # Slot j - 1 of those that the drafter is asked for is about the answer's token j; the first token has none.
        candidates = draft_candidates(head, read_examples(answers, [key])[0])[at - 1]
        rows = head.decoder.head_weight[torch.from_numpy(candidates)]
        logits = torch.einsum("nld,nkd->nlk", looks.normed(answers.read(key, "layers")), rows).float().numpy()
        final = answers.read(key, "ids").long().numpy()[at]
        yield _Seen(key, np.full(len(at), key.prompt, np.int64), candidates, final, logits)


def _no_views(head: DraftHead) -> LayerViews:
    layers = head.decoder.config.depth - 1
    none, no_token = np.zeros((0, layers), np.bool_), np.zeros(0, np.bool_)
    return LayerViews(np.zeros(0, np.int64), np.zeros((0, layers, CANDIDATES), np.float32), none, no_token)


def _joined(parts: Sequence[Views], empty: Views) -> Views:
    rows = [*parts, empty]
    return type(empty)(*(np.concatenate([getattr(one, each.name) for one in rows]) for each in fields(empty)))
