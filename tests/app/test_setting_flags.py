"""From flags and what the trained parts recommend to the settings of a run."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import pytest

from app.commands import fitting, setting_flags, tree_flags
from app.commands.options import Parser
from core.choices import Head, KVPolicy, Lens, Mapping, Policy
from core.config import RunSettings, SchedulerSettings, TreeSettings
from core.errors import UserError

CARD = {
    "recommended": {
        "threshold": 0.4,
        "layer_thresholds": [[2, 0.9]],
        "scheduler": {"window": 3, "offline_layers": 4},
        "lens": "tuned",
        "gate": 0.25,
        "check": "slim",
        "draft_head": "slim",
    }
}
RECOMMENDED = RunSettings(
    threshold=0.4,
    layer_thresholds=((2, 0.9),),
    scheduler=SchedulerSettings(window=3, offline_layers=4),
    lens=Lens.TUNED,
    gate=0.25,
    check=Head.SLIM,
    draft_head=Head.SLIM,
)


def parsed(*flags: str) -> argparse.Namespace:
    parser = Parser()
    setting_flags.add_settings(parser)
    arguments: argparse.Namespace = parser.parse_args(flags)
    return arguments


def settings(*flags: str, card: dict[str, Any] = CARD, depth: int = 12, has_parts: bool = True) -> RunSettings:
    arguments = parsed(*flags)
    asked = setting_flags.settings_from(arguments)
    return setting_flags.fit_model(asked, arguments, depth=depth, has_parts=has_parts, card=card)[0]


def test_that_without_flags_the_trained_parts_recommendation_is_run() -> None:
    assert settings() == RECOMMENDED


def test_that_the_paper_s_profile_is_the_paper_s_values() -> None:
    assert settings("--profile", "paper") == RunSettings()


def test_that_parts_without_a_recommendation_run_the_paper_s_values() -> None:
    assert settings(card={}) == RunSettings()
    assert settings(card={"recommended_threshold": 0.9}) == RunSettings(threshold=0.9)


@pytest.mark.parametrize(
    ("flags", "changed"),
    [
        (("--threshold", "0.7"), {"threshold": 0.7, "layer_thresholds": ()}),
        (("--lens", "identity"), {"lens": Lens.IDENTITY}),
        (("--gate", "0"), {"gate": 0.0}),
        (("--check", "full"), {"check": Head.FULL}),
        (("--draft-head", "full"), {"draft_head": Head.FULL}),
        (("--window", "9"), {"scheduler": SchedulerSettings(window=9, offline_layers=4)}),
        (("--distinct",), {"scheduler": SchedulerSettings(window=3, offline_layers=4, distinct=True)}),
        (("--kv-policy", "hole"), {"kv_policy": KVPolicy.HOLE}),
    ],
)
def test_that_a_flag_goes_before_the_recommendation(flags: tuple[str, ...], changed: dict[str, Any]) -> None:
    assert settings(*flags) == replace(RECOMMENDED, **changed)


def test_that_flags_go_before_the_paper_s_values_too() -> None:
    given = settings("--profile", "paper", "--gate", "0.1", "--lens", "tuned")
    assert given == RunSettings(gate=0.1, lens=Lens.TUNED)


@pytest.mark.parametrize("policy", ["dense", "calm", "oracle", "fixed:3", "adainfer-svm", "mine.py:Mine"])
def test_that_a_policy_the_recommendation_was_not_made_for_does_without(policy: str) -> None:
    assert settings("--policy", policy) == setting_flags.settings_from(parsed("--policy", policy))
    assert settings("--policy", policy).lens is Lens.IDENTITY


def test_that_a_recommended_shortlist_gives_way_to_a_temperature() -> None:
    assert settings("--temperature", "0.5").check is Head.FULL
    with pytest.raises(UserError, match="defined for greedy decoding only"):
        settings("--temperature", "0.5", "--check", "slim")


def test_that_a_recommended_scheduler_shrinks_to_a_shallow_model() -> None:
    assert settings(depth=3).scheduler.offline_layers == 2
    with pytest.raises(UserError, match="number of offline layers M is 8"):
        settings("--offline-layers", "8", depth=3)


def test_that_without_parts_the_policy_is_dense() -> None:
    assert settings(card={}, has_parts=False).policy is Policy.DENSE


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--lens", "rosy"), r"The lens is 'rosy'; choose identity or tuned\."),
        (("--check", "half"), r"The check is 'half'; choose full or slim\."),
        (("--draft-head", ""), r"The draft head is ''; choose full, slim or trimmed\."),
        (("--gate", "much"), r"The margin gate is 'much'; it must be a number\."),
        (("--gate", "1.5"), r"The margin gate is 1\.5; it must be between 0 \(off\) and 1\."),
        (("--gate", "nan"), "The margin gate is nan"),
        (("--profile", "mine"), r"The profile is 'mine'; choose recommended or paper\."),
        (("--policy", "adainfer-crf", "--lens", "tuned"), "choose the lens identity"),
    ],
)
def test_that_a_value_that_is_none_is_one_sentence(flags: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        settings(*flags)


def test_that_another_policy_keeps_of_the_settings_what_it_uses() -> None:
    full = replace(RECOMMENDED, kv_policy=KVPolicy.HOLE)
    assert fitting.with_policy(full, {"policy": Policy.SPECEE_T1}) == replace(
        full, policy=Policy.SPECEE_T1, scheduler=SchedulerSettings()
    )
    calm = RunSettings(policy=Policy.CALM, threshold=0.4, kv_policy=KVPolicy.HOLE, lens=Lens.TUNED)
    assert fitting.with_policy(full, {"policy": Policy.CALM}) == calm
    assert fitting.with_policy(full, {"policy": Policy.DENSE}) == RunSettings(policy=Policy.DENSE)
    svm = RunSettings(policy=Policy.ADAINFER_SVM, kv_policy=KVPolicy.HOLE)
    assert fitting.with_policy(full, {"policy": Policy.ADAINFER_SVM}) == svm


@pytest.mark.parametrize(
    ("flags", "tree"),
    [
        ((), TreeSettings()),
        (("--tree", "4-2-1"), TreeSettings("4-2-1")),
        (("--tree", "eagle", "--ngrams"), TreeSettings("eagle", ngrams=True)),
        (
            ("--tree", "dynamic", "--tree-nodes", "9", "--tree-depth", "3", "--tree-expand", "2", "--mapping", "mean"),
            TreeSettings("dynamic", 9, 3, 2, Mapping.MEAN),
        ),
    ],
)
def test_that_the_tree_is_what_its_flags_say(flags: tuple[str, ...], tree: TreeSettings) -> None:
    assert settings(*flags).tree == tree


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--tree", ""), "The tree '' is none; write off, dynamic, eagle, or children a level"),
        (("--tree=-1",), "The tree '-1' is none"),
        (("--tree", "0"), "The tree '0' is none"),
        (("--tree", "12-12"), "has 156 nodes; at most 128 are possible"),
        (("--tree", "dynamic", "--tree-nodes", "200"), "number of nodes is 200; it must be between 1 and 128"),
        (("--tree", "dynamic", "--tree-depth", "0"), "number of depth is 0; it must be between 1 and 32"),
        (("--mapping", "sideways"), "The mapping is 'sideways'; choose rearmost, mean or independent."),
        (("--tree", "4-2", "--temperature", "1"), "set the temperature to 0, or turn the tree off"),
        (("--tree", "4-2", "--policy", "calm"), "calm cannot decode token trees"),
    ],
)
def test_that_a_tree_that_cannot_be_is_refused_in_one_sentence(flags: tuple[str, ...], words: str) -> None:
    with pytest.raises(UserError) as refusal:
        settings(*flags)
    assert words in str(refusal.value)


def test_that_a_dense_tree_is_drafted_through_the_head_that_is_recommended() -> None:
    assert settings("--policy", "dense", "--tree", "2-1").draft_head is Head.SLIM
    assert settings("--policy", "dense", "--tree", "2-1", "--draft-head", "full").draft_head is Head.FULL
    assert settings("--policy", "dense").draft_head is Head.FULL


@pytest.mark.parametrize(
    ("flags", "card", "tree"),
    [
        ((), {}, tree_flags.MEASURED),
        ((), {"recommended": {"tree": {"shape": "3-1"}}}, TreeSettings("3-1")),
        ((), {"recommended": {"tree": {"shape": "off"}}}, tree_flags.MEASURED),
        ((), {"recommended": {"tree": {"shape": 7}}}, tree_flags.MEASURED),
        ((), {"recommended": {"tree": {"shape": "99-99"}}}, tree_flags.MEASURED),
        ((), {"recommended": 5}, tree_flags.MEASURED),
        (("--tree", "2"), {"recommended": {"tree": {"shape": "3-1"}}}, TreeSettings("2")),
    ],
)
def test_that_a_bench_grows_what_is_asked_for_or_else_recommended(
    flags: tuple[str, ...], card: dict[str, Any], tree: TreeSettings
) -> None:
    assert tree_flags.tree_for(parsed(*flags), card) == tree
