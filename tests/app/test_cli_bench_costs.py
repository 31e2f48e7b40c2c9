"""Where a token's time goes: every stage is counted once, by a clock that only the model's own work moves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.commands.bench_contest import Label, Pass
from app.commands.bench_costs import STAGES, Unit, budget, stages
from app.commands.bench_ours import EngineContender
from app.commands.bench_plan import LEAST_ROUNDS, RARELY, Cost, plan
from app.commands.opening import Opened
from app.commands.recording import Keep
from core.choices import DType, KVPolicy, Policy
from core.config import RunSettings, SchedulerSettings
from core.drafting.chain import ChainDrafter
from core.exits.predictors import PredictorBank
from core.model.decoder import Decoder
from core.model.loading import LoadedModel, load_model
from core.trace.events import StageTimes
from tests import engines
from tests.tiny import make_tiny_model

WORK = {
    (Decoder, "layer"): 1.0,
    (Decoder, "logits"): 5.0,
    (Decoder, "write_kv"): 0.5,
    (PredictorBank, "score"): 0.25,
    (ChainDrafter, "propose"): 2.0,
}
"""Seconds that each piece of work takes by the test's clock."""
FEW = SchedulerSettings(offline_layers=2)


class Clock:
    """Moves only where work is done."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def charge(self, work: Callable[..., Any], seconds: float) -> Callable[..., Any]:
        def charged(*arguments: Any, **keywords: Any) -> Any:
            self.now += seconds
            return work(*arguments, **keywords)

        return charged


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    folder = make_tiny_model(tmp_path_factory.mktemp("tiny"), depth=engines.DEPTH)
    return load_model(folder, dtype=DType.FLOAT32, threads=1)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for (kind, name), seconds in WORK.items():
        monkeypatch.setattr(kind, name, clock.charge(getattr(kind, name), seconds))
    return clock


def passes_of(
    model: LoadedModel, clock: Callable[[], float], keep: Keep, policy: Policy, kv: KVPolicy = KVPolicy.RECOMPUTE
) -> tuple[Pass, ...]:
    settings = RunSettings(policy, scheduler=FEW, kv_policy=kv)
    opened = Opened(Path(), model, engines.parts_that_always_propose(model))
    return EngineContender(opened, settings, keep, clock).take_turn(engines.PROMPT, 12).passes


POLICIES = [Policy.DENSE, Policy.SPECEE_T1, Policy.SPECEE_T1T2, Policy.CALM, Policy.FIXED, Policy.ORACLE]


@pytest.mark.parametrize("kv", KVPolicy)
@pytest.mark.parametrize("keep", Keep)
@pytest.mark.parametrize("policy", POLICIES)
def test_that_all_of_the_models_work_is_in_one_stage(
    policy: Policy, keep: Keep, kv: KVPolicy, tiny: LoadedModel, clock: Clock
) -> None:
    passes = passes_of(tiny, clock, keep, policy, kv)
    assert passes
    for one in passes:
        assert sum(getattr(one.times, name) for name in STAGES) == pytest.approx(one.times.total)


def test_that_stages_never_exceed_the_tokens_own_time(tiny: LoadedModel) -> None:
    clock = Clock()

    def every_look_takes_time() -> float:
        clock.now += 1.0
        return clock.now

    for one in passes_of(tiny, every_look_takes_time, Keep.AUDIT, Policy.SPECEE_T1T2):
        assert sum(getattr(one.times, name) for name in STAGES) < one.times.total


def test_that_dense_costs_its_layers_and_one_head(tiny: LoadedModel, clock: Clock) -> None:
    for one in passes_of(tiny, clock, Keep.OFF, Policy.DENSE):
        assert (one.times.layers, one.times.verification, one.heads, one.agrees) == (engines.DEPTH, 5.0, 1, None)


def test_that_every_check_is_a_head_and_an_audit_is_recording(tiny: LoadedModel, clock: Clock) -> None:
    live = passes_of(tiny, clock, Keep.LIVE, Policy.SPECEE_T1)
    audit = passes_of(tiny, clock, Keep.AUDIT, Policy.SPECEE_T1)
    assert all(one.times.verification == 5.0 * one.heads for one in live)
    assert [one.heads for one in live] == [one.heads for one in audit]
    assert all(one.times.recording == 0 for one in live)
    assert all(one.times.recording >= 5.0 for one in audit)
    assert all(one.agrees is not None for one in audit)


def test_that_the_budget_prices_heads_and_layers_by_the_dense_loop() -> None:
    dense = Pass(StageTimes(layers=6.0, verification=2.0, recording=0.5, total=9.0), heads=1)
    unit = Unit.of([dense], depth=6)
    assert unit == Unit(layer=1.0, head=2.0, depth=6)
    early = Pass(StageTimes(draft=1.5, layers=4.0, predictor=0.5, verification=4.4, total=11.0), heads=2)
    found = budget([early], 4.0, unit)
    assert found is not None
    assert found["total"] == 4.0 + 2 * 2.0 + 1.5 + 0.5
    assert found["ratio_to_dense"] == pytest.approx(8.0 / 10.0)
    assert found["measured"] == 11.0


def test_that_nothing_is_priced_without_tokens() -> None:
    assert stages([]) is None
    assert Unit.of([], 6) is None
    assert budget([], 4.0, Unit(1.0, 2.0, 6)) is None


def cost_of(*seconds: float) -> dict[Label, Cost]:
    return {Label(str(number), "off", "float32"): Cost(0.0, token) for number, token in enumerate(seconds)}


def test_that_a_fast_field_gives_long_answers_and_all_repeats() -> None:
    chosen = plan(cost_of(0.001, 0.001), 6, 200.0, 50.0)
    assert (chosen.tokens, chosen.rounds, chosen.deadline, chosen.every) == (64, 18, 250.0, {})


def test_that_a_slow_field_gives_shorter_answers_to_all_prompts() -> None:
    chosen = plan(cost_of(*[0.05] * 20), 6, 200.0, 0.0)
    assert chosen.tokens == 32
    assert chosen.rounds >= 6


def test_that_there_are_rounds_enough_for_a_spread_however_slow_it_is() -> None:
    chosen = plan(cost_of(100.0), 6, 1.0, 0.0)
    assert (chosen.tokens, chosen.rounds, chosen.least) == (16, LEAST_ROUNDS, LEAST_ROUNDS)


def test_that_only_contenders_far_slower_than_the_others_sit_out() -> None:
    chosen = plan(cost_of(1.0, 1.0, 2.0, 9.0), 1, 1.0, 0.0)
    assert list(chosen.every.values()) == [RARELY]
