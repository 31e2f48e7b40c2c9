"""What settings would have done, re-decided from answers whose every layer is known, T2's ring included.

The tokens before each one are taken as the target wrote them and the drafter's features as those of full depth, so
this is an estimate of a run; but it takes milliseconds where a run takes minutes, and hundreds of settings go at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.config import CANDIDATES, SchedulerSettings
from core.exits.predictors import PredictorBank, features_of
from core.trace.events import BoolArray, FloatArray, IntArray
from core.training.features import HeldOutViews, LayerViews
from core.training.predictors import scores_of

SIDE_BY_SIDE = 20_000
"""Settings times answers that are decided at once."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What is re-decided."""

    threshold: float
    gate: float = 0.0
    """Least margin at verification; 0 is off."""
    offline_layers: int | None = None
    """M of T1+T2; None watches every layer (T1)."""


@dataclass(frozen=True, slots=True)
class Point:
    """What a setting did."""

    threshold: float
    gate: float
    offline_layers: int | None
    mean_exit_layer: float
    """Layers run, 1…L."""
    early: float
    """Share of tokens that leave before the last layer."""
    agreement: float
    """Share of tokens that are the full-depth token."""
    verifications: float
    """Full-vocabulary checks a token, those that let it go included; the last layer's product is none."""
    predictors: float
    """Predictors asked a token."""

    def values(self) -> dict[str, Any]:
        return {name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(self).items()}


def score_table(bank: PredictorBank, views: LayerViews) -> FloatArray:
    """Every predictor's score for each layer that may have been the last active one below. Shape [n, L-1, L].

    Entry [i, l, p + 1] is layer l's score on token i where layer p < l was asked last; p = -1 where none was.
    """
    n, layers = views.agrees.shape
    local = features_of(views.logits, None)[..., CANDIDATES : 2 * CANDIDATES]
    table = np.zeros((n, layers, layers + 1), np.float32)
    for last in range(-1, layers - 1):
        earlier = local[:, [last]] if last >= 0 else np.zeros((n, 1, CANDIDATES), np.float32)
        above = slice(last + 1, layers)
        features = features_of(views.logits[:, above], earlier)
        table[:, above, last + 1] = scores_of(bank, features, above)
    return table


