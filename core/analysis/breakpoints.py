"""Breakpoints over a recorded or a live run, and the search for the next hit in both directions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from core.analysis.conditions import (
    AcceptanceAtMost,
    ActiveSetChanged,
    CandidatesMiss,
    Condition,
    ExitAtLeast,
    ExitAtMost,
    NearThreshold,
    Refused,
    WrongExit,
)
from core.analysis.text_conditions import TextContains, TokenMatches
from core.errors import UserError
from core.progress import check
from core.trace.events import BoolArray
from core.trace.reading import ReadableTrace

CHUNK = 1024
"""Tokens that a search looks at together; a hit near by is found without reading the whole run."""
MOST_CONDITIONS = 100
"""Conditions that one `AnyOf` may hold."""


@dataclass(frozen=True, slots=True)
class AnyOf(Condition):
    """At least one of several conditions is met."""

    kind: ClassVar[str] = "any of"
    conditions: tuple[Condition, ...]

    def __post_init__(self) -> None:
        if len(self.conditions) > MOST_CONDITIONS:
            raise UserError(
                f"A breakpoint has {len(self.conditions)} conditions; at most {MOST_CONDITIONS} are possible."
            )

    @property
    def label(self) -> str:
        return ", or ".join(one.label for one in self.conditions) or "never"

    def found(self, trace: ReadableTrace, first: int, last: int) -> BoolArray:
        met = np.zeros(last - first, np.bool_)
        for one in self.conditions:
            met |= one.found(trace, first, last)
        return met

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "conditions": [one.to_json() for one in self.conditions]}


INTERESTING = AnyOf((WrongExit(), Refused(), NearThreshold(0.01), AcceptanceAtMost(1)))
"""What "next interesting" stops at where the user has no breakpoints of their own."""

SIMPLE: dict[str, type[Condition]] = {
    kind.kind: kind
    for kind in (
        ExitAtMost,
        ExitAtLeast,
        Refused,
        WrongExit,
        NearThreshold,
        ActiveSetChanged,
        CandidatesMiss,
        TextContains,
        TokenMatches,
        AcceptanceAtMost,
    )
}
"""Every condition that is no combination of others, by its name in JSON."""


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A condition that runs and searches stop at while it is enabled."""

    condition: Condition
    enabled: bool = True

    @property
    def label(self) -> str:
        return self.condition.label

    def to_json(self) -> dict[str, Any]:
        """Plain values; `from_json` reads them back."""
        return {"condition": self.condition.to_json(), "enabled": self.enabled}

    @classmethod
    def from_json(cls, values: Any) -> Breakpoint:
        """The breakpoint that `to_json` wrote.

        Raises:
            UserError: it is none.
        """
        if not isinstance(values, dict) or values.keys() != {"condition", "enabled"}:
            raise UserError(_unreadable("its fields are not a condition and whether it is enabled"))
        return cls(condition_from_json(values["condition"]), values["enabled"] is True)


def condition_from_json(values: Any) -> Condition:
    """The condition that `Condition.to_json` wrote; an `AnyOf` holds simple ones only.

    Raises:
        UserError: it is none, or a value is out of range.
    """
    if isinstance(values, dict) and values.get("kind") == AnyOf.kind:
        listed = values.get("conditions")
        if not isinstance(listed, list):
            raise UserError(_unreadable("its conditions are no list"))
        return AnyOf(tuple(_simple(one) for one in listed))
    return _simple(values)


def _simple(values: Any) -> Condition:
    kind = values.get("kind") if isinstance(values, dict) else None
    if not isinstance(kind, str) or kind not in SIMPLE:
        raise UserError(_unreadable(f"there is no condition {kind!r:.40}"))
    try:
        return SIMPLE[kind](**{name: value for name, value in values.items() if name != "kind"})
    except TypeError as error:
        raise UserError(_unreadable(str(error))) from None


def _unreadable(why: str) -> str:
    return f"A breakpoint cannot be read ({why}); delete it and make it again."


@dataclass(frozen=True, slots=True)
class Hit:
    """A token that meets conditions."""

    token: int
    conditions: tuple[Condition, ...]
    """All that it meets of those asked for."""

    @property
    def label(self) -> str:
        return ", and ".join(one.label for one in self.conditions)


def find(
    conditions: Sequence[Condition],
    trace: ReadableTrace,
    start: int,
    *,
    forward: bool = True,
    cancel: threading.Event | None = None,
    tell: Callable[[int], object] | None = None,
) -> Hit | None:
    """The nearest emitted token after (or before) `start` that meets any of `conditions`; None where there is none.

    Args:
        conditions: what to look for.
        trace: the run.
        start: 0-based; below 0 before the first token.
        forward: in which direction.
        cancel: ends the search between two stretches.
        tell: is told how many tokens have been looked at without a hit.

    Raises:
        UserError: a pattern takes too long.
        Cancelled: `cancel` was set.
    """
    looked = 0
    for first, last in _chunks(trace.emitted_count, start, forward):
        check(cancel)
        met = AnyOf(tuple(conditions)).found(trace, first, last)
        at = np.flatnonzero(met)
        if len(at):
            token = first + int(at[0] if forward else at[-1])
            return Hit(token, _met(conditions, trace, token))
        looked += last - first
        if tell is not None:
            tell(looked)
    return None


def _met(conditions: Sequence[Condition], trace: ReadableTrace, token: int) -> tuple[Condition, ...]:
    return tuple(one for one in conditions if one.found(trace, token, token + 1)[0])


def _chunks(count: int, start: int, forward: bool) -> Iterator[tuple[int, int]]:
    """Stretches of tokens, first to last + 1, from the one next to `start` on to the end or back to the beginning."""
    if forward:
        for first in range(max(start + 1, 0), count, CHUNK):
            yield first, min(first + CHUNK, count)
        return
    last = min(start, count)
    while last > 0:
        yield max(0, last - CHUNK), last
        last -= CHUNK
