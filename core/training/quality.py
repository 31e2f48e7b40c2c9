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


def drafter_quality(head: DraftHead, examples: Sequence[Example]) -> DrafterQuality:
    """Over the drafted slots of these examples, against the target's likeliest token there."""
    ranks = [draft_ranks(head, example) for example in examples]
    return DrafterQuality.of(np.concatenate(ranks) if ranks else np.zeros(0, np.int64))


@torch.no_grad()
def draft_ranks(head: DraftHead, example: Example) -> NDArray[np.int64]:
    """The rank of the target's likeliest token among the candidates at each drafted slot; k where it is none."""
    candidates = draft_candidates(head, example)
    hits = candidates == example.top_ids[example.drafted, 0].numpy()[:, None]
    return np.where(hits.any(1), hits.argmax(1), CANDIDATES)


@torch.no_grad()
def draft_candidates(head: DraftHead, example: Example) -> NDArray[np.int64]:
    """The drafter's k tokens at each drafted slot, best first, after true features. Shape [drafted, k]."""
    decoder = head.decoder
    features = example.features.to(decoder.dtype)[None]
    predicted = head.forward_batch(decoder.embed(example.ids[None]), features)[0, example.drafted]
    found = [decoder.logits(block).topk(CANDIDATES).indices for block in torch.split(predicted, ROWS)]
    return torch.cat(found).numpy().astype(np.int64)