class Replay:
    """The tokens of some answers, ready to be decided anew under many settings."""

    def __init__(
        self, views: HeldOutViews, table: FloatArray, ranking: IntArray, scheduler: SchedulerSettings | None = None
    ) -> None:
        """
        Args:
            views: held-out tokens; those of one answer lie next to one another.
            table: as `score_table` gives it.
            ranking: the L-1 layers that have predictors, where tokens exit most first.
            scheduler: N, r and what counts; its M is each setting's own.
        """
        self._views, self._table = views, table
        self._scheduler = scheduler or SchedulerSettings()
        layers = views.agrees.shape[1]
        self._layers = layers
        place = np.empty(layers, np.int64)
        place[ranking] = np.arange(layers)
        self._place = place
        """Shape [L-1], each layer's place in the ranking."""
        self._slots = _slots(views.prompts)

    def points(self, settings: Sequence[Setting]) -> list[Point]:
        """What each setting does."""
        together = max(1, SIDE_BY_SIDE // max(1, self._slots.shape[0]))
        found: list[Point] = []
        for first in range(0, len(settings), together):
            found += self._some(settings[first : first + together])
        return found

    def _some(self, settings: Sequence[Setting]) -> list[Point]:
        outcome = self.outcome(settings)
        right = outcome.right.mean(1)
        return [
            Point(
                one.threshold,
                one.gate,
                one.offline_layers,
                float((outcome.last[i] + 1).mean()),
                float((outcome.last[i] < self._layers).mean()),
                float(right[i]),
                float(outcome.checks[i].mean()),
                float(outcome.asked[i].mean()),
            )
            for i, one in enumerate(settings)
        ]

    def outcome(self, settings: Sequence[Setting]) -> Outcome:
        """Token by token what c settings do."""
        c, n = len(settings), len(self._views)
        outcome = Outcome.blank(c, n)
        ring = np.full((c, self._slots.shape[0], self._scheduler.window), -1, np.int64)
        watched = self._offline(settings)
        for tokens in self._slots.T:
            rows = np.flatnonzero(tokens >= 0)
            at = tokens[rows]
            last = self._token(settings, at, watched, ring[:, rows], outcome)
            ring[:, rows] = np.concatenate([ring[:, rows, 1:], last[..., None]], -1)
        return outcome

    def _offline(self, settings: Sequence[Setting]) -> BoolArray:
        """Shape [c, L-1]."""
        most = [self._layers if one.offline_layers is None else one.offline_layers for one in settings]
        return self._place[None] < np.array(most)[:, None]

    def _token(
        self, settings: Sequence[Setting], at: IntArray, offline: BoolArray, ring: IntArray, outcome: Outcome
    ) -> IntArray:
        """Decide one token of each answer; the last layers run, 0-based, [c, answers]."""
        views, shape = self._views, (len(settings), len(at))
        thresholds, gates = (
            np.array([getattr(one, name) for one in settings])[:, None] for name in ("threshold", "gate")
        )
        active = offline[:, None] | self._near(ring)
        last, before = np.full(shape, self._layers), np.zeros(shape, np.int64)
        checks, asked, leaving = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.ones(shape, np.bool_)
        right = np.ones(shape, np.bool_)
        for layer in range(self._layers):
            looks: BoolArray = active[..., layer] & leaving
            proposed: BoolArray = looks & (self._table[at, layer, before] > thresholds)
            exits: BoolArray = proposed & views.among[at, layer] & (views.margins[at, layer] >= gates)
            asked += looks
            checks += proposed
            last[exits] = layer
            right = np.where(exits, views.agrees[at, layer], right)
            np.logical_and(leaving, ~exits, out=leaving)
            before = np.where(looks, layer + 1, before)
        outcome.put(at, last, right, checks, asked)
        return last

    def _near(self, ring: IntArray) -> BoolArray:
        """Which layers are within r of an exit in the ring, [c, answers, L-1]; -1 is an empty place."""
        depth, radius = self._layers + 1, self._scheduler.radius
        around = np.abs(np.arange(depth)[:, None] - np.arange(self._layers)) <= radius
        lookup = np.concatenate([around, np.zeros((1, self._layers), np.bool_)])  # index -1 is the last row
        found: BoolArray = np.logical_or.reduce(lookup[ring], 2)
        return found


@dataclass(frozen=True, slots=True)
class Outcome:
    """Token by token, what settings did; each shaped [settings, n]."""

    last: IntArray
    """The last layer run, 0-based."""
    right: BoolArray
    """Whether the token is the full-depth one."""
    checks: IntArray
    asked: IntArray
    """Predictors asked."""

    @classmethod
    def blank(cls, settings: int, tokens: int) -> Outcome:
        """Of so many settings and tokens, to be filled in; arrays are [settings, tokens]."""
        shape = (settings, tokens)
        counts = [np.zeros(shape, np.int64) for _ in range(3)]
        return cls(counts[0], np.zeros(shape, np.bool_), counts[1], counts[2])

    def put(self, at: IntArray, last: IntArray, right: BoolArray, checks: IntArray, asked: IntArray) -> None:
        """Fill in the tokens `at`."""
        self.last[:, at], self.right[:, at], self.checks[:, at], self.asked[:, at] = last, right, checks, asked


def _slots(prompts: IntArray) -> NDArray[np.int64]:
    """The tokens of each answer in a row, [answers, longest], -1 at the end of shorter ones."""
    starts = np.flatnonzero(np.diff(prompts, prepend=-1)) if len(prompts) else np.zeros(0, np.int64)
    ends = np.append(starts[1:], len(prompts))
    slots = np.full((len(starts), int((ends - starts).max(initial=0))), -1, np.int64)
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        slots[row, : end - start] = np.arange(start, end)
    return slots
