"""Training AdaInfer: what is exported decides as the libraries do, and the stage adds it to trained parts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pycrfsuite
import pytest

from core.choices import Policy
from core.engine import Engine
from core.errors import UserError
from core.exits.parts_folder import DRAFTER, PREDICTORS
from core.exits.parts_reading import load_parts
from core.exits.parts_writing import save_parts
from core.model.loading import LoadedModel
from core.progress import quiet
from core.training import adainfer
from core.training.adainfer import Sayings, fit, items, machine, quality, require_libraries
from core.training.options import Stage, TrainOptions
from core.training.recipe import train
from tests.engines import DEPTH, parts_that_always_propose, run

LAYERS = 4


@pytest.fixture(scope="module")
def sayings() -> Sayings:
    """Tokens that settle at some layer and are said with more confidence from there on."""
    rng = np.random.default_rng(0)
    labels = np.arange(LAYERS) >= rng.integers(0, LAYERS + 1, size=(300, 1))
    top = np.clip(0.2 + 0.4 * labels + 0.2 * rng.normal(size=labels.shape), 0.01, 0.99)
    return Sayings(np.stack([top * rng.uniform(0.2, 0.9, top.shape), top], -1).astype(np.float32), labels)


def standardised(sayings: Sayings) -> np.ndarray:
    raw = sayings.features.astype(np.float64)
    return (raw - raw.mean(0)) / raw.std(0)


def test_that_an_exported_machine_decides_as_scikit_learns_own(sayings: Sayings) -> None:
    svm = fit(sayings, quiet, None).svm()
    inputs = standardised(sayings)
    for layer in range(LAYERS):
        theirs = machine().fit(inputs[:, layer], sayings.labels[:, layer]).decision_function(inputs[:, layer])
        ours = [svm.decision(layer, one.astype(np.float64)) for one in sayings.features[:, layer]]
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_that_an_exported_field_filters_as_crfsuites_tagger_on_the_layers_so_far(
    sayings: Sayings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class InSight:
        """Where the stage makes its temporary folder, so that the tagger can open the model afterwards."""

        def __enter__(self) -> str:
            return str(tmp_path)

        def __exit__(self, *_: object) -> None:
            """The model stays."""

    monkeypatch.setattr(adainfer.tempfile, "TemporaryDirectory", InSight)
    field = fit(sayings, quiet, None).crf()
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    for token, inputs in enumerate(standardised(sayings)[:20]):
        field.begin()
        for layer in range(LAYERS):
            tagger.set(items(inputs)[: layer + 1])
            score, _ = field.judge(layer, sayings.features[token, layer])
            assert score == pytest.approx(tagger.marginal("1", layer), abs=1e-4)
    tagger.close()


def test_that_a_layer_which_is_never_right_is_never_left_and_one_always_right_always(sayings: Sayings) -> None:
    labels = sayings.labels.copy()
    labels[:, 0], labels[:, 3] = False, True
    svm = fit(Sayings(sayings.features, labels), quiet, None).svm()
    for token in sayings.features[:20]:
        assert not svm.judge(0, token[0])[1]
        assert svm.judge(3, token[3])[1]


@pytest.mark.parametrize("label", [False, True])
def test_that_a_field_which_saw_one_label_only_gives_that_one(sayings: Sayings, label: bool) -> None:
    field = fit(Sayings(sayings.features, np.full_like(sayings.labels, label)), quiet, None).crf()
    field.begin()
    assert [field.judge(layer, sayings.features[0, layer])[1] for layer in range(LAYERS)] == [label] * LAYERS


def test_that_quality_counts_the_layers_after_the_first_exit_and_the_right_exits() -> None:
    class Scripted:
        """Judges by the second feature alone."""

        def begin(self) -> None:
            """Nothing to forget."""

        def judge(self, layer: int, features: np.ndarray) -> tuple[float, bool]:
            return float(features[1]), features[1] > 0.5

    scores = np.array([[0.9, 0.1], [0.1, 0.9], [0.1, 0.2]], np.float32)
    labels = np.array([[False, True], [False, True], [False, False]])
    found = quality(Scripted(), Sayings(np.stack([scores, scores], -1), labels))
    assert found["mean_layers_pruned"] == 1.0  # of 3 layers: 2, 1 and 0
    assert found["share_pruned"] == pytest.approx(1 / 3, abs=1e-4)
    assert found["agreement"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["accuracy"] == pytest.approx([2 / 3, 2 / 3], abs=1e-4)
    assert found["auc"] == [None, 0.5]


@pytest.mark.parametrize("absent", ["sklearn.svm", "pycrfsuite"])
def test_that_a_missing_library_is_named_with_what_to_install(absent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(
        UserError, match=r"needs scikit-learn and python-crfsuite .*`pip install specee-viewer\[adainfer\]`"
    ):
        require_libraries()


@pytest.fixture
def options(tiny_folder: Path, tmp_path: Path) -> TrainOptions:
    prompts = tmp_path / "prompts.jsonl"
    lines = [
        json.dumps({"prompt": f"the {animal} fox"}) for animal in ("quick", "brown", "lazy", "green", "blue", "sea")
    ]
    prompts.write_text("\n".join(lines))
    return TrainOptions(str(tiny_folder), (prompts,), tmp_path / "parts", budget_minutes=0.05, stage=Stage.ADAINFER)


def test_that_the_stage_adds_classifiers_to_trained_parts_and_the_policies_run_on_them(
    options: TrainOptions, tiny: LoadedModel
) -> None:
    assert options.out is not None
    save_parts(options.out, parts_that_always_propose(tiny))
    before = {name: (options.out / name).read_bytes() for name in (DRAFTER, PREDICTORS)}
    assert train(options) == options.out
    assert {name: (options.out / name).read_bytes() for name in before} == before
    assert [one.name for one in options.out.parent.glob("parts*")] == ["parts"]
    parts = load_parts(options.out, tiny)
    for name, policy in (("svm", Policy.ADAINFER_SVM), ("crf", Policy.ADAINFER_CRF)):
        card = parts.card["adainfer"][name]
        assert len(card["accuracy"]) == len(card["auc"]) == DEPTH - 1
        assert 0 <= card["mean_layers_pruned"] <= DEPTH - 1
        assert run(Engine(tiny, parts), policy=policy).ended


def test_that_the_stage_needs_trained_parts_to_add_to(options: TrainOptions) -> None:
    with pytest.raises(
        UserError, match=r"are added to a model's trained parts, and .* has none yet; run `specee-viewer"
    ):
        train(options)


def test_that_training_twice_gives_the_same_classifiers(sayings: Sayings) -> None:
    one, two = fit(sayings, quiet, None).arrays(), fit(sayings, quiet, None).arrays()
    for name, array in one.items():
        np.testing.assert_array_equal(two[name], array)
