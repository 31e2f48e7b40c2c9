"""A low-rank head, a lens with its predictors, and AdaInfer's classifiers lie beside a drafter and predictors; one that
cannot be used stands in the way of the runs that ask for it, and of no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from core.choices import Head, Lens, Policy
from core.engine import Engine
from core.errors import UserError
from core.exits.adainfer import SHAPES, AdaInferParts
from core.exits.parts import TrainedParts
from core.exits.parts_folder import ADAINFER, LENS, LENS_PREDICTORS, SLIM, TRIMMED
from core.exits.parts_reading import load_parts
from core.exits.parts_writing import save_adainfer, save_parts
from core.model.loading import LoadedModel
from tests.engines import DEPTH, parts_that_always_propose, run
from tests.pieces import random_lens, random_slim, trimmed

PIECES = {SLIM: "slim", TRIMMED: "trimmed", LENS: "lens", LENS_PREDICTORS: "lens", ADAINFER: "adainfer"}
WANTING = {
    "slim": {"check": Head.SLIM},
    "trimmed": {"draft_head": Head.TRIMMED},
    "lens": {"lens": Lens.TUNED},
    "adainfer": {"policy": Policy.ADAINFER_SVM},
}


def classifiers() -> AdaInferParts:
    sizes = {"layers": DEPTH - 1}
    return AdaInferParts({name: np.ones([sizes.get(n, n) for n in shape]) for name, shape in SHAPES.items()})


def whole(model: LoadedModel, rank: int | None = None) -> TrainedParts:
    parts = parts_that_always_propose(model)
    lens = random_lens(model, rank)
    return replace(
        parts,
        slim=random_slim(model),
        trimmed=trimmed(model, 20),
        lens=lens,
        lens_predictors=parts.predictors,
        adainfer=classifiers(),
    )


@pytest.fixture
def saved(tiny: LoadedModel, tmp_path: Path) -> Path:
    save_parts(tmp_path / "parts", whole(tiny))
    return tmp_path / "parts"


@pytest.mark.parametrize("rank", [None, 3])
def test_that_all_pieces_come_back_as_they_were_saved(tiny: LoadedModel, tmp_path: Path, rank: int | None) -> None:
    before = whole(tiny, rank)
    save_parts(tmp_path / "parts", before)
    after = load_parts(tmp_path / "parts", tiny)
    for one, other in ((after.slim, before.slim), (after.lens, before.lens)):
        assert one.state().keys() == other.state().keys()
        assert all(torch.equal(one.state()[name], weight) for name, weight in other.state().items())
    assert after.lens_predictors.arrays().keys() == before.predictors.arrays().keys()
    assert after.adainfer is not None
    assert not after.problems


def test_that_brief_pieces_load_in_the_model_s_dtype(tiny: LoadedModel, tmp_path: Path) -> None:
    save_parts(tmp_path / "brief", whole(tiny), drafter_dtype=torch.float16)
    assert {one.dtype for one in load_file(tmp_path / "brief" / LENS).values()} == {torch.float16}
    after = load_parts(tmp_path / "brief", tiny)
    assert after.lens.bias.dtype == after.slim.up.dtype == torch.float32
    np.testing.assert_array_equal(after.lens_predictors.b2, whole(tiny).predictors.b2)


def test_that_parts_without_pieces_have_none(tiny: LoadedModel, tmp_path: Path) -> None:
    save_parts(tmp_path / "plain", parts_that_always_propose(tiny))
    after = load_parts(tmp_path / "plain", tiny)
    assert (after.slim, after.lens, after.lens_predictors, after.adainfer) == (None, None, None, None)
    assert not after.problems


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20])


def spoil(path: Path) -> None:
    state = {name: one.clone() for name, one in load_file(path).items()}
    first = next(iter(state.values())).view(-1)
    first[0] = torch.nan if first.is_floating_point() else -1
    save_file(state, path)


def shrink(path: Path) -> None:
    save_file({name: one[: len(one) // 4].clone() for name, one in load_file(path).items()}, path)


@pytest.mark.parametrize("damage", [cut, spoil, shrink])
@pytest.mark.parametrize("file", PIECES)
def test_that_a_bad_piece_is_refused_only_where_it_is_wanted(
    tiny: LoadedModel, saved: Path, file: str, damage: object
) -> None:
    damage(saved / file)  # type: ignore[operator]
    parts = load_parts(saved, tiny)
    assert parts.problems.keys() == {PIECES[file]}
    engine = Engine(tiny, parts)
    for piece, settings in WANTING.items():
        if piece == PIECES[file]:
            with pytest.raises(UserError) as refused:
                run(engine, **settings, max_new_tokens=2)
            assert str(refused.value) == parts.problems[piece]
        else:
            assert run(engine, **settings, max_new_tokens=2).ended is not None


@pytest.mark.parametrize("file", [LENS, LENS_PREDICTORS])
def test_that_a_lens_without_its_predictors_is_none(tiny: LoadedModel, saved: Path, file: str) -> None:
    (saved / file).unlink()
    parts = load_parts(saved, tiny)
    assert (parts.lens, parts.lens_predictors) == (None, None)
    assert f"{file} is missing" in parts.problems["lens"]


def test_that_new_classifiers_keep_the_other_pieces(tiny: LoadedModel, saved: Path) -> None:
    before = {one.name: one.read_bytes() for one in saved.iterdir() if one.name != ADAINFER}
    save_adainfer(saved, saved, classifiers(), {})
    after = {one.name: one.read_bytes() for one in saved.iterdir() if one.name != ADAINFER}
    assert after.keys() == before.keys()
    assert all(after[name] == before[name] for name in (SLIM, LENS, LENS_PREDICTORS))
