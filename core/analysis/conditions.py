"""What a breakpoint can wait for. Conditions are values: they compare, serialise and look at any trace, old or live.

What is decided for a whole target pass (exit layer, refusals, scores, active set, acceptance length) is met at the
first token of the pass only, so that a token tree stops the reader once; what is true of a token is met at that token.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from core.analysis.closeness import closest
from core.errors import UserError
from core.trace.events import BoolArray, ExitReason
from core.trace.overview import NO_CANDIDATE, REASONS, UNKNOWN, CellState
from core.trace.reading import ReadableTrace
from core.trace.records import TokenRecord

_ACTIVE = CellState.OFFLINE | CellState.ONLINE


class Condition(ABC):
    """Something that is true of some tokens of a run."""

    kind: ClassVar[str]
    """Its name in JSON."""
    needs_audit: ClassVar[bool] = False
    """Whether only a run recorded in audit depth can meet it."""

    @property
    @abstractmethod
    def label(self) -> str:
        """The condition in words, layers and tokens counted as on screen."""

    @abstractmethod
    def found(self, trace: ReadableTrace, first: int, last: int) -> BoolArray:
        """Which of the emitted tokens first…last - 1 meet it. Shape [last - first].

        Raises:
            UserError: a pattern takes too long.
        """

    def hits(self, record: TokenRecord, trace: ReadableTrace) -> bool:
        """Whether a token meets it; one that is still in flight does not."""
        return record.emitted is not None and bool(self.found(trace, record.token, record.token + 1)[0])

    def to_json(self) -> dict[str, Any]:
        """Plain values; `core.analysis.breakpoints.condition_from_json` reads them back."""
        return {"kind": self.kind, **dataclasses.asdict(self)}  # type: ignore[call-overload]


@dataclass(frozen=True, slots=True)
class ExitAtMost(Condition):
    """The pass left after so many layers or fewer. The prompt's own pass never counts."""

    kind: ClassVar[str] = "exit at most"
    layers: int

    def __post_init__(self) -> None:
        _require_count(self.layers, "exit layer")

    @property
    def label(self) -> str:
        return f"exit layer ≤ {self.layers}"

    def found(self, trace: ReadableTrace, first: int, last: int) -> BoolArray:
        return _passes(trace, first, last) & (trace.overview.exit_layers[first:last] <= self.layers)


@dataclass(frozen=True, slots=True)
class ExitAtLeast(Condition):
    """The pass ran so many layers or more. The prompt's own pass never counts."""

    kind: ClassVar[str] = "exit at least"
    layers: int

    def __post_init__(self) -> None:
        _require_count(self.layers, "exit layer")

    @property
    def label(self) -> str:
        return f"exit layer ≥ {self.layers}"

    def found(self, trace: ReadableTrace, first: int, last: int) -> BoolArray:
        return _passes(trace, first, last) & (trace.overview.exit_layers[first:last] >= self.layers)


@dataclass(frozen=True, slots=True)
class Refused(Condition):
    """An exit was proposed and refused by the full vocabulary or by the margin gate."""

    kind: ClassVar[str] = "refused"

    @property
    def label(self) -> str:
        return "proposed but refused"

    def found(self, trace: ReadableTrace, first: int, last: int) -> BoolArray:
        return _passes(trace, first, last) & (trace.overview.refusals[first:last] > 0)


@dataclass(frozen=True, slots=True)
class WrongExit(Condition):
    """The token left early, and full depth gives another one."""

    kind: ClassVar[str] = "wrong exit"
    needs_audit: ClassVar[bool] = True

    @property
    def label(self) -> str:
        return "wrong exit"

    def found(self, trace: ReadableTrace, first: int, last: int) -> BoolArray:
        wrong: BoolArray = trace.overview.wrong[first:last] & (trace.overview.exit_layers[first:last] < trace.depth)
        return wrong


