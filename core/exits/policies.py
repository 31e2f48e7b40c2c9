"""Strategies that may end a token's pass early. The engine's one loop asks; they answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, assert_never

import numpy as np
from torch import Tensor

from core.choices import Policy
from core.config import RunSettings
from core.drafting.head import Draft
from core.exits.adainfer import LayerClassifier
from core.exits.judge import Judge, make_judge
from core.exits.lens import Readout
from core.exits.parts import TrainedParts
from core.exits.predictors import PredictorBank
from core.exits.scheduling import EveryLayer, Schedule, TwoLevelScheduler
from core.exits.stability import first_stable
from core.model.decoder import Decoder
from core.sampling import Choice
from core.trace.events import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a policy made of one layer."""

    features: FloatArray
    """Shape [n], what it looked at."""
    score: float
    """0…1."""
    proposed: bool
    choice: Choice | None = None
    """The layer's own token, where the policy has read the whole vocabulary; such an exit needs no check."""


@dataclass(frozen=True, slots=True)
class PassView:
    """What a policy may ask of the pass under way."""

    decoder: Decoder
    choose: Callable[[Tensor], Choice]
    """The token that a normed hidden state [d] gives, by a product with the whole LM head."""
    finish: Callable[[], list[Tensor]]
    """The fed token's hidden states [d] after each of the L layers; those not run yet are run on the side."""
    readout: Readout
    """How the head sees a layer's state: normed, and through the lens where the run has one."""

    def says(self, layer: int, hidden: Tensor) -> Choice:
        """The layer's own token, from the hidden state [d] after it."""
        return self.choose(self.readout.normed(layer, hidden))


class PolicyFailed(Exception):
    """A policy of the user's own went wrong while it ran; the text is one sentence for the user.

    No RuntimeError: raised from a StopIteration, `contextlib` would take one for Python's own complaint and drop it.
    """


class ExitPolicy(Protocol):
    """One run's rule for leaving early.

    For each token the loop calls `begin`, then `look` after each layer but the last, then `record` with the outcome.
    Where `look` proposes an exit without a choice of its own, the loop verifies it against the full vocabulary.
    """

    drafts: bool
    """Whether the rule needs speculative tokens."""

    def begin(self, view: PassView, draft: Draft | None) -> Schedule | None:
        """A new token with its speculative tokens; the active set, or None for a rule without predictors."""

    def look(self, layer: int, hidden: Tensor) -> Evaluation | None:
        """Judge the hidden state [d] after `layer`; None where the layer is not active."""

    def record(self, token: int, layer: int) -> None:
        """The token was emitted and `layer` (0-based) was the last one run."""


class Dense:
    """Every token runs to full depth."""

    drafts = False

    def begin(self, view: PassView, draft: Draft | None) -> Schedule | None:
        return None

    def look(self, layer: int, hidden: Tensor) -> Evaluation | None:
        return None

    def record(self, token: int, layer: int) -> None:
        """Nothing depends on past exits."""


class FixedLayer(Dense):
    """Every token leaves after the same number of layers."""

    def __init__(self, exit_layer: int) -> None:
        self._last = exit_layer - 1

    def begin(self, view: PassView, draft: Draft | None) -> Schedule | None:
        self._view = view
        return None

    def look(self, layer: int, hidden: Tensor) -> Evaluation | None:
        if layer != self._last:
            return None
        choice = self._view.says(layer, hidden)
        return Evaluation(np.zeros(0, np.float32), 1.0, True, choice)


class Calm(Dense):
    """Leave where p₁ is above the threshold; pays the whole LM head at every layer (CALM, softmax response)."""

    def __init__(self, threshold_at: Callable[[int], float]) -> None:
        self._threshold_at = threshold_at

    def begin(self, view: PassView, draft: Draft | None) -> Schedule | None:
        self._view = view
        return None

    def look(self, layer: int, hidden: Tensor) -> Evaluation | None:
        choice = self._view.says(layer, hidden)
        features = np.array([choice.margin, choice.top], np.float32)
        return Evaluation(features, choice.top, choice.top > self._threshold_at(layer), choice)


