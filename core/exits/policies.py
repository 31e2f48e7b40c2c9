"""Strategies that may end a token's pass early. The engine's one loop asks; they answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from torch import Tensor

from core.config import Policy, RunSettings
from core.drafting.head import Draft
from core.exits.parts import TrainedParts
from core.exits.predictors import PredictorBank, features_of
from core.exits.scheduling import EveryLayer, Schedule, TwoLevelScheduler
from core.model.decoder import Decoder
from core.trace.events import FloatArray


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a predictor made of one layer."""

    features: FloatArray
    """Shape [3k]."""
    score: float
    """0…1."""
    proposed: bool


class ExitPolicy(Protocol):
    """One run's rule for leaving early.

    For each token the loop calls `begin`, then `look` after each layer but the last, then `record` with the outcome.
    Where `look` proposes an exit, the loop verifies it against the full vocabulary.
    """

    drafts: bool
    """Whether the rule needs speculative tokens."""

    def begin(self, draft: Draft | None) -> Schedule | None:
        """A new token with its speculative tokens; the active set, or None for a rule without predictors."""

    def look(self, layer: int, hidden: Tensor) -> Evaluation | None:
        """Judge the hidden state [d] after `layer`; None where the layer is not active."""

    def record(self, token: int, layer: int) -> None:
        """The token was emitted and `layer` (0-based) was the last one run."""


class Dense:
    """Every token runs to full depth."""

    drafts = False

    def begin(self, draft: Draft | None) -> Schedule | None:
        return None

    def look(self, layer: int, hidden: Tensor) -> Evaluation | None:
        return None

    def record(self, token: int, layer: int) -> None:
        """Nothing depends on past exits."""


class SpecEE:
    """T1, or T1 with T2: speculation-based predictors on the layers that the scheduler picks."""

    drafts = True

    def __init__(
        self, decoder: Decoder, bank: PredictorBank, scheduler: EveryLayer | TwoLevelScheduler, threshold: float
    ) -> None:
        self._decoder, self._bank, self._scheduler, self._threshold = decoder, bank, scheduler, threshold
        self._schedule = scheduler.schedule()
        self._rows: Tensor | None = None
        self._previous: FloatArray | None = None

    def begin(self, draft: Draft | None) -> Schedule:
        assert draft is not None, "SpecEE looks at speculative tokens"
        self._schedule = self._scheduler.schedule()
        self._rows = self._decoder.head_weight[draft.ids]
        self._previous = None
        return self._schedule

    def look(self, layer: int, hidden: Tensor) -> Evaluation | None:
        if self._rows is None or not self._schedule.active[layer]:
            return None
        logits = (self._rows @ self._decoder.norm(hidden)).float().cpu().numpy()
        features = features_of(logits, self._previous)
        self._previous = features[len(logits) : 2 * len(logits)]
        score = self._bank.score(layer, features)
        return Evaluation(features, score, score > self._threshold)

    def record(self, token: int, layer: int) -> None:
        self._scheduler.record(token, layer)


def make_policy(settings: RunSettings, decoder: Decoder, parts: TrainedParts | None) -> ExitPolicy:
    """The strategy that the settings ask for; `parts` must be there if it needs them (the engine has checked)."""
    if settings.policy is Policy.DENSE or parts is None:
        return Dense()
    depth = decoder.config.depth
    scheduler: EveryLayer | TwoLevelScheduler = EveryLayer(depth)
    if settings.policy is Policy.SPECEE_T1T2:
        scheduler = TwoLevelScheduler(settings.scheduler, depth, parts.offline_ranking)
    return SpecEE(decoder, parts.predictors, scheduler, settings.threshold)


def offline_set(settings: RunSettings, parts: TrainedParts | None) -> np.ndarray:
    """The offline layers that a run keeps active, best first; empty unless T2 is on."""
    if settings.policy is not Policy.SPECEE_T1T2 or parts is None:
        return np.zeros(0, np.int64)
    return parts.offline_ranking[: settings.scheduler.offline_layers]
