"""Trained parts must come back as they were saved, fit exactly their model, and never run code."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from core.choices import DType
from core.drafting.head import DraftHead
from core.errors import UserError
from core.exits import parts_folder
from core.exits.parts import TrainedParts
from core.exits.parts_folder import CARD, DRAFTER, PREDICTORS, find_parts, user_parts
from core.exits.parts_reading import load_parts
from core.exits.parts_writing import save_parts
from core.exits.predictors import PredictorBank
from core.model.loading import LoadedModel, load_model
from tests.tiny import make_tiny_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load_model(make_tiny_model(tmp_path_factory.mktemp("parts") / "tiny"), dtype=DType.FLOAT32, threads=1)


def random_parts(model: LoadedModel, layers: int = 3, seed: int = 0) -> TrainedParts:
    rng = np.random.default_rng(seed)
    shapes = {"w1": (layers, 12, 8), "b1": (layers, 8), "w2": (layers, 8), "b2": (layers,)}
    return TrainedParts(
        fingerprint=model.info.fingerprint,
        drafter=DraftHead.random(model.decoder, torch.Generator().manual_seed(seed)),
        predictors=PredictorBank({name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}),
        offline_ranking=np.array([2, 0, 1]),
        card={"recipe": {"epochs": 2}, "hit_rate": 0.5},
    )


@pytest.fixture
def saved(model: LoadedModel, tmp_path: Path) -> Path:
    save_parts(tmp_path / "tiny-parts", random_parts(model))
    return tmp_path / "tiny-parts"


def test_that_parts_come_back_as_they_were_saved(model: LoadedModel, saved: Path) -> None:
    before, after = random_parts(model), load_parts(saved, model)
    assert after.drafter.state().keys() == before.drafter.state().keys()
    assert all(torch.equal(after.drafter.state()[name], one) for name, one in before.drafter.state().items())
    assert all(np.array_equal(after.predictors.arrays()[name], one) for name, one in before.predictors.arrays().items())
    assert after.offline_ranking.tolist() == [2, 0, 1]
    assert after.card == before.card


def test_that_a_parts_folder_holds_nothing_that_can_run(saved: Path) -> None:
    assert {one.name for one in saved.iterdir()} == {CARD, DRAFTER, PREDICTORS}


def test_that_a_brief_drafter_loads_in_the_models_dtype(model: LoadedModel, tmp_path: Path) -> None:
    save_parts(tmp_path / "brief", random_parts(model), drafter_dtype=torch.bfloat16)
    assert load_file(tmp_path / "brief" / DRAFTER)["fc.weight"].dtype == torch.bfloat16
    assert load_parts(tmp_path / "brief", model).drafter.fc.dtype == torch.float32


def test_that_parts_are_found_by_their_models_fingerprint(model: LoadedModel, saved: Path, tmp_path: Path) -> None:
    assert find_parts(model.info, saved) == saved
    assert find_parts(model.info, saved.parent) == saved
    assert find_parts(model.info) is None
    save_parts(user_parts() / "mine", random_parts(model))
    assert find_parts(model.info) == user_parts() / "mine"
    other = load_model(make_tiny_model(tmp_path / "other", seed=5), dtype=DType.FLOAT32, threads=1)
    assert find_parts(other.info, saved) is None


def test_that_what_the_user_trained_goes_before_what_was_shipped(
    model: LoadedModel, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts_folder, "SHIPPED", saved.parent)
    assert find_parts(model.info) == saved
    save_parts(user_parts() / "mine", random_parts(model))
    assert find_parts(model.info) == user_parts() / "mine"


def test_that_parts_of_another_model_are_refused(saved: Path, tmp_path: Path) -> None:
    other = load_model(make_tiny_model(tmp_path / "other", seed=5), dtype=DType.FLOAT32, threads=1)
    with pytest.raises(UserError, match=r"belong to another model than other; train parts for this one"):
        load_parts(saved, other)


@pytest.mark.parametrize("name", [CARD, DRAFTER, PREDICTORS])
def test_that_a_missing_or_damaged_file_is_one_sentence(model: LoadedModel, saved: Path, name: str) -> None:
    (saved / name).write_bytes((saved / name).read_bytes()[:20])
    with pytest.raises(UserError, match=rf"{name} is missing or damaged"):
        load_parts(saved, model)
    (saved / name).unlink()
    with pytest.raises(UserError, match=rf"{name} is missing"):
        load_parts(saved, model)


@pytest.mark.parametrize("name", [DRAFTER, PREDICTORS])
def test_that_weights_that_are_not_finite_are_refused(model: LoadedModel, saved: Path, name: str) -> None:
    state = {key: one.clone() for key, one in load_file(saved / name).items()}
    next(iter(state.values())).view(-1)[0] = torch.nan
    save_file(state, saved / name)
    with pytest.raises(UserError, match=rf"{name} is missing or damaged"):
        load_parts(saved, model)


def test_that_predictors_for_another_depth_are_refused(model: LoadedModel, tmp_path: Path) -> None:
    save_parts(tmp_path / "deep", random_parts(model, layers=5))
    with pytest.raises(UserError, match="5 layers of 12 features, but this model needs 3 layers of 12"):
        load_parts(tmp_path / "deep", model)


def test_that_a_drafter_of_other_shapes_is_refused(model: LoadedModel, saved: Path) -> None:
    state = {name: one.clone() for name, one in load_file(saved / DRAFTER).items()}
    save_file({**state, "fc.weight": torch.zeros(8, 16)}, saved / DRAFTER)
    with pytest.raises(UserError, match=r"fc\.weight does not fit this model"):
        load_parts(saved, model)


@pytest.mark.parametrize("ranking", [[0, 1], [0, 1, 1], [0, 1, 3], "012", None, [0, 1, "2"], [0, 1, True]])
def test_that_a_ranking_that_does_not_name_each_layer_once_is_refused(
    model: LoadedModel, saved: Path, ranking: object
) -> None:
    values = json.loads((saved / CARD).read_text())
    (saved / CARD).write_text(json.dumps({**values, "offline_ranking": ranking}))
    with pytest.raises(UserError, match=r"parts\.json is missing or damaged"):
        load_parts(saved, model)


def test_that_parts_of_a_newer_kind_are_refused(model: LoadedModel, saved: Path) -> None:
    values = json.loads((saved / CARD).read_text())
    (saved / CARD).write_text(json.dumps({**values, "format": 2}))
    with pytest.raises(UserError, match="newer kind; update specee-viewer"):
        load_parts(saved, model)


def test_that_saving_replaces_older_parts_and_leaves_nothing_else(model: LoadedModel, saved: Path) -> None:
    save_parts(saved, random_parts(model, seed=7))
    assert torch.equal(load_parts(saved, model).drafter.fc, random_parts(model, seed=7).drafter.fc)
    assert [one.name for one in saved.parent.glob("*tiny-parts*")] == [saved.name]


def test_that_a_failed_save_keeps_the_older_parts(model: LoadedModel, saved: Path) -> None:
    unwritable = random_parts(model, seed=7)
    broken = TrainedParts(
        unwritable.fingerprint, unwritable.drafter, unwritable.predictors, unwritable.offline_ranking, {"no": {1, 2}}
    )
    with pytest.raises(TypeError):
        save_parts(saved, broken)
    assert torch.equal(load_parts(saved, model).drafter.fc, random_parts(model).drafter.fc)
    assert [one.name for one in saved.parent.glob("*tiny-parts*")] == [saved.name]


def test_that_parts_that_cannot_be_put_in_place_leave_the_older_ones(
    model: LoadedModel, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def refused(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise PermissionError(13, "in use")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(UserError, match=r"cannot be written to .* \(in use\); choose another folder"):
        save_parts(saved, random_parts(model, seed=1))
    assert np.array_equal(load_parts(saved, model).predictors.w1, random_parts(model).predictors.w1)
    assert not list(saved.parent.glob(".*"))


def test_that_a_folder_with_other_things_is_never_replaced(model: LoadedModel, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match="holds no trained parts; choose another folder"):
        save_parts(tmp_path / "mine", random_parts(model))
    assert (tmp_path / "mine" / "thesis.tex").is_file()


def test_that_a_place_that_cannot_be_written_is_one_sentence(model: LoadedModel, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written to"):
        save_parts(tmp_path / "file" / "parts", random_parts(model))
