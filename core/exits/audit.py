"""What every layer would have said of a token, computed on the side after the decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.drafting.head import Draft
from core.exits.lens import Readout
from core.exits.predictors import PredictorBank, features_of
from core.sampling import Choice
from core.trace.events import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Findings:
    """The arrays of an `Audited` event."""

    token_ids: IntArray
    margins: FloatArray
    candidate_logits: FloatArray
    candidate_probabilities: FloatArray
    scores: FloatArray


def audit(
    readout: Readout,
    hidden: Sequence[Tensor],
    choose: Callable[[Tensor], list[Choice]],
    draft: Draft | None,
    active: BoolArray | None,
    bank: PredictorBank | None,
) -> Findings:
    """Look at all layers of one finished pass, as the run itself looks at them.

    Args:
        readout: how the head sees a layer's state; it is applied to all layers in one product.
        hidden: L hidden states [d], one after each layer.
        choose: the token that each row of logits [L, V] gives.
        draft: the speculative tokens, where there are any.
        active: shape [L], the layers that had a predictor; None where the policy has none.
        bank: the predictors that score every layer.
    """
    states = readout.states(hidden)
    logits = readout.decoder.logits(readout.decoder.norm(states)).float()
    choices = choose(logits)
    candidates = logits[:, draft.ids] if draft else logits[:, :0]
    # p₁ is known by now, so that the sum over the vocabulary need not be taken again.
    tops = torch.tensor([choice.top for choice in choices], device=logits.device)
    shares = (candidates - logits.amax(-1, keepdim=True)).exp() * tops[:, None]
    scores, seen = np.full(len(hidden), np.nan, np.float32), candidates.cpu().numpy()
    if draft:
        seen = candidate_logits(readout, states, draft.ids)
    if draft and bank is not None and active is not None:
        scores[: bank.layers] = scores_everywhere(bank, seen, active)
    return Findings(
        np.array([choice.token_id for choice in choices], np.int64),
        np.array([choice.margin for choice in choices], np.float32),
        seen,
        shares.cpu().numpy(),
        scores,
    )


def candidate_logits(readout: Readout, states: Tensor, ids: Tensor) -> FloatArray:
    """norm(h_l)·W[S] of states [L, d] for tokens ids [k], as the run's predictors get it: in float32 whatever the head
    computes in (`core.exits.judge`), since scores made from anything less differ from the run's. Shape [L, k]."""
    decoder = readout.decoder
    rows = (decoder.head_weight[ids] * decoder.final_norm).float().cpu().numpy()
    h = states.float().cpu().numpy()
    logits: FloatArray = h @ rows.T * ((h * h).mean(1, keepdims=True) + decoder.config.norm_eps) ** -0.5
    return logits.astype(np.float32)


def scores_everywhere(bank: PredictorBank, logits: FloatArray, active: BoolArray) -> FloatArray:
    """Every predictor's score, variations taken to the last active layer below. Shape [bank.layers].

    `logits` are the candidates' at each layer, shape [L, k]; `active` has shape [L].
    """
    scores = np.zeros(bank.layers, np.float32)
    previous: FloatArray | None = None
    for layer in range(bank.layers):
        features = features_of(logits[layer], previous)
        scores[layer] = bank.score(layer, features)
        if active[layer]:
            previous = features[logits.shape[1] : 2 * logits.shape[1]]
    return scores
