"""The target's LM head over its most used tokens only (VocabTrim): for drafting, where a token that is missing costs a
guess and nothing else.

Beside a packed head (`core.model.native`) the rows are packed, too, rounded to eight bits.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from core.errors import UserError
from core.model.decoder import Decoder, Linear, Weight, product
from core.model.native import NativeHead

LEAST = 8
"""Tokens below which a head is no use: a position has four candidates."""


class TrimmedHead:
    """Some rows of a model's LM head."""

    def __init__(self, tokens: Tensor, rows: Tensor, packed: Linear | None = None) -> None:
        """Take over token ids [n] and their rows [n, d]; `packed` multiplies as the rows do, but faster."""
        self.tokens = tokens
        self._product: Weight = rows if packed is None else packed

    def logits(self, normed: Tensor) -> Tensor:
        """Normed hidden states [m, d] to logits [m, n], a column a token of `tokens`."""
        return product(normed, self._product)

    def state(self) -> dict[str, Tensor]:
        """What `from_state` takes back: the ids alone, as the rows are the model's."""
        return {"tokens": self.tokens.to(torch.int32)}

    @classmethod
    def from_state(cls, decoder: Decoder, state: Mapping[str, Tensor]) -> TrimmedHead:
        """The rows of these tokens from the decoder's own head.

        Raises:
            UserError: the ids are missing, too few, repeated or no tokens of the model.
        """
        ids, vocabulary = state.get("tokens", torch.zeros(0)), decoder.config.vocabulary
        whole = ids.ndim == 1 and ids.dtype is torch.int32 and len(ids) >= min(LEAST, vocabulary)
        if not whole or int(ids.min()) < 0 or int(ids.max()) >= vocabulary or len(set(ids.tolist())) < len(ids):
            raise UserError("The trimmed head's tokens do not fit this model; train it again.")
        tokens = ids.to(decoder.head_weight.device, torch.int64)
        rows = decoder.head_weight[tokens].contiguous()
        return cls(tokens, rows, decoder.head.beside(rows) if isinstance(decoder.head, NativeHead) else None)
