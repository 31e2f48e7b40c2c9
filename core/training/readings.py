"""What the whole LM head makes of hidden states, many rows at a time, and how much of it is to be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.trace.events import BoolArray, FloatArray, IntArray

ROWS = 256
"""Rows whose logits are held at once."""
SURE = 0.99
"""Share of exits that must be right where one asks how many tokens could leave."""


@dataclass(frozen=True, slots=True)
class Readings:
    """n rows as the head reads them."""

    argmax: IntArray
    """Shape [n]."""
    top: FloatArray
    """Shape [n], p₁ over the whole vocabulary."""
    margin: FloatArray
    """Shape [n], p₁ - p₂."""


@torch.no_grad()
def read(weight: Tensor, normed: Tensor) -> Readings:
    """What a head [V, d] makes of normed states [n, d]; logits are dropped block by block."""
    parts = [_block(weight, rows) for rows in torch.split(normed.to(weight.dtype), ROWS)]
    argmax, top, margin = (torch.cat(each).cpu().numpy() for each in zip(*parts, strict=True))
    return Readings(argmax, top, margin)


def _block(weight: Tensor, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    logits = (rows @ weight.T).float()
    best = logits.topk(2)
    p = (best.values - logits.logsumexp(-1, keepdim=True)).exp()
    return best.indices[:, 0], p[:, 0], p[:, 0] - p[:, 1]


@torch.no_grad()
def divergence(weight: Tensor, normed: Tensor, top_ids: Tensor, top_probabilities: Tensor) -> float:
    """Mean KL(p‖q) in nats, with q from the head [V, d] on normed states [n, d].

    p is the distribution over `top_ids` [n, t] that `top_probabilities` [n, t], made to sum to one, give.
    """
    p = top_probabilities.float()
    p = p / p.sum(-1, keepdim=True).clamp_min(1e-6)
    total = 0.0
    for rows, ids, share in zip(*(torch.split(each, ROWS) for each in (normed, top_ids, p)), strict=True):
        logits = (rows.to(weight.dtype) @ weight.T).float()
        log_q = logits.gather(1, ids) - logits.logsumexp(-1, keepdim=True)
        total += float((torch.special.xlogy(share, share) - share * log_q).sum())
    return total / max(1, len(normed))


def could_exit(top: FloatArray, right: BoolArray, sure: float = SURE) -> float:
    """The largest share of tokens, the surest by top probability [n], of which `sure` are right [n]."""
    if not len(top):
        return 0.0
    hits = np.cumsum(right[np.argsort(-top, kind="stable")])
    enough = np.flatnonzero(hits >= sure * np.arange(1, len(top) + 1))
    return float(enough[-1] + 1) / len(top) if len(enough) else 0.0
