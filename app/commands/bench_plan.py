"""How much can be measured in the time there is, told from a short pilot."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.commands.bench_contest import Contender, Label, Plan
from core.errors import UserError
from core.progress import Progress, Report, check
from core.stopwatch import Clock

PILOT_TOKENS = 8
LENGTHS = (64, 48, 32, 24, 16)
"""Answers' lengths to choose from; a longer one has more K/V to read, as real answers do."""
MOST_REPEATS = 3
LEAST_ROUNDS = 4
"""Below that a spread says nothing."""
SLOW = 2.5
"""A contender this many times slower than the median one takes part in every `RARELY`-th round only."""
RARELY = 3


@dataclass(frozen=True, slots=True)
class Cost:
    """What an answer costs, in seconds."""

    start: float
    """Prefill and the first token."""
    token: float
    """Each token after it."""

    def of(self, tokens: int) -> float:
        """An answer of this many tokens."""
        return self.start + self.token * (tokens - 1)


@dataclass(frozen=True, slots=True)
class Pilot:
    """What a short try of every contender showed."""

    costs: Mapping[Label, Cost]
    failures: Mapping[Label, str]
    """Why some cannot take part."""


def try_out(
    contenders: Sequence[Contender], prompt: str, clock: Clock, report: Report, cancel: threading.Event | None
) -> Pilot:
    """Let each answer twice, briefly: the first time touches cold memory and is thrown away.

    Raises:
        Cancelled: `cancel` was set.
        UserError: a run of ours was refused.
    """
    costs: dict[Label, Cost] = {}
    failures: dict[Label, str] = {}
    for number, contender in enumerate(contenders):
        report(Progress("Trying out", number, len(contenders), "contenders"))
        check(cancel)
        try:
            contender.take_turn(prompt, 2)
            costs[contender.label] = _cost(contender, prompt, clock)
        except UserError:
            raise
        except Exception as error:
            # A peer is other people's code on a model that it may never have seen; ours has no label without K/V.
            if contender.label.kv_policy is not None:
                raise
            failures[contender.label] = f"It fails on this model: {_told(error)}"
    return Pilot(costs, failures)


def _cost(contender: Contender, prompt: str, clock: Clock) -> Cost:
    start = clock()
    turn = contender.take_turn(prompt, PILOT_TOKENS)
    seconds = clock() - start
    if turn.tokens_per_second is None:
        return Cost(seconds, 0.0)
    token = 1 / turn.tokens_per_second
    return Cost(max(0.0, seconds - token * (len(turn.token_ids) - 1)), token)


def _told(error: Exception) -> str:
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words[:160]}"


def plan(costs: Mapping[Label, Cost], prompts: int, seconds: float, now: float) -> Plan:
    """The longest answers with which all prompts can be answered once in `seconds`, then as often as time allows."""
    for tokens in LENGTHS:
        every = _thinned({label: cost.of(tokens) for label, cost in costs.items()})
        one_round = sum(cost.of(tokens) / every.get(label, 1) for label, cost in costs.items())
        rounds = int(seconds / one_round) if one_round > 0 else MOST_REPEATS * prompts
        if rounds >= prompts:
            break
    rounds = max(LEAST_ROUNDS, min(rounds, MOST_REPEATS * prompts))
    return Plan(tokens, rounds, every, now + seconds, min(LEAST_ROUNDS, rounds))


def _thinned(seconds: Mapping[Label, float]) -> dict[Label, int]:
    usual = statistics.median(seconds.values())
    return {label: RARELY for label, own in seconds.items() if own > SLOW * usual}
