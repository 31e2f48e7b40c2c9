"""What the pieces of a pass cost on this machine, as shares of one another.

Each piece is timed in turns with the others and its quickest time counts: other programs can only make it slower.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from core.choices import Head
from core.drafting.head import DraftHead
from core.exits.verification import exact_logits
from core.model.decoder import Decoder
from core.model.kv_cache import KVCache
from core.model.slim_head import SlimHead
from core.model.trimmed_head import TrimmedHead
from core.training.chains import DEPTH

ROUNDS = 12
CONTEXT = 64
"""Tokens that a timed pass attends to."""


@dataclass(frozen=True, slots=True)
class HeadTimes:
    """Seconds of one pass over a chain of `DEPTH` drafted tokens."""

    full: float
    """One product with the whole LM head."""
    slim: float
    """The same through the cheaper one."""
    draft_layers: float
    """The drafter's own layers for one token."""
    target: float
    """The target over the chain and the token before it, its own head included."""

    @property
    def nu(self) -> float:
        """ν, the cheaper head's time over the full one's."""
        return self.slim / self.full

    @property
    def other(self) -> float:
        """Everything in the pass but its drafting heads."""
        return DEPTH * self.draft_layers + self.target

    @property
    def kappa(self) -> float:
        """κ, the time of everything else in a pass over that of its full drafting heads."""
        return self.other / (DEPTH * self.full)


@torch.inference_mode()
def head_times(head: DraftHead, slim: SlimHead | TrimmedHead, rounds: int = ROUNDS) -> HeadTimes:
    """Measured now; `slim` is the cheaper head."""
    decoder, hidden = head.decoder, head.decoder.config.hidden
    state, chain = torch.randn(1, hidden).to(decoder.dtype), min(DEPTH + 1, decoder.config.context)
    context = min(CONTEXT, decoder.config.context - chain)
    cache, own = decoder.new_cache(context + chain), head.new_cache(context + 1)
    token, feature = torch.zeros(1, dtype=torch.int64), torch.randn(1, hidden).to(decoder.dtype)
    rows = decoder.rows(range(context, context + 1), context + 1)
    found = fastest(
        {
            "full": lambda: decoder.logits(state),
            "slim": lambda: slim.logits(state),
            "draft_layers": lambda: head.run(token, feature, rows, own),
            "target": lambda: _target(decoder, cache, context, chain),
        },
        rounds,
    )
    return HeadTimes(**found)


@torch.inference_mode()
def check_layers(decoder: Decoder, slim: SlimHead | None, rounds: int = ROUNDS) -> dict[Head, float]:
    """What checking one state through either head costs, in times of a decoder layer; measured now."""
    context = min(CONTEXT, decoder.config.context - 1)
    cache, rows = decoder.new_cache(context + 1), decoder.rows(range(context, context + 1), context + 1)
    state = torch.randn(1, decoder.config.hidden).to(decoder.dtype)
    pieces: dict[str, Callable[[], object]] = {
        "layers": lambda: [decoder.layer(index, state, rows, cache) for index in range(decoder.config.depth)],
        Head.FULL.value: lambda: decoder.logits(state).topk(2),
    }
    if slim is not None:
        pieces[Head.SLIM.value] = lambda: exact_logits(decoder, state, slim.shortlist(state)).topk(2)
    found = fastest(pieces, rounds)
    layer = found.pop("layers") / decoder.config.depth
    return {Head(name): seconds / layer for name, seconds in found.items()}


def fastest(pieces: Mapping[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """The quickest of several times of each piece, in seconds."""
    found = dict.fromkeys(pieces, float("inf"))
    for _ in range(rounds):
        for name, piece in pieces.items():
            start = time.perf_counter()
            piece()
            found[name] = min(found[name], time.perf_counter() - start)
    return found


def _target(decoder: Decoder, cache: KVCache, context: int, count: int) -> None:
    """One pass of `count` rows after `context` cached ones."""
    decoder.logits(decoder.norm(decoder.forward(torch.zeros(count, dtype=torch.int64), context, cache)))