class AdaInfer(Dense):
    """Leave at the first layer whose classifier calls its argmax final; pays the whole LM head at every layer."""

    def __init__(self, classifier: LayerClassifier) -> None:
        self._classifier = classifier

    def begin(self, view: PassView, draft: Draft | None) -> Schedule | None:
        self._view = view
        self._classifier.begin()
        return None

    def look(self, layer: int, hidden: Tensor) -> Evaluation | None:
        choice = self._view.says(layer, hidden)
        features = np.array([choice.margin, choice.top], np.float32)
        score, final = self._classifier.judge(layer, features)
        return Evaluation(features, score, final, choice)


class Oracle(Dense):
    """Leave at the earliest layer from which every layer's argmax is the full-depth token."""

    def begin(self, view: PassView, draft: Draft | None) -> Schedule | None:
        self._choices = [view.choose(state) for state in view.readout.every(view.finish())]
        tokens = np.array([choice.token_id for choice in self._choices])
        self._exit = first_stable(tokens)
        return None

    def look(self, layer: int, hidden: Tensor) -> Evaluation | None:
        if layer != self._exit:
            return None
        return Evaluation(np.zeros(0, np.float32), 1.0, True, self._choices[layer])


class SpecEE:
    """T1, or T1 with T2: speculation-based predictors on the layers that the scheduler picks."""

    drafts = True

    def __init__(
        self, bank: PredictorBank, scheduler: EveryLayer | TwoLevelScheduler, threshold_at: Callable[[int], float]
    ) -> None:
        """`bank` is made for what the run's lens shows; an exit is proposed where a score is above the threshold."""
        self._bank, self._scheduler = bank, scheduler
        self._thresholds = [threshold_at(layer) for layer in range(bank.layers)]
        self._schedule = scheduler.schedule()
        self._judge: Judge | None = None

    def begin(self, view: PassView, draft: Draft | None) -> Schedule:
        assert draft is not None, "SpecEE looks at speculative tokens"
        self._schedule = self._scheduler.schedule()
        decoder, self._readout = view.decoder, view.readout
        self._judge = self._judge or make_judge(self._bank, decoder)
        self._judge.begin((decoder.head_weight[draft.ids] * decoder.final_norm).float().cpu().numpy())
        return self._schedule

    def look(self, layer: int, hidden: Tensor) -> Evaluation | None:
        if not self._schedule.active[layer]:
            return None
        assert self._judge is not None, "a token begins before its layers"
        features, score = self._judge.look(layer, self._readout.state(layer, hidden))
        return Evaluation(features, score, score > self._thresholds[layer])

    def record(self, token: int, layer: int) -> None:
        self._scheduler.record(token, layer)


def make_policy(settings: RunSettings, depth: int, parts: TrainedParts | None) -> ExitPolicy:
    """The strategy that the settings ask for; the engine has checked that `parts` are there if it needs them.

    Raises:
        UserError: the user's own policy cannot be used.
    """
    match settings.policy:
        case Policy.DENSE:
            return Dense()
        case Policy.FIXED:
            return FixedLayer(settings.fixed_layer)
        case Policy.CALM:
            return Calm(settings.threshold_at)
        case Policy.ORACLE:
            return Oracle()
        case Policy.SPECEE_T1 | Policy.SPECEE_T1T2:
            assert parts is not None, "the engine checks for parts"
            bank = parts.predictors_for(settings.lens)
            return SpecEE(bank, make_scheduler(settings, depth, parts), settings.threshold_at)
        case Policy.ADAINFER_SVM | Policy.ADAINFER_CRF:
            trained = parts.adainfer if parts else None
            assert trained is not None, "the engine checks for classifiers"
            return AdaInfer(trained.svm() if settings.policy is Policy.ADAINFER_SVM else trained.crf())
        case Policy.CUSTOM:
            from core.exits.custom import load_policy  # which imports this module

            return load_policy(settings, depth, parts)
        case _:
            assert_never(settings.policy)


def make_scheduler(settings: RunSettings, depth: int, parts: TrainedParts) -> EveryLayer | TwoLevelScheduler:
    """Which layers SpecEE's predictors watch: T1's or T2's rule."""
    if settings.policy is Policy.SPECEE_T1:
        return EveryLayer(depth)
    return TwoLevelScheduler(settings.scheduler, depth, parts.offline_ranking)


def offline_set(settings: RunSettings, parts: TrainedParts | None) -> IntArray:
    """The offline layers that a run keeps active, best first; empty unless T2 is on."""
    if settings.policy is not Policy.SPECEE_T1T2 or parts is None:
        return np.zeros(0, np.int64)
    return parts.offline_ranking[: settings.scheduler.offline_layers]
