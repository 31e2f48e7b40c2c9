"""Contenders that take turns on the same prompts, and what each turn measured."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from core.choices import KVPolicy
from core.progress import Progress, Report, check
from core.stopwatch import Clock
from core.trace.events import StageTimes

GENERATE = "generate"


@dataclass(frozen=True, slots=True)
class Label:
    """What tells one row of the report from another."""

    name: str
    recording: str
    dtype: str
    kv_policy: str | None = None
    """None for peers, which skip no layer."""

    def __str__(self) -> str:
        kv = "" if self.kv_policy in (None, KVPolicy.RECOMPUTE) else f", {self.kv_policy}"
        return f"{self.name} ({self.dtype}{kv}, recording {self.recording})"


@dataclass(frozen=True, slots=True)
class Pass:
    """What one token after the first cost."""

    times: StageTimes
    heads: int
    """Products with the whole LM head outside the predictors: each check, and the last layer's."""
    agrees: bool | None = None
    """Whether full depth gives the same token; None where the turn was not audited."""
    in_tree: bool = False
    """Whether it came from a tree's pass, whose first token bears the cost of all."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One contender on one prompt."""

    token_ids: tuple[int, ...]
    exit_layers: tuple[int, ...]
    """Layers run for each token, 1…L."""
    tokens_per_second: float | None
    """Tokens after the first over the time after the first (`docs/rules.md`); None where there is only one."""
    passes: tuple[Pass, ...] = ()
    """One for each token after the first; a peer tells nothing of them."""
    target_passes: int = 0
    """Passes of the target after the first token; 0 for a peer, which tells nothing of them."""


Turns = Mapping[Label, Mapping[int, Turn]]
"""By contender and round."""


@dataclass(slots=True)
class Arrivals:
    """Time-stamps tokens; one and the same for us and for every peer."""

    clock: Clock
    stamps: list[float] = field(default_factory=list)

    def tick(self, tokens: int = 1) -> None:
        """This many tokens have come at once."""
        self.stamps += [self.clock()] * tokens

    @property
    def tokens_per_second(self) -> float | None:
        """As in `Turn`. Tokens that came together with the first count with it: none of their time was seen."""
        if not self.stamps or self.stamps[-1] <= self.stamps[0]:
            return None
        later = sum(stamp > self.stamps[0] for stamp in self.stamps)
        return later / (self.stamps[-1] - self.stamps[0])


class Contender(Protocol):
    """Something that answers prompts."""

    label: Label

    def take_turn(self, prompt: str, tokens: int) -> Turn:
        """Answer with at most `tokens` tokens."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How long a contest is to be."""

    tokens: int
    """For each answer."""
    rounds: int
    """In each, one prompt is answered; they take turns too."""
    every: Mapping[Label, int] = field(default_factory=dict)
    """Contenders so slow that they only take part in every n-th round."""
    deadline: float | None = None
    """No round begins that would end after this time of the clock, once `least` have been played."""
    least: int = 2

    def plays(self, label: Label, number: int) -> bool:
        """Whether the contender takes part in this round, counted from 0."""
        return number % self.every.get(label, 1) == 0


def contest(
    contenders: Sequence[Contender],
    prompts: Sequence[str],
    plan: Plan,
    clock: Clock,
    report: Report,
    cancel: threading.Event | None,
) -> Turns:
    """Let all take turns, each round starting with another one, so that a machine that slows down slows everybody.

    Raises:
        Cancelled: between two turns, once `cancel` is set.
    """
    turns: dict[Label, dict[int, Turn]] = defaultdict(dict)
    start = clock()
    for number in range(plan.rounds):
        if _too_late(plan, number, start, clock()):
            break
        report(Progress("Measuring", number, plan.rounds, "rounds"))
        first = number % len(contenders)
        for contender in [*contenders[first:], *contenders[:first]]:
            if plan.plays(contender.label, number):
                check(cancel)
                prompt = prompts[number % len(prompts)]
                turns[contender.label][number] = contender.take_turn(prompt, plan.tokens)
    return turns


def _too_late(plan: Plan, played: int, start: float, now: float) -> bool:
    if plan.deadline is None or played < plan.least:
        return False
    return now + (now - start) / played > plan.deadline


@dataclass(frozen=True, slots=True)
class SameTokens:
    """Whether two contenders emitted the same tokens."""

    same: bool
    answers: int
    tokens: int
    """How many were compared."""
    first_difference: int | None
    """0-based token at which the first answer that differs does so; None where none does."""


def compare_tokens(one: Mapping[int, Turn], other: Mapping[int, Turn]) -> SameTokens:
    """Compare the rounds that both took part in."""
    pairs = [(one[number].token_ids, other[number].token_ids) for number in sorted(one.keys() & other.keys())]
    differing = next((pair for pair in pairs if pair[0] != pair[1]), None)
    return SameTokens(
        same=differing is None,
        answers=len(pairs),
        tokens=sum(len(a) for a, _ in pairs),
        first_difference=_first_difference(*differing) if differing else None,
    )


def _first_difference(one: Sequence[int], other: Sequence[int]) -> int:
    shorter = min(len(one), len(other))
    return next((i for i in range(shorter) if one[i] != other[i]), shorter)
