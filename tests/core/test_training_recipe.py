"""The whole recipe on a tiny model: what it leaves, and what survives an interruption."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

from core.choices import DType, Policy
from core.config import RunSettings
from core.decoding import RunRequest
from core.engine import Engine
from core.errors import UserError
from core.exits.parts_reading import load_parts
from core.model.loading import load_model
from core.progress import Cancelled, Progress, quiet
from core.trace.trace import Trace
from core.training.options import STEPS, Stage, TrainOptions, is_unfinished, outdated_by, workplace
from core.training.prompts import Split, read_prompts
from core.training.recipe import train
from core.training.texts import text_hash
from tests.core.training_setup import prompt_file
from tests.tiny import make_tiny_model

MINUTES = 0.01
DEFAULTS = RunSettings()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recipe")
    make_tiny_model(folder / "model", tied=False, seed=3, context=128)
    prompt_file(folder / "prompts.jsonl")
    return folder


def options(folder: Path, out: str, **changed: object) -> TrainOptions:
    given = {"budget_minutes": MINUTES, **changed}
    return TrainOptions(str(folder / "model"), (folder / "prompts.jsonl",), folder / out, **given)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def trained(folder: Path) -> Path:
    return train(options(folder, "trained"))


def load_card(parts: Path) -> dict[str, Any]:
    card: dict[str, Any] = json.loads((parts / "parts.json").read_text(encoding="utf-8"))["card"]
    return card


def test_that_the_recipe_leaves_parts_that_an_engine_runs(folder: Path, trained: Path) -> None:
    model = load_model(folder / "model", dtype=DType.FLOAT32)
    parts = load_parts(trained, model)
    request = RunRequest("the sea", RunSettings(policy=Policy.SPECEE_T1, max_new_tokens=8))
    assert Trace.of(Engine(model, parts).run(request, threading.Event())).emitted_count > 0
    assert sorted(parts.offline_ranking.tolist()) == [0, 1, 2]


def test_that_the_card_tells_recipe_data_quality_and_frontier(trained: Path) -> None:
    card = load_card(trained)
    prompts = card["data"]["prompts"]
    assert prompts | {"tune": 2, "test": 2} == prompts
    assert prompts["train"] + prompts["reserved"] == 8 + card["data"]["written_by_the_model"]
    assert card["drafter"]["quality"]["overall"]["tokens"] > 0
    assert set(card["predictors"]["quality"]) == {"argmax = final", "argmax = final and in S"}
    assert card["recommended_threshold"] in [point["threshold"] for point in card["frontier"]]
    assert {"seed", "versions", "profile", "head", "lens", "adainfer"} <= set(card)
    assert {point["lens"] for point in card["frontier"]} == {"identity", "tuned"}
    assert card["tune"]["chosen"] in [row["name"] for row in card["tune"]["measured"]]
    assert [row["name"] for row in card["tune"]["measured"]][:2] == ["dense", "paper"]


def test_that_the_parts_hold_every_piece(folder: Path, trained: Path) -> None:
    parts = load_parts(trained, load_model(folder / "model", dtype=DType.FLOAT32))
    assert not parts.problems
    assert all(piece is not None for piece in (parts.slim, parts.lens, parts.lens_predictors, parts.adainfer))


def test_that_the_card_knows_the_prompts_it_was_made_from_and_not_those_that_judge_it(
    folder: Path, trained: Path
) -> None:
    known = set(load_card(trained)["data"]["learned_from"])
    for prompt in read_prompts([folder / "prompts.jsonl"]):
        assert (text_hash(prompt.text) in known) == (prompt.split is not Split.TEST)


def test_that_everything_written_is_json_or_safetensors(trained: Path) -> None:
    files = [path for top in (trained, Path(f"{trained}.training")) for path in top.rglob("*") if path.is_file()]
    assert len(files) > 8
    for path in files:
        if path.suffix in (".json", ".jsonl"):
            text = path.read_text(encoding="utf-8")
            assert all(json.loads(part) for part in ([text] if path.suffix == ".json" else text.splitlines()))
        else:
            with safe_open(path, "np") as file:
                assert file.keys() is not None


def whole_pieces(work: Path) -> list[Path]:
    """Arrays that are written once; a drafter in training is written again and again."""
    return [path for path in work.rglob("*.safetensors") if path.stem not in ("checkpoint", "best")]


@pytest.mark.parametrize(
    ("stage", "during"),
    [
        (Stage.DATA, "Writing answers"),
        (Stage.DRAFTER, "Training the drafter"),
        (Stage.HEAD, "Training a head"),
        (Stage.PREDICTORS, "Training predictors"),
        (Stage.PROFILE, "Counting"),
        (Stage.TUNE, "Trying settings"),
    ],
)
def test_that_an_interrupted_stage_goes_on_where_it_was(folder: Path, trained: Path, stage: Stage, during: str) -> None:
    cancel, out = threading.Event(), f"stopped-{stage}"
    copied(folder, trained, out)

    def stop(progress: Progress) -> None:
        if progress.message.startswith(during):
            cancel.set()

    with pytest.raises(Cancelled):
        train(options(folder, out, stage=stage), stop, cancel)
    finished = {path: path.read_bytes() for path in whole_pieces(folder / f"{out}.training")}
    train(options(folder, out, stage=stage, resume=True))
    assert {path: path.read_bytes() for path in finished} == finished
    assert set(whole_pieces(folder / f"{out}.training")) >= set(finished)


def test_that_resuming_with_other_prompts_is_refused(folder: Path, trained: Path) -> None:
    other = prompt_file(folder / "other.jsonl", 15)
    with pytest.raises(UserError, match="used other prompts"):
        train(TrainOptions(str(folder / "model"), (other,), trained, MINUTES, resume=True))


def test_that_resuming_with_another_model_is_refused(folder: Path, trained: Path) -> None:
    make_tiny_model(folder / "another", tied=False, seed=4, context=128)
    with pytest.raises(UserError, match="for another model"):
        train(TrainOptions(str(folder / "another"), (folder / "prompts.jsonl",), trained, MINUTES, resume=True))


@pytest.mark.parametrize("stage", [Stage.PREDICTORS, Stage.PROFILE])
def test_that_a_stage_without_the_one_it_builds_on_says_so(folder: Path, stage: Stage) -> None:
    with pytest.raises(UserError, match="run the stages"):
        train(options(folder, "nothing", stage=stage), quiet)


def test_that_stages_one_by_one_make_the_same_kinds_of_parts(folder: Path) -> None:
    for stage in (Stage.DATA, Stage.DRAFTER, Stage.HEAD, Stage.LENS, Stage.PREDICTORS):
        assert train(options(folder, "steps", stage=stage)).name == "steps.training"
    assert train(options(folder, "steps", stage=Stage.PROFILE)) == folder / "steps"
    before = load_card(folder / "steps")
    assert "recommended" not in before
    assert train(options(folder, "steps", stage=Stage.TUNE)) == folder / "steps"
    after = load_card(folder / "steps")
    assert before.items() <= after.items()
    assert RunSettings.from_json({**DEFAULTS.to_json(), **after["recommended"]}).policy is Policy.SPECEE_T1T2


def copied(folder: Path, trained: Path, name: str) -> Path:
    """All that the whole recipe has left, under another name."""
    shutil.copytree(trained, folder / name)
    shutil.copytree(f"{trained}.training", folder / f"{name}.training")
    return folder / name


def test_that_predictors_trained_anew_look_at_what_their_own_time_allows(folder: Path, trained: Path) -> None:
    copied(folder, trained, "looked")
    plan = folder / "looked.training" / Stage.DATA / "looks-identity.json"
    few = dict.fromkeys(json.loads(plan.read_text()), 10**6)
    plan.write_text(json.dumps(few))
    train(options(folder, "looked", stage=Stage.PREDICTORS))
    assert all(every < 10**6 for every in json.loads(plan.read_text()).values())


def test_that_training_anew_keeps_classifiers_that_are_there(folder: Path, trained: Path) -> None:
    out = copied(folder, trained, "kept")
    shutil.rmtree(folder / "kept.training" / Stage.ADAINFER)
    train(options(folder, "kept", stage=Stage.PROFILE))
    model = load_model(folder / "model", dtype=DType.FLOAT32)
    expected, parts = load_parts(trained, model), load_parts(out, model)
    assert expected.adainfer is not None
    assert parts.adainfer is not None
    for name, array in expected.adainfer.arrays().items():
        np.testing.assert_array_equal(parts.adainfer.arrays()[name], array)
    assert parts.card["adainfer"] == expected.card["adainfer"]


def test_that_only_what_builds_on_a_stage_is_thrown_away_with_it() -> None:
    assert outdated_by([Stage.HEAD]) == (Stage.HEAD, Stage.TUNE)
    assert outdated_by([Stage.ADAINFER]) == (Stage.ADAINFER,)
    assert outdated_by([Stage.LENS]) == (Stage.LENS, Stage.PREDICTORS, Stage.PROFILE, Stage.TUNE)
    assert outdated_by([Stage.DATA]) == STEPS


def test_that_a_damaged_checkpoint_is_named_in_a_sentence(folder: Path) -> None:
    train(options(folder, "damaged", stage=Stage.DATA))
    for path in (folder / "damaged.training" / "data").glob("answers-*.safetensors"):
        path.write_bytes(b"\x00" * 20)
    with pytest.raises(UserError, match="is damaged"):
        train(options(folder, "damaged", stage=Stage.DRAFTER, resume=True))


@pytest.mark.parametrize("minutes", [0.0, -1.0, float("nan")])
def test_that_a_budget_must_be_above_0(folder: Path, minutes: float) -> None:
    with pytest.raises(UserError, match="must be above 0"):
        options(folder, "none", budget_minutes=minutes)


def test_that_every_progress_names_its_stage_and_some_bring_figures_for_curves(folder: Path) -> None:
    told: list[Progress] = []
    train(options(folder, "told"), told.append)
    staged = [progress for progress in told if progress.part]
    assert {Stage(progress.part) for progress in staged} >= {Stage.DATA, Stage.DRAFTER, Stage.LENS, Stage.TUNE}
    assert [STEPS.index(Stage(one.part)) for one in staged] == sorted(STEPS.index(Stage(one.part)) for one in staged)
    with_loss = {Stage(one.part) for one in staged if {"step", "loss"} <= set(one.figures)}
    assert with_loss == {Stage.DRAFTER, Stage.HEAD, Stage.LENS, Stage.PREDICTORS}
    hits = [one for one in staged if "top1" in one.figures]
    assert {Stage.DRAFTER, Stage.HEAD, Stage.LENS} == {Stage(one.part) for one in hits}
    assert all(0 <= one.figures["top1"] <= one.figures.get("top4", 1.0) <= 1 for one in hits)


def test_that_a_run_is_unfinished_from_its_first_stage_to_its_last(folder: Path, trained: Path) -> None:
    assert not is_unfinished(folder / "never")
    assert not is_unfinished(trained)
    copied(folder, trained, "broken-off")
    shutil.rmtree(workplace(folder / "broken-off") / Stage.TUNE)
    assert is_unfinished(folder / "broken-off")
