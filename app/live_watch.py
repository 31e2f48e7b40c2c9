"""Breakpoints beside a live run: looked at in the engine's thread, right after each token. No Qt.

A run that hits one is held before its generator is asked for anything more, so it stops at the very token that a
search through the recording finds.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from core.analysis.conditions import Condition
from core.errors import UserError
from core.trace.events import Event, ExitReason, RunEnded, RunStarted, TokenEmitted
from core.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class Halt:
    """Why a run is held after a token."""

    run: int
    token: int
    conditions: tuple[Condition, ...] = ()
    """All that the token meets."""
    problems: tuple[tuple[Condition, str], ...] = ()
    """Conditions that could not be looked for, each with a sentence; they are not looked for any more."""


class LiveWatch:
    """What a live run stops at. `watch_for` may be called from any thread, `look` from the one that runs."""

    def __init__(self) -> None:
        self._wanted: tuple[Condition, ...] = ()
        self._given_up: set[Condition] = set()
        self._lock = threading.Lock()
        self._waiting: list[Event] = []
        """Events that nobody had to look at yet: without breakpoints a run pays for a list of references only."""
        self._trace = Trace()

    def watch_for(self, conditions: Sequence[Condition]) -> None:
        """Stop at any of these from the next token on."""
        with self._lock:
            self._wanted = tuple(conditions)
            self._given_up.intersection_update(self._wanted)

    def look(self, event: Event) -> Halt | None:
        """Take in the next event; why the run is to be held after it, None where it may go on."""
        if isinstance(event, RunStarted | RunEnded):
            self._waiting, self._trace = [], Trace()
        if isinstance(event, RunEnded):
            return None
        self._waiting.append(event)
        with self._lock:
            conditions = [one for one in self._wanted if one not in self._given_up]
        past = isinstance(event, TokenEmitted) and event.reason is ExitReason.GIVEN  # of the run that a branch left
        return self._look_at(event, conditions) if isinstance(event, TokenEmitted) and conditions and not past else None

    def _look_at(self, event: TokenEmitted, conditions: Sequence[Condition]) -> Halt | None:
        for waiting in self._waiting:
            self._trace.append(waiting)
        self._waiting.clear()
        record, met, problems = self._trace.records[event.token], [], []
        for condition in conditions:
            try:
                if condition.hits(record, self._trace):
                    met.append(condition)
            except UserError as error:
                problems.append((condition, str(error)))
        with self._lock:
            self._given_up.update(condition for condition, _ in problems)
        return Halt(event.run, event.token, tuple(met), tuple(problems)) if met or problems else None
