"""Checking a proposed exit: which token the layer itself would emit, and whether that is sure enough to leave.

The check costs a product with the whole LM head, more than several layers. Through the low-rank head it costs a
fraction: that head makes a shortlist, and exact logits on those few tokens decide. What it misses is counted beside an
audited run (`core.analysis.shortlist`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from core.exits.lens import Readout
from core.model.decoder import Decoder
from core.model.slim_head import SHORTLIST, SlimHead
from core.sampling import BadNumbers, Choice, Chooser


@dataclass(frozen=True, slots=True)
class Check:
    """What a layer itself says, and what the head saw of it."""

    choice: Choice
    """With a shortlist p₁ and the margin are shares of the shortlist: the whole vocabulary's normaliser is not known
    then. Where the shortlist holds the two best tokens neither is smaller than it would be over the vocabulary, so a
    gate refuses no exit that it would let pass there."""
    normed: Tensor
    """norm(h_l), through the lens where there is one. Shape [d]."""


class Verifier:
    """Turns hidden states into the layer's own tokens."""

    def __init__(
        self,
        readout: Readout,
        chooser: Chooser,
        *,
        gate: float = 0.0,
        slim: SlimHead | None = None,
        count: int | None = None,
    ) -> None:
        """Check through the full head, or through `slim` with a shortlist of `count` tokens (`SHORTLIST`), for greedy
        decoding only: a draw is among the whole vocabulary.

        Exits with a margin below `gate` are refused; 0 refuses none.
        """
        self._readout, self._chooser, self._gate = readout, chooser, gate
        self._slim, self._count = slim, count or SHORTLIST

    def check(self, layer: int, hidden: Tensor, position: int) -> Check:
        """What the state [d] after a layer would emit at a context position.

        Raises:
            BadNumbers: the best logits are not finite.
        """
        return self.check_rows(layer, hidden[None], position)[0]

    def check_rows(self, layer: int, hidden: Tensor, position: int) -> list[Check]:
        """The same for each of the states [n, d], in one product; greedy decoding does not look at the position.

        Raises:
            BadNumbers: a row's best logits are not finite.
        """
        normed = self._readout.normed(layer, hidden)
        choices = self._choices(normed, position, last=layer == self._readout.decoder.config.depth - 1)
        if not all(math.isfinite(choice.margin) for choice in choices):
            raise BadNumbers
        return [Check(choice, row) for choice, row in zip(choices, normed, strict=True)]

    def refuses(self, choice: Choice) -> bool:
        """Whether the margin gate refuses an exit with this token."""
        return choice.margin < self._gate

    def _choices(self, normed: Tensor, position: int, *, last: bool) -> list[Choice]:
        # No pass ends on a shortlist at full depth: that token is what exits are held against.
        if self._slim is None or last:
            return self._chooser.choose_rows(self._readout.decoder.logits(normed), position)
        ids = self._slim.shortlist(normed, self._count)
        return _among(ids, exact_logits(self._readout.decoder, normed, ids))


def exact_logits(decoder: Decoder, normed: Tensor, ids: Tensor) -> Tensor:
    """The full head's logits of tokens ids [n, c] for normed states [n, d]. Shape [n, c]."""
    return torch.einsum("ncd,nd->nc", decoder.head_weight[ids], normed)


def _among(ids: Tensor, logits: Tensor) -> list[Choice]:
    """The greedy choice among the tokens ids [n, c] with these logits [n, c]."""
    logits = logits.float()
    best = logits.topk(2)
    shares = (best.values - logits.logsumexp(-1, keepdim=True)).exp().tolist()
    chosen = ids.gather(1, best.indices[:, :1])[:, 0].tolist()
    return [Choice(id_, p1, p1 - p2) for id_, (p1, p2) in zip(chosen, shares, strict=True)]
