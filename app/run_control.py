"""Run, Pause, Step and Stop: how the window holds and releases the engine's generator.

The engine is a generator, so holding it means not asking for its next event. Every command takes effect at the next
event, hence within one layer; nothing polls. One `RunControl` belongs to one run, so that stopping a run can never
touch the one that follows it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum, auto
from time import perf_counter

from core.trace.events import (
    Event,
    LayerRun,
    RunEnded,
    RunStarted,
    TokenEmitted,
    TreeAccepted,
    TreeLayerRun,
    TreeVerified,
    Verified,
)


class _Goal(Enum):
    PLAY = auto()
    HOLD = auto()
    TOKEN = auto()
    LAYER = auto()


def _ignore(_: bool) -> None:
    pass


class RunControl:
    """Decides after which event a run is held. The GUI thread commands, the worker's thread calls `gate`."""

    def __init__(self, *, paused: bool = False) -> None:
        """With `paused`, the run is held after its first event, before any work on the prompt."""
        self.stop_event = threading.Event()
        """The engine looks at it between layers; set it through `stop`, which also releases a held run."""
        self._goal = _Goal.HOLD if paused else _Goal.PLAY
        self._changed = threading.Condition()
        self._depth = 0
        self._pass_end = 0
        """The last token of the newest tree's pass."""
        self._held_seconds = 0.0

    def play(self) -> None:
        """Go on until something else is asked."""
        self._aim(_Goal.PLAY)

    def pause(self) -> None:
        """Hold after the event in the making, even in the middle of a token."""
        self._aim(_Goal.HOLD)

    def step_token(self) -> None:
        """Go on through the next token, or all tokens of a tree's pass. While a step is under way, the latest request
        counts."""
        self._aim(_Goal.TOKEN)

    def step_layer(self) -> None:
        """Go on through the next layer, the check of an exit it proposes and the token it emits included."""
        self._aim(_Goal.LAYER)

    def stop(self) -> None:
        """End the run at the next layer; a held run is released to do so."""
        with self._changed:
            self.stop_event.set()
            self._changed.notify_all()

    def gate(self, event: Event, announce: Callable[[bool], None] = _ignore) -> None:
        """Return at once, or after `play`, a step or `stop` if `event` completes what was asked.

        `announce` is told True before the wait and False when the run goes on; not when it was released to stop.
        """
        with self._changed:
            if not self._holds_after(event):
                return
            self._goal = _Goal.HOLD
        since = perf_counter()
        announce(True)
        with self._changed:
            self._changed.wait_for(self._released)
            stopped = self.stop_event.is_set()
        self._held_seconds += perf_counter() - since
        if not stopped:
            announce(False)

    def clock(self) -> float:
        """Seconds that stand still while the run is held, so that the engine's timings leave pauses out.

        To be read in the worker's thread, which cannot be inside `gate` then.
        """
        return perf_counter() - self._held_seconds

    def _aim(self, goal: _Goal) -> None:
        with self._changed:
            self._goal = goal
            self._changed.notify_all()

    def _released(self) -> bool:
        return self._goal is not _Goal.HOLD or self.stop_event.is_set()

    def _holds_after(self, event: Event) -> bool:
        if isinstance(event, RunStarted):
            self._depth = event.model.depth
        if isinstance(event, TreeAccepted):
            self._pass_end = event.token + event.acceptance_length - 1
        if isinstance(event, RunEnded) or self.stop_event.is_set():
            return False
        match self._goal:
            case _Goal.PLAY:
                return False
            case _Goal.HOLD:
                return True
            case _Goal.TOKEN:
                return self._completes_pass(event)
            case _Goal.LAYER:
                return self._completes_layer(event)

    def _completes_layer(self, event: Event) -> bool:
        """Whether nothing more of this layer is to come.

        A proposed exit is still to be checked; an accepted one, like the last layer, still has its token to emit.
        """
        match event:
            case LayerRun():
                return not event.proposed and event.layer + 1 < self._depth
            case TreeLayerRun():
                return not event.proposed.any() and event.layer + 1 < self._depth
            case Verified() | TreeVerified():
                return not event.accepted and event.layer + 1 < self._depth
            case _:
                return self._completes_pass(event)

    def _completes_pass(self, event: Event) -> bool:
        """Whether this is the last token of its pass. A run that ends within a tree's pass is not held there."""
        return isinstance(event, TokenEmitted) and event.token >= self._pass_end
