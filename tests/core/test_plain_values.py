"""Settings come back from plain values only where every value is of its field's own type."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.choices import Head, Lens, Mapping, Policy
from core.config import RunSettings, SamplingSettings, SchedulerSettings, TreeSettings
from core.errors import UserError

FULL = RunSettings(
    policy=Policy.SPECEE_T1,
    scheduler=SchedulerSettings(3, 1, 4, True),
    layer_thresholds=((3, 0.5), (7, 1.0)),
    lens=Lens.TUNED,
    gate=0.25,
    check=Head.SLIM,
    draft_head=Head.SLIM,
    tree=TreeSettings("4-2-1", mapping=Mapping.MEAN),
    stop=("\n",),
)
NEWER = ("layer_thresholds", "lens", "gate", "check", "draft_head", "tree", "custom", "fixed_layer")


def stored(settings: RunSettings = FULL) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(json.dumps(settings.to_json()))
    return values


def test_that_settings_survive_json_text() -> None:
    assert RunSettings.from_json(stored()) == FULL


def test_that_settings_of_an_older_trace_have_the_paper_s_values_for_what_it_did_not_know() -> None:
    older = {name: value for name, value in stored(RunSettings()).items() if name not in NEWER}
    assert RunSettings.from_json(older) == RunSettings()


def test_that_a_whole_number_stands_for_a_fraction() -> None:
    read = RunSettings.from_json({**stored(), "threshold": 1}).threshold
    assert read == 1.0
    assert type(read) is float


@pytest.mark.parametrize(
    ("spoilt", "sentence"),
    [
        ({"threshold": "0.5"}, r"threshold is '0\.5' instead of a number"),
        ({"threshold": True}, "threshold is True instead of a number"),
        ({"threshold": float("nan")}, "threshold is nan instead of a number"),
        ({"threshold": 10**400}, "cannot be read"),
        ({"max_new_tokens": 8.0}, r"max_new_tokens is 8\.0 instead of a whole number"),
        ({"chat_template": 1}, "chat_template is 1 instead of true or false"),
        ({"custom": None}, "custom is None instead of text"),
        ({"stop": "ende"}, "stop is 'ende' instead of a list"),
        ({"stop": [1]}, "stop is 1 instead of text"),
        ({"policy": ["dense"]}, "cannot be read"),
        ({"lens": "rosy"}, "'rosy' is not a valid Lens"),
        ({"layer_thresholds": [[1]]}, "layer_thresholds holds 1 values instead of 2"),
        ({"layer_thresholds": [["1", 0.5]]}, "layer_thresholds is '1' instead of a whole number"),
        ({"scheduler": {"window": "5"}}, "window is '5' instead of a whole number"),
        ({"sampling": [0, 1, 0]}, "where named values belong"),
        ({"tree": {"nodes": None}}, "nodes is None instead of a whole number"),
        ({"later": 1}, "'later' is no setting"),
        ({"threshold": 1.5}, "The threshold is 1.5; it must be between 0 and 1"),
    ],
)
def test_that_a_value_of_another_kind_is_one_sentence(spoilt: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        RunSettings.from_json({**stored(), **spoilt})


@pytest.mark.parametrize("name", ["policy", "scheduler", "kv_policy", "record", "sampling", "stop"])
def test_that_a_field_that_every_trace_holds_may_not_be_missing(name: str) -> None:
    values = stored()
    del values[name]
    with pytest.raises(UserError, match=f"{name} is missing"):
        RunSettings.from_json(values)


@pytest.mark.parametrize("values", [None, [], "settings", 3])
def test_that_what_is_no_settings_at_all_is_one_sentence(values: object) -> None:
    with pytest.raises(UserError, match="where named values belong"):
        RunSettings.from_json(values)


def test_that_a_shortlist_check_refuses_a_temperature() -> None:
    with pytest.raises(UserError, match="shortlist check is defined for greedy decoding only"):
        RunSettings(check=Head.SLIM, sampling=SamplingSettings(temperature=0.5))


def test_that_adainfer_refuses_a_lens_it_was_not_trained_for() -> None:
    with pytest.raises(UserError, match="choose the lens identity"):
        RunSettings(policy=Policy.ADAINFER_CRF, lens=Lens.TUNED)
