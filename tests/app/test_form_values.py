"""What a run gets of everything that the settings form holds."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from app.form_values import FOLLOW_MODEL, FormValues, Input, uses
from core.choices import Head, KVPolicy, Lens, Mapping, Policy, Record
from core.config import RunSettings, SamplingSettings, SchedulerSettings, TreeSettings
from core.errors import UserError

FULL = FormValues(
    policy=Policy.SPECEE_T1T2,
    profile="custom",
    threshold=0.93,
    confidence=0.81,
    layer_thresholds=((4, 0.7), (6, 1.0)),
    scheduler=SchedulerSettings(9, 1, 3, True),
    lens=Lens.TUNED,
    gate=0.125,
    check=Head.FULL,
    draft_head=Head.SLIM,
    fixed_layer=7,
    custom="mine.py:Mine",
    kv_policy=KVPolicy.HOLE,
    record=Record.AUDIT,
    sampling=SamplingSettings(0.7, 0.9, 11),
    stop=("\n\n", "END"),
    max_new_tokens=33,
)
ALWAYS = {"max_new_tokens": 33, "chat_template": False, "record": Record.AUDIT, "stop": ("\n\n", "END")}
KV = {"kv_policy": KVPolicy.HOLE}
DRAWN = {"sampling": FULL.sampling}
READ = {**KV, "lens": Lens.TUNED}
CHECKED = {"threshold": 0.93, "layer_thresholds": ((4, 0.7), (6, 1.0)), "gate": 0.125, "draft_head": Head.SLIM}
T1 = {**READ, **DRAWN, **CHECKED}

EXPECTED = {
    Policy.DENSE: DRAWN,
    Policy.SPECEE_T1: T1,
    Policy.SPECEE_T1T2: {**T1, "scheduler": FULL.scheduler},
    Policy.CALM: {**READ, "threshold": 0.81},
    Policy.FIXED: {**READ, "fixed_layer": 7},
    Policy.ORACLE: READ,
    Policy.ADAINFER_SVM: KV,
    Policy.ADAINFER_CRF: KV,
    Policy.CUSTOM: {**T1, "scheduler": FULL.scheduler, "custom": "mine.py:Mine"},
}


def with_policy(policy: Policy) -> FormValues:
    return FormValues.from_json({**FULL.to_json(), "policy": policy.value})


@pytest.mark.parametrize("policy", Policy)
def test_that_a_run_gets_what_its_policy_uses_and_nothing_that_is_hidden(policy: Policy) -> None:
    expected = RunSettings(policy=policy, **ALWAYS, **EXPECTED[policy])  # type: ignore[arg-type]
    assert with_policy(policy).run_settings(chat_template=False) == expected


@pytest.mark.parametrize("policy", Policy)
def test_that_a_runs_settings_come_back_out_of_the_form(policy: Policy) -> None:
    settings = with_policy(policy).run_settings(chat_template=False)
    assert FormValues().taking(settings).run_settings(chat_template=False) == settings


def test_that_taking_settings_leaves_what_their_policy_does_not_use() -> None:
    taken = FULL.taking(RunSettings(policy=Policy.DENSE))
    assert taken.scheduler == FULL.scheduler
    assert (taken.threshold, taken.confidence, taken.fixed_layer) == (0.93, 0.81, 7)


@pytest.mark.parametrize("policy", Policy)
def test_that_sampling_is_offered_where_it_is_defined(policy: Policy) -> None:
    assert (Input.SAMPLING in uses(policy)) == policy.samples


def test_that_a_shortlist_check_comes_back_where_it_is_defined() -> None:
    greedy = replace(FULL, sampling=SamplingSettings(), check=Head.SLIM)
    settings = greedy.run_settings(chat_template=True)
    assert settings.check is Head.SLIM
    assert FormValues().taking(settings).run_settings(chat_template=True) == settings
    with pytest.raises(UserError, match="defined for greedy decoding only"):
        replace(FULL, check=Head.SLIM).run_settings(chat_template=True)


def test_that_greedy_decoding_has_no_seed_and_no_top_p() -> None:
    values = FormValues(sampling=SamplingSettings(0.0, 0.5, 99))
    assert values.run_settings(True).sampling == SamplingSettings()


def test_that_an_own_class_without_a_name_is_refused() -> None:
    with pytest.raises(UserError, match=r"FILE\.py:Class"):
        FormValues(policy=Policy.CUSTOM).run_settings(True)


@pytest.mark.parametrize("policy", Policy)
def test_that_only_a_policy_that_grows_trees_gets_one(policy: Policy) -> None:
    tree = TreeSettings("4-2", mapping=Mapping.MEAN, ngrams=True)
    values = replace(FULL, policy=policy, tree=tree, sampling=SamplingSettings())
    assert values.run_settings(True).tree == (tree if policy.grows_trees else TreeSettings())
    assert FormValues().taking(values.run_settings(True)).tree == (tree if policy.grows_trees else TreeSettings())
    assert FormValues.from_json(json.loads(json.dumps(values.to_json()))) == values


def test_that_values_survive_being_stored() -> None:
    assert FormValues.from_json(json.loads(json.dumps(FULL.to_json()))) == FULL


@pytest.mark.parametrize(
    ("name", "spoilt"),
    [
        ("policy", "magic"),
        ("profile", 3),
        ("threshold", 7),
        ("threshold", "0.5"),
        ("threshold", float("nan")),
        ("confidence", None),
        ("scheduler", {"window": 0, "radius": 1, "offline_layers": 1, "distinct": False}),
        ("scheduler", {"window": "5", "radius": 1, "offline_layers": 1, "distinct": False}),
        ("scheduler", [1, 2]),
        ("layer_thresholds", [[1]]),
        ("layer_thresholds", [[1, 2.0]]),
        ("lens", "rosy"),
        ("gate", 1.5),
        ("check", None),
        ("draft_head", "half"),
        ("fixed_layer", 0),
        ("fixed_layer", True),
        ("custom", ["a"]),
        ("kv_policy", "forget"),
        ("record", ""),
        ("sampling", {"temperature": -1, "top_p": 1, "seed": 0}),
        ("sampling", {}),
        ("tree", {}),
        ("tree", {"shape": "4-0", "nodes": 1, "depth": 1, "expand": 1, "mapping": "mean", "ngrams": False}),
        ("tree", {"shape": "off", "nodes": 0, "depth": 1, "expand": 1, "mapping": "mean", "ngrams": False}),
        ("tree", {"shape": "off", "nodes": 1, "depth": 1, "expand": 1, "mapping": "odd", "ngrams": False}),
        ("stop", 5),
        ("stop", [1]),
        ("max_new_tokens", 10**12),
        ("max_new_tokens", "9"),
    ],
)
def test_that_a_spoilt_value_is_the_default_and_the_others_stay(name: str, spoilt: object) -> None:
    read = FormValues.from_json({**FULL.to_json(), name: spoilt})
    for field in FULL.to_json():
        assert getattr(read, field) == getattr(FormValues() if field == name else FULL, field)


@pytest.mark.parametrize("spoilt", [None, [], 3, "x", {}])
def test_that_what_is_no_form_at_all_gives_the_defaults(spoilt: object) -> None:
    assert FormValues.from_json(spoilt) == FormValues()
    assert FormValues().profile == FOLLOW_MODEL
