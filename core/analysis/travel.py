"""Places of a recorded run that a reader can stand at, in the order in which they came, and the steps between them.

A live run can be held after each layer of a pass and after each token. A recording has the same places: every layer of
a token but the last one it ran (with that one the token is there), and the token as a whole. Layers belong to the first
token of a pass; those that a tree's pass accepted with it are there at once. Tokens that took no pass of this run, the
prompt's own and those given to a branch, have no layers to stand at. Nothing is run again: a place is a look-up.
"""

from __future__ import annotations

from enum import Enum, auto
from functools import cached_property
from typing import NamedTuple

import numpy as np

from core.trace.events import ExitReason
from core.trace.overview import REASONS
from core.trace.reading import ReadableTrace


class Stride(Enum):
    """How far a step goes."""

    LAYER = auto()
    TOKEN = auto()
    PASS = auto()
    """To the last token of a target pass."""


class Place(NamedTuple):
    """Where a reader stands."""

    token: int
    """0-based."""
    layer: int | None = None
    """0-based, the last layer that has run; None once the token is there."""


_PASSLESS = [REASONS.index(reason) for reason in (ExitReason.PREFILL, ExitReason.GIVEN)]


class Journey:
    """The places of a run; made anew for each step, so that it fits a run that grows."""

    def __init__(self, trace: ReadableTrace) -> None:
        self._trace, self._emitted = trace, trace.emitted_count
        self._in_flight = len(trace.records) > self._emitted

    @property
    def first(self) -> Place | None:
        """The first token; None where there is nothing yet."""
        return self._at(0, self._last_stop(0)) if self._emitted or self._in_flight else None

    @cached_property
    def last(self) -> Place | None:
        """The newest place, which is amid a token where one is in flight."""
        token = self._emitted - (not self._in_flight)
        return self._at(token, self._last_stop(token)) if token >= 0 else None

    def forward(self, place: Place | None, stride: Stride) -> Place | None:
        """The next place, a whole stride on or as far as the recording goes; None at its end."""
        last = self.last
        if place is None or last is None:
            return self.first
        token, stop = self._stop_of(place)
        if (token, stop) >= self._stop_of(last):
            return None
        if stride is Stride.LAYER:
            found = (token, stop + 1) if stop < self._last_stop(token) else (token + 1, 0)
            return self._at(*found)
        if stop >= self._last_stop(token) and token == self._end(token, stride):
            token += 1
        return self._whole(self._end(token, stride))

    def back(self, place: Place | None, stride: Stride) -> Place | None:
        """The place a stride before; None at the first one."""
        if place is None:
            return self.last
        token, stop = self._stop_of(place)
        if stride is Stride.LAYER and stop:
            return self._at(token, stop - 1)
        if stride is Stride.PASS:
            token = self._begin(token)
        return self._whole(token - 1) if token else None

    def is_at_end(self, place: Place | None, stride: Stride) -> bool:
        """Whether only the engine knows what is a stride on: at the newest token or, by layers, its newest layer."""
        last = self.last
        if place is None or last is None:
            return True
        if stride is Stride.LAYER:
            return self._stop_of(place) >= self._stop_of(last)
        return place.token >= last.token

    # Stops: a token's layers that can be stood at, then, where it is there, the token itself.

    def _layers(self, token: int) -> int:
        """How many layers of a token can be stood at."""
        if token >= self._emitted:
            return self._trace.records[token].layers_run
        seen = self._trace.overview
        if seen.reasons[token] in _PASSLESS or seen.passes[token] != token:
            return 0
        return int(seen.exit_layers[token]) - 1

    def _last_stop(self, token: int) -> int:
        """The last stop of a token, counted from 0."""
        layers = self._layers(token)
        return max(layers - 1, 0) if token >= self._emitted else layers

    def _stop_of(self, place: Place) -> tuple[int, int]:
        """A place as token and stop; layers that never ran, or that the token shares, are the token itself."""
        token = max(0, min(place.token, self._emitted - (not self._in_flight)))
        last = self._last_stop(token)
        return token, last if place.layer is None else min(place.layer, last)

    def _at(self, token: int, stop: int) -> Place:
        return Place(token, stop if stop < self._layers(token) else None)

    def _whole(self, token: int) -> Place:
        return self._at(token, self._last_stop(token))

    def _begin(self, token: int) -> int:
        """The first token of a token's pass."""
        return int(self._trace.overview.passes[token]) if token < self._emitted else token

    def _end(self, token: int, stride: Stride) -> int:
        """The last token that a step of this stride to this token reaches."""
        if stride is not Stride.PASS or token >= self._emitted:
            return token
        passes = self._trace.overview.passes
        return int(np.searchsorted(passes, passes[token], side="right")) - 1
