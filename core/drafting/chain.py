"""Drafting one position ahead: the state of a drafter that follows a run token by token."""

from __future__ import annotations

from torch import Tensor

from core.drafting.guesses import Guesser
from core.drafting.head import Draft, DraftHead


class ChainDrafter:
    """A draft head and how far along the context it is."""

    def __init__(self, head: DraftHead, capacity: int, guesser: Guesser | None = None) -> None:
        """`guesser` proposes; the target's own LM head where it is None."""
        self._head, self._guesser = head, guesser or Guesser(head.decoder.logits)
        self._cache = head.new_cache(capacity)
        self._length = 0

    def feed(self, ids: Tensor, states: Tensor) -> Tensor | None:
        """Take in tokens ids [n] with the states of the positions before them, as `DraftHead.fuse` takes them.

        Returns:
            f̂ of the last one, shape [d]; None where n is 0.
        """
        if not len(ids):
            return None
        predicted = self._head.advance(ids, states, self._length, self._cache)
        self._length += len(ids)
        return predicted[-1]

    def propose(self, ids: Tensor, state: Tensor, k: int) -> Draft:
        """The k speculative tokens that follow the token ids [1], given the state [(t + 1) d] of the one before."""
        predicted = self.feed(ids, state[None])
        assert predicted is not None, "one token was fed"
        logits = self._guesser.logits(predicted[None])
        ids, probabilities = self._guesser.likeliest(logits, k)
        return Draft(ids[0], probabilities[0])
