"""What a drafter is worth on prompts that it has not seen; for predictors see `core.analysis.classification`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from core.config import CANDIDATES
from core.drafting.head import DraftHead
from core.training.examples import Example
from core.training.unrolled import unroll

ROWS = 256


@dataclass(frozen=True, slots=True)
class DrafterQuality:
    """How often the token that the target went on with was the drafter's first, or among its first k."""

    tokens: int
    top1: float
    """0…1."""
    top4: float
    """0…1."""

    @classmethod
    def empty(cls) -> DrafterQuality:
        return cls(0, 0.0, 0.0)

    @classmethod
    def of(cls, ranks: NDArray[np.int64]) -> DrafterQuality:
        """From the rank of the right token among the candidates, k where it is none of them. Shape [n]."""
        if not len(ranks):
            return cls.empty()
        return cls(len(ranks), float((ranks == 0).mean()), float((ranks < CANDIDATES).mean()))

    def values(self) -> dict[str, float]:
        return {"tokens": self.tokens, "top1": round(self.top1, 4), "top4": round(self.top4, 4)}


def chain_quality(head: DraftHead, examples: Sequence[Example], steps: int) -> list[DrafterQuality]:
    """Over the drafted slots of these examples, against the target's likeliest token there: for the first token and
    for each of a chain that goes on from the drafter's own outputs, depth 1…steps.

    Deeper tokens follow the target's own text: they count as if all of the chain before them had been right.
    """
    ranks: list[list[NDArray[np.int64]]] = [[] for _ in range(steps)]
    for example in examples:
        for found, candidates in zip(ranks, chain_candidates(head, example, steps), strict=True):
            found.append(_ranks(candidates, example))
    return [DrafterQuality.of(np.concatenate(found) if found else np.zeros(0, np.int64)) for found in ranks]


def draft_ranks(head: DraftHead, example: Example) -> NDArray[np.int64]:
    """The rank of the target's likeliest token among the candidates at each drafted slot; k where it is none."""
    return _ranks(draft_candidates(head, example), example)


def draft_candidates(head: DraftHead, example: Example) -> NDArray[np.int64]:
    """The drafter's k tokens at each drafted slot, best first, after the target's states. Shape [drafted, k]."""
    return chain_candidates(head, example, 1)[0]


@torch.no_grad()
def chain_candidates(head: DraftHead, example: Example, steps: int) -> list[NDArray[np.int64]]:
    """The same at each depth of a chain, [drafted, k] each; a text's first slots have no chain so deep yet."""
    decoder = head.decoder
    states = example.states(bool(head.taps)).to(decoder.dtype)[None]
    found = []
    for predicted in unroll(head, decoder.embed(example.ids[None]), states, steps):
        rows = predicted[0, example.drafted]
        tops = [decoder.logits(block).topk(CANDIDATES).indices for block in torch.split(rows, ROWS)]
        found.append(torch.cat(tops).numpy().astype(np.int64))
    return found


def _ranks(candidates: NDArray[np.int64], example: Example) -> NDArray[np.int64]:
    hits = candidates == example.top_ids[example.drafted, 0].numpy()[:, None]
    return np.where(hits.any(1), hits.argmax(1), CANDIDATES)
