"""Every policy on the one loop: where it leaves, and what it emits there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.choices import DType, KVPolicy, Policy, Record
from core.config import RunSettings, SamplingSettings
from core.engine import Engine
from core.errors import UserError
from core.exits.stability import first_stable
from core.model.loading import LoadedModel, load_model
from core.trace.events import Audited, ExitReason, LayerRun
from tests.core.recordings import random_parts
from tests.engines import DEPTH, ids, of_type, run


@pytest.fixture
def partless(tiny: LoadedModel) -> Engine:
    return Engine(tiny)


@pytest.mark.parametrize("exit_layer", [1, 3, DEPTH])
def test_that_fixed_runs_so_many_layers_for_every_token_after_the_first(partless: Engine, exit_layer: int) -> None:
    trace = run(partless, policy=Policy.FIXED, fixed_layer=exit_layer)
    assert set(trace.exit_layers[1:]) == {exit_layer}
    assert trace.exit_layers[0] == DEPTH


def test_that_a_fixed_exit_at_the_last_layer_equals_dense(partless: Engine) -> None:
    assert ids(run(partless, policy=Policy.FIXED, fixed_layer=DEPTH)) == ids(run(partless, policy=Policy.DENSE))


@pytest.mark.parametrize("exit_layer", [0, -1, DEPTH + 1])
def test_that_a_fixed_layer_outside_the_model_is_refused(partless: Engine, exit_layer: int) -> None:
    with pytest.raises(UserError, match=f"this model has layers 1 to {DEPTH}"):
        run(partless, policy=Policy.FIXED, fixed_layer=exit_layer)


@pytest.mark.parametrize("policy", KVPolicy)
def test_that_the_oracle_emits_the_full_depth_token_from_the_earliest_stable_layer(
    partless: Engine, policy: KVPolicy
) -> None:
    trace = run(partless, policy=Policy.ORACLE, kv_policy=policy, record=Record.AUDIT, max_new_tokens=40)
    for record in trace.emitted[1:]:
        assert record.emitted.token_id == record.audit.full_depth_id
        assert record.emitted.exit_layer == first_stable(record.audit.token_ids) + 1


def test_that_the_oracle_with_exact_keys_and_values_equals_dense(partless: Engine) -> None:
    assert ids(run(partless, policy=Policy.ORACLE)) == ids(run(partless, policy=Policy.DENSE))


@pytest.mark.parametrize(
    ("tokens", "first"), [([5, 5, 5], 0), ([1, 5, 5], 1), ([5, 1, 5], 2), ([5, 5, 1], 2), ([7], 0)]
)
def test_that_the_first_stable_layer_is_the_one_after_the_last_that_differs(tokens: list[int], first: int) -> None:
    assert first_stable(np.array(tokens)) == first


def test_that_calm_leaves_at_the_first_layer_whose_best_probability_passes(partless: Engine) -> None:
    trace = run(partless, policy=Policy.CALM, threshold=0.02)
    left = [r for r in trace.emitted[1:] if r.emitted.reason is ExitReason.RULE]
    assert left
    for record in left:
        last = record.emitted.exit_layer - 1
        assert record.scores[last] > np.float32(0.02)
        assert (record.scores[:last] <= np.float32(0.02)).all()


def test_that_calm_never_leaves_at_a_threshold_of_one(partless: Engine) -> None:
    assert ids(run(partless, policy=Policy.CALM, threshold=1.0)) == ids(run(partless, policy=Policy.DENSE))


@pytest.mark.parametrize("kv_policy", KVPolicy)
@pytest.mark.parametrize("policy", [Policy.SPECEE_T1, Policy.SPECEE_T1T2, Policy.CALM, Policy.FIXED])
def test_that_audit_changes_no_token_and_no_exit(eager: Engine, policy: Policy, kv_policy: KVPolicy) -> None:
    asked = {"policy": policy, "kv_policy": kv_policy, "max_new_tokens": 50, "fixed_layer": 2, "threshold": 0.02}
    live, audit = run(eager, **asked), run(eager, **asked, record=Record.AUDIT)
    assert ids(audit) == ids(live)
    np.testing.assert_array_equal(audit.exit_layers, live.exit_layers)
    np.testing.assert_array_equal([r.scores for r in audit.records], [r.scores for r in live.records])


def test_that_the_audited_full_depth_token_is_dense_decodings_own_on_the_same_prefix(
    eager: Engine, tiny: LoadedModel
) -> None:
    trace = run(eager, record=Record.AUDIT, max_new_tokens=50)
    context = list(trace.started.prompt_ids) + ids(trace)
    import torch

    with torch.inference_mode():
        hidden = tiny.decoder.forward(torch.tensor(context), 0, tiny.decoder.new_cache(len(context)))
        dense = tiny.decoder.logits(tiny.decoder.norm(hidden)).argmax(-1)
    at = len(trace.started.prompt_ids) - 1
    for record in trace.emitted[1:]:
        assert record.audit.full_depth_id == dense[at + record.token]


def test_that_audit_tells_at_the_exit_layer_the_token_that_was_emitted(eager: Engine) -> None:
    trace = run(eager, record=Record.AUDIT, max_new_tokens=50)
    for record in trace.emitted[1:]:
        assert record.audit.token_ids[record.emitted.exit_layer - 1] == record.emitted.token_id


def test_that_audit_scores_an_active_layer_as_the_run_did(eager: Engine) -> None:
    trace = run(eager, policy=Policy.SPECEE_T1T2, threshold=1.0, record=Record.AUDIT)
    for record in trace.emitted[1:]:
        judged = record.evaluated
        np.testing.assert_allclose(record.audit.scores[judged], record.scores[judged], atol=1e-5)
        assert np.isnan(record.audit.scores[-1])
        assert not np.isnan(record.audit.scores[:-1]).any()


@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.BFLOAT16])
def test_that_audit_scores_an_active_layer_as_the_run_did_in_any_number_format(tiny_folder: Path, dtype: DType) -> None:
    model = load_model(tiny_folder, dtype=dtype, threads=1)
    trace = run(Engine(model, random_parts(model)), policy=Policy.SPECEE_T1T2, threshold=1.0, record=Record.AUDIT)
    judged = [r.evaluated for r in trace.emitted[1:]]
    scores = np.concatenate([r.scores[at] for r, at in zip(trace.emitted[1:], judged, strict=True)])
    assert scores.std() > 0.1
    audited = np.concatenate([r.audit.scores[at] for r, at in zip(trace.emitted[1:], judged, strict=True)])
    np.testing.assert_allclose(audited, scores, atol=1e-5)


def test_that_audits_candidate_probabilities_are_over_the_whole_vocabulary(eager: Engine) -> None:
    trace = run(eager, record=Record.AUDIT)
    for event in of_type(trace, Audited):
        assert event.candidate_probabilities.shape == event.candidate_logits.shape == (DEPTH, 4)
        assert (event.candidate_probabilities.sum(-1) < 1).all()
        local = np.exp(event.candidate_logits) / np.exp(event.candidate_logits).sum(-1, keepdims=True)
        shares = event.candidate_probabilities / event.candidate_probabilities.sum(-1, keepdims=True)
        np.testing.assert_allclose(shares, local, rtol=1e-3)


def test_that_a_dense_run_is_audited_without_candidates(partless: Engine) -> None:
    trace = run(partless, policy=Policy.DENSE, record=Record.AUDIT)
    event = of_type(trace, Audited)[0]
    assert event.candidate_logits.shape == (DEPTH, 0)
    assert np.isnan(event.scores).all()


def test_that_a_policy_for_greedy_decoding_refuses_a_temperature() -> None:
    with pytest.raises(UserError, match="calm is defined for greedy decoding only"):
        RunSettings(policy=Policy.CALM, sampling=SamplingSettings(temperature=0.7))


def test_that_settings_of_every_kind_survive_json() -> None:
    settings = RunSettings(
        policy=Policy.SPECEE_T1,
        record=Record.AUDIT,
        sampling=SamplingSettings(0.8, 0.9, 7),
        stop=("\n\n", "ende"),
        kv_policy=KVPolicy.PROPAGATE,
        fixed_layer=4,
    )
    assert RunSettings.from_json(settings.to_json()) == settings


def test_that_a_policy_without_predictors_tells_every_layer_it_ran(partless: Engine) -> None:
    trace = run(partless, policy=Policy.FIXED, fixed_layer=2, max_new_tokens=3)
    assert [e.layer for e in of_type(trace, LayerRun)] == [0, 1, 0, 1]
