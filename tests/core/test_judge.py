"""The compiled judgement of a layer is the plain one, and a run through it is the same run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from core.choices import DType, Policy
from core.engine import Engine
from core.exits.judge import CompiledJudge, PlainJudge, make_judge
from core.exits.predictors import PredictorBank, features_of
from core.model.loading import LoadedModel, load_model
from tests.engines import parts_that_always_propose, run
from tests.grids import make_tiny_grid_model
from tests.pieces import noise

pytest.importorskip("numba")

EPS, WIDTH, LAYERS = 1e-5, 48, 3
RNG = np.random.default_rng(11)


@pytest.fixture(scope="module")
def bank() -> PredictorBank:
    shapes = {"w1": (LAYERS, 12, 20), "b1": (LAYERS, 20), "w2": (LAYERS, 20), "b2": (LAYERS,)}
    return PredictorBank({name: RNG.normal(size=shape).astype(np.float32) for name, shape in shapes.items()})


def rows() -> np.ndarray:
    return RNG.normal(size=(4, WIDTH)).astype(np.float32)


def test_that_a_look_is_the_norm_the_candidates_rows_and_the_predictor(bank: PredictorBank) -> None:
    weight, head, judge = rows()[0], rows(), PlainJudge(bank, EPS)
    judge.begin(head * weight)
    previous = None
    for layer, state in enumerate(noise(LAYERS, WIDTH, scale=1.0)):
        normed = torch.nn.functional.rms_norm(state, (WIDTH,), torch.from_numpy(weight), EPS).numpy()
        expected = features_of(head @ normed, previous)
        features, score = judge.look(layer, state)
        np.testing.assert_allclose(features, expected, atol=1e-5)
        assert score == pytest.approx(bank.score(layer, expected), abs=1e-5)
        previous = expected[4:8]


def test_that_the_compiled_look_equals_the_plain_one(bank: PredictorBank) -> None:
    plain, compiled = PlainJudge(bank, EPS), CompiledJudge(bank, EPS)
    for seed in range(3):
        head = rows()
        plain.begin(head)
        compiled.begin(head)
        for layer, state in enumerate(noise(LAYERS, WIDTH, seed=seed, scale=3.0)):
            (ours, score), (theirs, expected) = compiled.look(layer, state), plain.look(layer, state)
            np.testing.assert_allclose(ours, theirs, atol=1e-5, rtol=1e-5)
            assert score == pytest.approx(expected, abs=1e-5)
            assert ours.dtype == np.float32


def test_that_features_told_once_are_never_written_again(bank: PredictorBank) -> None:
    judge = CompiledJudge(bank, EPS)
    judge.begin(rows())
    first, _ = judge.look(0, noise(WIDTH))
    kept = first.copy()
    judge.look(1, noise(WIDTH, seed=1))
    np.testing.assert_array_equal(first, kept)


@pytest.mark.parametrize("scale", [1e4, -1e4])
def test_that_extreme_activations_saturate_the_compiled_score_too(bank: PredictorBank, scale: float) -> None:
    judge = CompiledJudge(PredictorBank({**bank.arrays(), "b2": np.full(LAYERS, scale, np.float32)}), EPS)
    judge.begin(rows())
    assert judge.look(0, noise(WIDTH))[1] == (scale > 0)


def test_that_the_native_format_judges_compiled_what_float32_judges_plainly(tmp_path: Path) -> None:
    folder = make_tiny_grid_model(tmp_path / "grid", depth=6)
    features = {}
    for dtype, kind in ((DType.FLOAT32, PlainJudge), (DType.NATIVE, CompiledJudge)):
        model: LoadedModel = load_model(folder, dtype=dtype, threads=1)
        parts = parts_that_always_propose(model)
        assert isinstance(make_judge(parts.predictors, model.decoder), kind)
        trace = run(Engine(model, parts), policy=Policy.SPECEE_T1, threshold=1.0, max_new_tokens=2)
        features[dtype] = trace.records[1].features[:-1]
    np.testing.assert_allclose(features[DType.NATIVE], features[DType.FLOAT32], atol=1e-3)
