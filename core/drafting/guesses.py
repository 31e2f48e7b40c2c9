"""The drafter's most likely tokens: an LM head over its states, for one position or many at once."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from core.sampling import largest, normaliser


class Guesser:
    """An LM head for the drafter's states, over the whole vocabulary or some tokens of it."""

    def __init__(self, logits: Callable[[Tensor], Tensor], tokens: Tensor | None = None) -> None:
        """`logits` takes states [n, d] to [n, w]; its columns are these tokens [w], all in order where it is None."""
        self._logits, self._tokens = logits, tokens

    def logits(self, states: Tensor) -> Tensor:
        """States f̂ [n, d] to logits [n, w] in float32."""
        return self._logits(states).float()

    def likeliest(self, logits: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The k most likely tokens of each row of these logits [n, w], most likely first; all where w is less.

        Returns:
            Their ids [n, k] and their probabilities [n, k] in float32, over the tokens that there are.
        """
        columns, probabilities = likeliest(logits, min(k, logits.shape[-1]))
        return columns if self._tokens is None else self._tokens[columns], probabilities

    def probability(self, logits: Tensor, token: int) -> float:
        """Of one token by a row of these logits [w]; 0 for one that is not there."""
        if self._tokens is not None:
            columns = (self._tokens == token).nonzero().flatten().tolist()
            if not columns:
                return 0.0
            token = columns[0]
        return float(probability(logits[token], normaliser(logits[None], logits.max()))[0, 0])


def likeliest(logits: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k most likely columns of each row of logits [n, w], most likely first.

    Returns:
        Their places [n, k] and their probabilities [n, k] in float32 over the whole row.
    """
    logits = logits.float()
    values, ids = largest(logits, k)
    return ids, probability(values, normaliser(logits, values[:, :1]))


def probability(logits: Tensor, normaliser: Tensor) -> Tensor:
    """Probabilities of these logits; rounding must not lift one above 1, as a node is worth no more than its parent."""
    return (logits - normaliser).exp_().clamp_(max=1.0)
