"""How often conditions are met as a run grows, and which condition tells what happened to a token."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np

from core.analysis.breakpoints import CHUNK
from core.analysis.conditions import (
    CandidatesMiss,
    Condition,
    ExitAtLeast,
    ExitAtMost,
    Refused,
    WrongExit,
)
from core.analysis.summaries import Outcome, outcomes
from core.analysis.text_conditions import LONGEST_TEXT, TextContains
from core.analysis.texts import quoted
from core.errors import UserError
from core.progress import check
from core.trace.events import BoolArray, ExitReason
from core.trace.growing import Growing
from core.trace.overview import NO_CANDIDATE, REASONS
from core.trace.reading import ReadableTrace

Told = Callable[[int], object]


def _ignore(_: int) -> None:
    pass


class HitCounts:
    """Which tokens of one run meet each of some conditions, looked at once and again only where the run changed."""

    def __init__(self, conditions: Sequence[Condition]) -> None:
        self.conditions = tuple(conditions)
        self.problems: dict[Condition, str] = {}
        """Why a condition could not be looked for, as a sentence; it is not looked for any more."""
        self._met = [Growing(np.bool_) for _ in self.conditions]
        self._seen = 0

    @property
    def counts(self) -> list[int]:
        """Hits so far, one number a condition."""
        return [int(np.count_nonzero(met.values)) for met in self._met]

    def update(
        self, trace: ReadableTrace, first: int, cancel: threading.Event | None = None, tell: Told = _ignore
    ) -> None:
        """Look at the emitted tokens from `first` on, and at those not looked at yet.

        Args:
            trace: always the same run.
            first: the first token that may have changed.
            cancel: ends it between two stretches; what has been looked at stays.
            tell: is told how many tokens have been looked at.

        Raises:
            Cancelled: `cancel` was set.
        """
        self._seen, count = min(first, self._seen), trace.emitted_count
        while self._seen < count:
            check(cancel)
            last = min(self._seen + CHUNK, count)
            for condition, met in zip(self.conditions, self._met, strict=True):
                met.replace(self._seen, self._found(condition, trace, last))
            self._seen = last
            tell(last)

    def _found(self, condition: Condition, trace: ReadableTrace, last: int) -> BoolArray:
        if condition not in self.problems:
            try:
                return condition.found(trace, self._seen, last)
            except UserError as error:
                self.problems[condition] = str(error)
        return np.zeros(last - self._seen, np.bool_)


def telling_condition(trace: ReadableTrace, token: int) -> Condition:
    """The condition that tells best what happened to an emitted token; its pass meets it.

    A wrong exit comes first, then a full-depth token that was no candidate, a refusal, and where the pass ended; of
    the prompt's own pass, and of tokens that were given to a branch, there is only the text.

    Raises:
        UserError: it is one of these and says nothing.
    """
    outcome, seen = Outcome(int(outcomes(trace, token)[0])), trace.overview
    if REASONS[seen.reasons[token]] in (ExitReason.PREFILL, ExitReason.GIVEN):
        return _saying(seen.texts[token])
    if outcome is Outcome.WRONG_EXIT:
        return WrongExit()
    if seen.final_ranks[token] == NO_CANDIDATE:
        return CandidatesMiss()
    if seen.refusals[token]:
        return Refused()
    layers = int(seen.exit_layers[token])
    return ExitAtLeast(layers) if outcome is Outcome.FULL_DEPTH else ExitAtMost(layers)


def _saying(text: bytes) -> Condition:
    try:
        return TextContains(text.decode()[:LONGEST_TEXT])
    except (UnicodeDecodeError, UserError):
        raise UserError(
            f"Nothing was decided for the token {quoted(text)}, and it says nothing to stop at; select another one."
        ) from None
