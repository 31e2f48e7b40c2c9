"""SlimSpec's low-rank LM head: z = W_up·(W_down·x), the whole vocabulary for rd + rV products instead of dV
(`docs/rules.md`).

Its logits are near the full head's, not equal to them. So it may propose tokens by itself, and for a check it only
makes a shortlist whose exact logits decide (`core.exits.verification`). Beside a packed head (`core.model.native`) W_up
is packed, too, rounded to eight bits: it is what a token's time goes to, and its error is no matter of exactness.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch.nn.functional as F
from torch import Tensor

from core.errors import UserError
from core.model.decoder import Decoder, Linear, Weight, product
from core.model.native import NativeHead

SHORTLIST = 64
"""Tokens whose exact logits decide a check."""
WEIGHTS = ("down", "up")


class SlimHead:
    """The two factors of a low-rank LM head."""

    def __init__(self, down: Tensor, up: Tensor, packed: Linear | None = None) -> None:
        """Take over W_down [r, d] and W_up [V, r]; `packed` multiplies as `up` does, but faster."""
        self.down, self.up = down, up
        self._product: Weight = up if packed is None else packed

    @property
    def rank(self) -> int:
        """r."""
        return self.down.shape[0]

    def logits(self, normed: Tensor) -> Tensor:
        """Normed hidden states [n, d] to logits [n, V]."""
        return product(F.linear(normed, self.down), self._product)

    def shortlist(self, normed: Tensor, count: int = SHORTLIST) -> Tensor:
        """The ids [n, count] of the most likely tokens by this head, most likely first.

        A smaller vocabulary comes whole.
        """
        logits = self.logits(normed)
        return logits.topk(min(count, logits.shape[-1])).indices

    def state(self) -> dict[str, Tensor]:
        """The weights by name; `from_state` takes them back."""
        return {"down": self.down, "up": self.up}

    @classmethod
    def from_state(cls, decoder: Decoder, state: Mapping[str, Tensor]) -> SlimHead:
        """A head for `decoder` with these weights, in its dtype and where its own head is.

        Raises:
            UserError: a weight is missing or does not fit the target model.
        """
        hidden, vocabulary = decoder.config.hidden, decoder.config.vocabulary
        rank = state["down"].shape[0] if "down" in state and state["down"].ndim else 0
        for name, shape in zip(WEIGHTS, ((rank, hidden), (vocabulary, rank)), strict=True):
            if name not in state:
                raise UserError(f"The low-rank head lacks its weight {name}; train it again.")
            if not rank or tuple(state[name].shape) != shape:
                raise UserError(f"The low-rank head's weight {name} does not fit this model; train it again.")
        down, up = (state[name].to(decoder.place.head, decoder.dtype) for name in WEIGHTS)
        return cls(down, up, decoder.head.beside(up) if isinstance(decoder.head, NativeHead) else None)
