"""Random low-rank heads and exit lenses for tiny models, ones that change nothing, and a drafter without a cache."""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from core.drafting.head import DraftHead
from core.engine import Engine
from core.exits.lens import ExitLens
from core.model.loading import LoadedModel
from core.model.slim_head import SlimHead
from core.model.trimmed_head import TrimmedHead


def noise(*shape: int, seed: int = 0, scale: float = 0.1) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * scale


def random_lens(model: LoadedModel, rank: int | None = None, seed: int = 0) -> ExitLens:
    layers, d = model.config.depth - 1, model.config.hidden
    bias = noise(layers, d, seed=seed)
    if rank is None:
        return ExitLens(bias, full=noise(layers, d, d, seed=seed + 1))
    up, down = noise(layers, d, rank, seed=seed + 1), noise(layers, rank, d, seed=seed + 2)
    return ExitLens(bias, up=up, down=down)


def zero_lens(model: LoadedModel, rank: int | None = None) -> ExitLens:
    """A lens that shows every state as it is."""
    layers, d = model.config.depth - 1, model.config.hidden
    bias = torch.zeros(layers, d)
    if rank is None:
        return ExitLens(bias, full=torch.zeros(layers, d, d))
    return ExitLens(bias, up=torch.zeros(layers, d, rank), down=torch.zeros(layers, rank, d))


def random_slim(model: LoadedModel, rank: int = 4, seed: int = 0) -> SlimHead:
    """A head of the largest singular values, with some noise so that it is not even the best of its rank."""
    left, strengths, right = torch.linalg.svd(model.decoder.head_weight, full_matrices=False)
    down = strengths[:rank, None] * right[:rank]
    return SlimHead(down + noise(*down.shape, seed=seed, scale=0.02), left[:, :rank].contiguous())


def whole_slim(model: LoadedModel) -> SlimHead:
    """A head of full rank: the same logits as the full head's."""
    weight = model.decoder.head_weight
    return SlimHead(torch.eye(weight.shape[1]), weight)


def trimmed(model: LoadedModel, count: int | None = None) -> TrimmedHead:
    """The head over `count` tokens in some order; over all where it is None."""
    order = torch.randperm(model.config.vocabulary, generator=torch.Generator().manual_seed(1))
    return TrimmedHead.from_state(model.decoder, {"tokens": order[:count].to(torch.int32)})


def with_pieces(
    engine: Engine, *, lens: ExitLens | None = None, slim: SlimHead | None = None, trimmed: TrimmedHead | None = None
) -> Engine:
    """The same engine with these; the lens has the predictors of the plain states."""
    assert engine.parts is not None, "pieces belong to trained parts"
    bank = engine.parts.predictors if lens else None
    return Engine(engine.model, replace(engine.parts, lens=lens, lens_predictors=bank, slim=slim, trimmed=trimmed))


def whole_sequences(head: DraftHead, embedded: Tensor, states: Tensor) -> Tensor:
    """Embeddings [b, n, d] and states [b, n, (t + 1) d] to f̂ [b, n, d], without a cache."""
    rows = head.decoder.rows(range(embedded.shape[1]), embedded.shape[1])
    group = head.decoder.config.group

    def attend(_: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        keys, values = (t.repeat_interleave(group, -2).transpose(-3, -2) for t in (k, v))
        mixed = F.scaled_dot_product_attention(q.transpose(-3, -2), keys, values, is_causal=True)
        return mixed.transpose(-3, -2)

    return head.through(head.combine(embedded, head.fuse(states)), rows.cos, rows.sin, attend)
