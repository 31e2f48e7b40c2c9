"""Predict, then reveal: a learner's guesses of exit layers, which tokens can be guessed, and the score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.choices import Policy
from core.trace.events import ExitReason
from core.trace.overview import REASONS
from core.trace.reading import ReadableTrace

NEAR = 2
"""Layers by which a guess may be off and still count as near: the r of the scheduler's neighbourhood."""
COLUMNS = ("run", "token", "text", "guess", "exit_layer", "distance", "layers")
"""Of `guess_rows`: tokens and layers count from 1, as on screen."""


@dataclass(frozen=True, slots=True)
class Guess:
    """One guess, with what came of it."""

    run: int
    token: int
    """0-based."""
    text: bytes
    """The token's bytes."""
    guessed: int
    """Layers run, 1…L."""
    exit_layer: int
    """Layers that the token's pass did run, 1…L."""
    depth: int
    """L."""

    def __post_init__(self) -> None:
        if not (1 <= self.guessed <= self.depth and 1 <= self.exit_layer <= self.depth):
            raise ValueError(f"{self.guessed} and {self.exit_layer} are to lie in 1…{self.depth}")

    @property
    def difference(self) -> int:
        """Layers that the guess lies too deep; below zero where it is not deep enough."""
        return self.guessed - self.exit_layer

    @property
    def distance(self) -> int:
        """Layers that it is off."""
        return abs(self.difference)

    @property
    def is_exact(self) -> bool:
        return self.distance == 0

    @property
    def is_near(self) -> bool:
        """Whether it is off by no more than `NEAR`."""
        return self.distance <= NEAR


@dataclass(frozen=True, slots=True)
class Score:
    """What a sequence of guesses is worth."""

    count: int
    exact: int
    near: int
    """At most `NEAR` layers off, the exact ones included."""
    mean_distance: float
    """In layers; NaN without guesses."""
    streak: int
    """Near guesses in a row, up to the last one."""
    best: int
    """The longest such row."""


def score(guesses: Sequence[Guess]) -> Score:
    """The score of these guesses, in the order in which they were made."""
    streak = best = 0
    for guess in guesses:
        streak = streak + 1 if guess.is_near else 0
        best = max(best, streak)
    distances = [guess.distance for guess in guesses]
    return Score(
        count=len(guesses),
        exact=sum(guess.is_exact for guess in guesses),
        near=sum(guess.is_near for guess in guesses),
        mean_distance=float(np.mean(distances)) if distances else float("nan"),
        streak=streak,
        best=best,
    )


def guess_rows(guesses: Sequence[Guess]) -> list[tuple[int | str, ...]]:
    """The guesses as rows of `COLUMNS`, for other programs."""
    return [
        (
            guess.run,
            guess.token + 1,
            guess.text.decode(errors="replace"),
            guess.guessed,
            guess.exit_layer,
            guess.distance,
            guess.depth,
        )
        for guess in guesses
    ]


def why_no_question(trace: ReadableTrace, token: int) -> str:
    """Why there is nothing to guess of a token, in a sentence; "" where there is.

    Args:
        trace: A run that has begun.
        token: 0-based; one that is not there yet begins a pass.
    """
    assert trace.started is not None, "the run has begun"
    name = f"Token {token + 1}"
    if trace.started.settings.policy is Policy.DENSE:
        return "A dense run leaves no layer out, so there is nothing to guess; choose another policy, or another run."
    if token == 0:
        return f"{name} comes from the prompt’s own pass, which always runs to full depth."
    if token >= trace.emitted_count:
        return ""
    if REASONS[trace.overview.reasons[token]] is ExitReason.GIVEN:
        return f"{name} was given to this branch; the first guess is of the first token after those."
    first = int(trace.overview.passes[token])
    return f"{name} came with the pass of token {first + 1}." if first != token else ""


def answer(trace: ReadableTrace, token: int, guessed: int) -> Guess:
    """The guess of an emitted token's exit layer, with the answer."""
    assert trace.started is not None, "the run has begun"
    seen = trace.overview
    exit_layer = int(seen.exit_layers[token])
    return Guess(trace.started.run, token, seen.texts[token], guessed, exit_layer, trace.depth)
