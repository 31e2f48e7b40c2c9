"""The whole recipe on a tiny model: what it leaves, and what survives an interruption."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from safetensors import safe_open

from core.config import DType, Policy, RunSettings
from core.decoding import RunRequest
from core.engine import Engine
from core.errors import UserError
from core.exits.parts import load_parts
from core.model.loading import load_model
from core.progress import Cancelled, Progress, quiet
from core.trace.trace import Trace
from core.training.options import Stage, TrainOptions
from core.training.recipe import train
from tests.core.training_setup import prompt_file
from tests.tiny import make_tiny_model

MINUTES = 0.01


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


def test_that_the_recipe_leaves_parts_that_an_engine_runs(folder: Path, trained: Path) -> None:
    model = load_model(folder / "model", dtype=DType.FLOAT32)
    parts = load_parts(trained, model)
    request = RunRequest("the sea", RunSettings(policy=Policy.SPECEE_T1, max_new_tokens=8))
    assert Trace.of(Engine(model, parts).run(request, threading.Event())).emitted_count > 0
    assert sorted(parts.offline_ranking.tolist()) == [0, 1, 2]


def test_that_the_card_tells_recipe_data_quality_and_frontier(trained: Path) -> None:
    card = json.loads((trained / "parts.json").read_text(encoding="utf-8"))["card"]
    prompts = card["data"]["prompts"]
    assert prompts | {"tune": 2, "test": 2} == prompts
    assert prompts["train"] + prompts["reserved"] == 8 + card["data"]["written_by_the_model"]
    assert card["drafter"]["quality"]["overall"]["tokens"] > 0
    assert set(card["predictors"]["quality"]) == {"argmax = final", "argmax = final and in S"}
    assert card["recommended_threshold"] in [point["threshold"] for point in card["frontier"]]
    assert {"seed", "versions", "profile"} <= set(card)


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


@pytest.mark.parametrize("during", ["Writing answers", "Training the drafter", "Counting"])
def test_that_an_interrupted_run_goes_on_where_it_was(folder: Path, during: str) -> None:
    cancel, out = threading.Event(), f"stopped-{during.split()[-1]}"

    def stop(progress: Progress) -> None:
        if progress.message.startswith(during):
            cancel.set()

    with pytest.raises(Cancelled):
        train(options(folder, out), stop, cancel)
    assert during == "Counting" or not (folder / out).exists()
    seen: list[str] = []
    train(options(folder, out, resume=True), lambda progress: seen.append(progress.message))
    assert (folder / out / "parts.json").is_file()
    if during != "Writing answers":
        assert not any(message.startswith("Writing answers") for message in seen)
    if during == "Counting":
        assert not any(message.startswith("Training the drafter") for message in seen)


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
    assert (folder / "steps" / "parts.json").is_file()


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