@dataclass(frozen=True, slots=True)
class NearThreshold(Condition):
    """A predictor's score (of a tree: a path's) lies close to its layer's threshold, on either side."""

    kind: ClassVar[str] = "near threshold"
    epsilon: float = 0.01

    def __post_init__(self) -> None:
        if not (isinstance(self.epsilon, float | int) and 0 < self.epsilon <= 1):
            raise UserError(f"The distance from the threshold is {self.epsilon!r:.40}; it must be above 0, at most 1.")

    @property
    def label(self) -> str:
        return f"score within {self.epsilon:g} of the threshold"

    def found(self, trace: ReadableTrace, first: int, last: int) -> BoolArray:
        near: BoolArray = closest(trace, first, last, _passes(trace, first, last)) <= self.epsilon
        return near


@dataclass(frozen=True, slots=True)
class ActiveSetChanged(Condition):
    """Other layers have a predictor than in the pass before."""

    kind: ClassVar[str] = "active set changed"

    @property
    def label(self) -> str:
        return "active set changed"

    def found(self, trace: ReadableTrace, first: int, last: int) -> BoolArray:
        before, overview = max(first - 1, 0), trace.overview
        active = overview.states[before:last] & np.uint8(_ACTIVE)
        known = overview.active_layers[before:last] != UNKNOWN
        changed = np.zeros(last - before, np.bool_)
        changed[1:] = (active[1:] != active[:-1]).any(1) & known[1:] & known[:-1]
        return _passes(trace, first, last) & changed[first - before :]


@dataclass(frozen=True, slots=True)
class CandidatesMiss(Condition):
    """The full-depth token is none of the drafter's candidates, so that no right exit was possible."""

    kind: ClassVar[str] = "candidates miss"
    needs_audit: ClassVar[bool] = True

    @property
    def label(self) -> str:
        return "full-depth token not among the candidates"

    def found(self, trace: ReadableTrace, first: int, last: int) -> BoolArray:
        missed: BoolArray = trace.overview.final_ranks[first:last] == NO_CANDIDATE
        return missed


@dataclass(frozen=True, slots=True)
class AcceptanceAtMost(Condition):
    """A token tree's pass emitted so many tokens or fewer; a pass without a tree never counts."""

    kind: ClassVar[str] = "acceptance at most"
    length: int = 1

    def __post_init__(self) -> None:
        _require_count(self.length, "acceptance length")

    @property
    def label(self) -> str:
        return f"acceptance length ≤ {self.length}"

    def found(self, trace: ReadableTrace, first: int, last: int) -> BoolArray:
        met = np.zeros(last - first, np.bool_)
        if trace.started is None or not trace.started.settings.tree.on:
            return met
        count = trace.emitted_count
        begins = np.append(first + np.flatnonzero(_passes(trace, first, count)), count)
        inside = int(np.searchsorted(begins[:-1], last))
        for token, following in zip(begins[:inside].tolist(), begins[1 : inside + 1].tolist(), strict=True):
            # Of the newest pass more tokens may follow.
            length = _length(trace.records[token]) if following == count else following - token
            met[token - first] = length <= self.length
        return met


def _length(record: TokenRecord) -> float:
    accepted = record.tree.accepted if record.tree else None
    return accepted.acceptance_length if accepted else math.inf


def _passes(trace: ReadableTrace, first: int, last: int) -> BoolArray:
    """Tokens that begin a pass that decided something: no prompt, none given to a branch. Shape [last - first]."""
    overview = trace.overview
    begins = overview.passes[first:last] == np.arange(first, last)
    undecided = np.isin(overview.reasons[first:last], _UNDECIDED)
    found: BoolArray = begins & ~undecided
    return found


_UNDECIDED = [REASONS.index(reason) for reason in (ExitReason.PREFILL, ExitReason.GIVEN)]


def _require_count(value: object, what: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UserError(f"The {what} is {value!r:.40}; it must be a whole number of at least 1.")
