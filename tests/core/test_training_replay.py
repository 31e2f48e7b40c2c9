"""Settings re-decided from known layers: the same as deciding token by token, and as the frontier of T1."""

from __future__ import annotations

import numpy as np
import pytest

from core.config import SchedulerSettings
from core.exits.predictors import features_of
from core.exits.scheduling import TwoLevelScheduler
from core.training.features import HeldOutViews
from core.training.frontier import frontier
from core.training.predictors import Shape, TorchBank, scores_of
from core.training.replay import Replay, Setting, score_table

LAYERS, ANSWERS, TOKENS = 5, 4, 9
RANKING = np.array([3, 1, 4, 0, 2])
BANK = TorchBank(LAYERS, 12, Shape(), seed=1).folded()
SCHEDULER = SchedulerSettings(window=2, radius=1)


def views() -> HeldOutViews:
    random = np.random.default_rng(0)
    lengths = [TOKENS, 3, TOKENS - 2, 1]
    n = sum(lengths)
    logits = (3 * random.normal(size=(n, LAYERS, 4))).astype(np.float32)
    agrees, among = random.random((n, LAYERS)) < 0.6, random.random((n, LAYERS)) < 0.7
    margins = random.random((n, LAYERS)).astype(np.float32)
    prompts = np.repeat([7, 2, 9, 4], lengths)
    return HeldOutViews(prompts, logits, agrees, np.ones(n, bool), among, margins, margins)


def decided(tokens: HeldOutViews, setting: Setting) -> tuple[list[int], list[bool], int, int]:
    """By the run's own scheduler and predictors, a token after the other."""
    layers, right, checks, asked = [], [], 0, 0
    for prompt in dict.fromkeys(tokens.prompts.tolist()):
        settings = SchedulerSettings(2, 1, LAYERS if setting.offline_layers is None else setting.offline_layers)
        scheduler = TwoLevelScheduler(settings, LAYERS + 1, RANKING)
        for token in np.flatnonzero(tokens.prompts == prompt):
            active, previous, last = scheduler.schedule().active, None, LAYERS
            for layer in np.flatnonzero(active):
                features = features_of(tokens.logits[token, layer], previous)
                previous, asked = features[4:8], asked + 1
                if BANK.score(layer, features) > setting.threshold:
                    checks += 1
                    if tokens.among[token, layer] and tokens.margins[token, layer] >= setting.gate:
                        last = int(layer)
                        break
            scheduler.record(token, last)
            layers.append(last)
            right.append(last == LAYERS or bool(tokens.agrees[token, last]))
    return layers, right, checks, asked


@pytest.mark.parametrize("offline", [None, 0, 2, LAYERS])
def test_that_settings_decided_together_are_those_decided_one_by_one(offline: int | None) -> None:
    tokens = views()
    settings = [Setting(threshold, gate, offline) for threshold in (0.3, 0.5, 0.55) for gate in (0.0, 0.4)]
    outcome = Replay(tokens, score_table(BANK, tokens), RANKING, SCHEDULER).outcome(settings)
    for row, setting in enumerate(settings):
        layers, right, checks, asked = decided(tokens, setting)
        assert outcome.last[row].tolist() == layers
        assert outcome.right[row].tolist() == right
        assert (outcome.checks[row].sum(), outcome.asked[row].sum()) == (checks, asked)
    assert len({tuple(row) for row in outcome.last.tolist()}) > 1


def test_that_without_schedule_and_gate_the_points_are_the_frontier_of_t1() -> None:
    tokens = views()
    expected = frontier(scores_of(BANK, tokens.features()), tokens)
    found = Replay(tokens, score_table(BANK, tokens), RANKING).points([Setting(one.threshold) for one in expected])
    for one, other in zip(found, expected, strict=True):
        assert one.values() == pytest.approx(other.values())


def test_that_many_settings_in_several_turns_give_the_same_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = views()
    replay = Replay(tokens, score_table(BANK, tokens), RANKING, SCHEDULER)
    settings = [Setting(threshold, 0.0, 2) for threshold in (0.3, 0.4, 0.5, 0.6, 0.7)]
    together = replay.points(settings)
    monkeypatch.setattr("core.training.replay.SIDE_BY_SIDE", 2 * ANSWERS)
    assert replay.points(settings) == together
