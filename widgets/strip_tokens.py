"""What the token strip knows of its tokens: texts, exit layers, outcomes, and which pass each came from."""

from __future__ import annotations

from core.analysis.summaries import Outcome, TokenChips
from widgets.chip_words import outcome_words
from widgets.pass_brackets import pass_words


class StripTokens:
    """One entry a token in each list, 0-based."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.exit_layers: list[int] = []
        """Layers run, 1…L."""
        self.passes: list[int] = []
        """The first token of the pass that each came from."""
        self._outcomes: list[int] = []
        self._refusals: list[int] = []

    def __len__(self) -> int:
        return len(self.texts)

    def replace(self, chips: TokenChips) -> None:
        """Replace the tokens from `chips.first` on.

        Raises:
            ValueError: tokens before `chips.first` are missing.
        """
        first = chips.first
        if first > len(self):
            raise ValueError(f"chips start at token {first}, but only {len(self)} are there")
        self.texts[first:] = chips.texts
        self.exit_layers[first:] = chips.exit_layers.tolist()
        self._outcomes[first:] = chips.outcomes.tolist()
        self._refusals[first:] = chips.refusals.tolist()
        own = range(first, first + len(chips.texts))
        self.passes[first:] = own if chips.passes is None else chips.passes.tolist()

    def clear(self) -> None:
        """Back to no tokens at all."""
        del self.texts[:], self.exit_layers[:], self.passes[:], self._outcomes[:], self._refusals[:]

    def outcome(self, token: int) -> Outcome:
        """How it came to leave where it did."""
        return Outcome(self._outcomes[token])

    def mark(self, token: int) -> Outcome:
        """The outcome that its chip marks: a refusal beside its own, where that is no wrong exit."""
        outcome = self.outcome(token)
        return Outcome.REFUSED if self._refusals[token] and outcome is not Outcome.WRONG_EXIT else outcome

    def is_joined(self, token: int) -> bool:
        """Whether the token before comes from the same pass, so that its bracket reaches to this one."""
        return 0 < token < len(self.passes) and self.passes[token - 1] == self.passes[token]

    def words(self, token: int, depth: int, told: str) -> list[str]:
        """What there is to say of it, "" among it; `told` is which two tokens a wrong exit was about."""
        ended = outcome_words(self.outcome(token), self._refusals[token], told)
        named = f"token {token + 1} ‘{self.texts[token]}’ · exit layer {self.exit_layers[token]} of {depth}"
        return [named, ended, pass_words(self.passes, token)]
