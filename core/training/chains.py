"""How far a target would go along with chains of drafted tokens, for any LM head of the drafter's.

Along its chain the drafter sees its own outputs, which no LM head takes part in; and a token counts only where all
before it were right, so the text is the target's own. So the outputs are worked out once and read by each head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.config import CANDIDATES
from core.drafting.head import DraftHead
from core.training.examples import Example
from core.training.unrolled import unroll

DEPTH = 4
"""Drafted tokens of a chain."""
BLOCK = 256


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What a target emits through one head of the drafter's."""

    tau: float
    """Mean tokens of a pass over a chain, the target's own included."""
    top1: float
    """Share of tokens that the drafter names first, right after a true feature."""
    top4: float
    """Share of tokens among the k that exits look at."""


@dataclass(frozen=True, slots=True)
class Chains:
    """The slots at which a drafter is asked, of some answers one after another."""

    outputs: Tensor
    """Shape [DEPTH, n, d], f̂ of each depth; those of depth j at slot s belong to the chain that began at s - j."""
    right: Tensor
    """Shape [n], the target's token."""
    starts: Tensor
    """Shape [n], bool: a whole chain begins here."""

    @torch.no_grad()
    def acceptance(self, logits: Callable[[Tensor], Tensor]) -> Acceptance:
        """Acceptance where `logits`, [b, d] to [b, V], is the drafter's head."""
        tops = [self._top(logits, rows) for rows in self.outputs]
        hits = torch.stack([top[:, 0] == self.right for top in tops])
        # Depth j of the chain that began at s lies at s + j.
        along = torch.stack([hits[depth].roll(-depth) for depth in range(len(hits))])[:, self.starts]
        accepted = along.float().cumprod(0).sum(0)
        among = (tops[0] == self.right[:, None]).any(-1)
        return Acceptance(1 + _mean(accepted), _mean(hits[0].float()), _mean(among.float()))

    @staticmethod
    def _top(logits: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
        found = [logits(block).topk(CANDIDATES).indices for block in torch.split(rows, BLOCK)]
        return torch.cat(found) if found else torch.zeros(0, CANDIDATES, dtype=torch.int64)


@torch.no_grad()
def read_chains(head: DraftHead, examples: Sequence[Example]) -> Chains:
    """The chains at the drafted slots of these examples."""
    decoder, outputs, right, starts = head.decoder, [], [], []
    for example in examples:
        states = example.states(bool(head.taps)).to(decoder.dtype)[None]
        steps = unroll(head, decoder.embed(example.ids[None]), states, DEPTH)
        outputs.append(torch.stack([step[0, example.drafted] for step in steps]).float())
        right.append(example.top_ids[example.drafted, 0])
        places = torch.arange(len(right[-1]))
        starts.append(places <= len(places) - DEPTH)
    if not outputs:
        none = torch.zeros(0, dtype=torch.int64)
        return Chains(torch.zeros(DEPTH, 0, decoder.config.hidden), none, none.bool())
    return Chains(torch.cat(outputs, 1), torch.cat(right), torch.cat(starts))


def _mean(values: Tensor) -> float:
    return float(values.mean()) if len(values) else 0.0
