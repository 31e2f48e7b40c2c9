"""AdaInfer: its classifiers decide as the libraries that trained them do, and its policies leave where they say so."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from core.choices import Policy, Record
from core.config import RunSettings, SamplingSettings
from core.engine import Engine, RunRequest
from core.errors import UserError
from core.exits.adainfer import SHAPES, AdaInferParts
from core.exits.parts_folder import ADAINFER, CARD, DRAFTER, PREDICTORS
from core.exits.parts_reading import load_parts
from core.exits.parts_writing import save_adainfer, save_parts
from core.model.loading import LoadedModel
from core.trace.events import ExitReason
from core.trace.trace import Trace
from tests.engines import DEPTH, ids, parts_that_always_propose, run

LAYERS = DEPTH - 1
BOTH = [Policy.ADAINFER_SVM, Policy.ADAINFER_CRF]


def arrays(layers: int = LAYERS, seed: int = 0) -> dict[str, np.ndarray]:
    """Random classifiers, of the sizes that training gives."""
    rng = np.random.default_rng(seed)
    made = {
        name: rng.normal(size=[layers if size == "layers" else size for size in shape])
        for name, shape in SHAPES.items()
    }
    return made | {"scale": np.abs(made["scale"]) + 0.1}


def engine_that_is_sure_from(tiny: LoadedModel, first: int) -> Engine:
    """Both classifiers say no below layer `first` and yes from it on, whatever they see."""
    sign = np.where(np.arange(LAYERS) < first, -5.0, 5.0)
    states = np.zeros((LAYERS, 2, 3))
    states[:, 1, 2] = sign
    plain = {name: np.zeros_like(array) for name, array in arrays().items()}
    sure = plain | {"scale": np.ones((LAYERS, 2)), "svm_bias": sign, "crf_states": states}
    return Engine(tiny, dataclasses.replace(parts_that_always_propose(tiny), adainfer=AdaInferParts(sure)))


@pytest.fixture
def undecided(tiny: LoadedModel) -> Engine:
    """Classifiers that say yes where the best probability is above what random weights usually give."""
    usual = {"mean": np.full((LAYERS, 2), 0.043), "scale": np.full((LAYERS, 2), 0.004)}
    plain = {name: np.zeros_like(array) for name, array in arrays().items()} | usual
    plain["svm_weights"][:, 1] = 1.0
    plain["crf_states"][:, 1, 1] = 1.0
    plain["crf_transitions"][:] = [[0.2, -0.2], [0.0, 0.5]]
    return Engine(tiny, dataclasses.replace(parts_that_always_propose(tiny), adainfer=AdaInferParts(plain)))


@pytest.mark.parametrize("policy", BOTH)
@pytest.mark.parametrize("first", [0, 2, LAYERS])
def test_that_it_leaves_at_the_first_layer_that_is_judged_final(tiny: LoadedModel, policy: Policy, first: int) -> None:
    trace = run(engine_that_is_sure_from(tiny, first), policy=policy)
    assert set(trace.exit_layers[1:]) == {first + 1}
    reason = ExitReason.RULE if first < LAYERS else ExitReason.LAST_LAYER
    assert {record.emitted.reason for record in trace.emitted[1:]} == {reason}


@pytest.mark.parametrize("policy", BOTH)
def test_that_what_it_emits_is_the_exit_layers_own_argmax(undecided: Engine, policy: Policy) -> None:
    trace = run(undecided, policy=policy, record=Record.AUDIT)
    assert len(set(trace.exit_layers[1:])) > 1
    for record in trace.emitted[1:]:
        assert record.emitted.token_id == record.audit.token_ids[record.emitted.exit_layer - 1]


@pytest.mark.parametrize("policy", BOTH)
def test_that_every_layer_up_to_the_exit_is_judged_and_only_the_last_says_yes(
    undecided: Engine, policy: Policy
) -> None:
    for record in run(undecided, policy=policy).emitted[1:]:
        judged = min(record.emitted.exit_layer, LAYERS)
        assert record.evaluated[:judged].all()
        early = record.emitted.exit_layer < DEPTH
        assert (record.scores[: judged - early] <= 0.5).all()
        assert not early or record.scores[judged - 1] > 0.5


@pytest.mark.parametrize("policy", BOTH)
def test_that_it_looks_at_margin_and_best_probability_of_the_whole_vocabulary(
    undecided: Engine, policy: Policy
) -> None:
    trace = run(undecided, policy=policy, record=Record.AUDIT)
    for record in trace.emitted[1:]:
        for layer in np.flatnonzero(record.evaluated):
            gap, top = record.features[layer]
            assert gap == pytest.approx(record.audit.margins[layer], abs=1e-5)
            assert gap <= top


@pytest.mark.parametrize("policy", BOTH)
def test_that_the_full_head_at_every_layer_is_counted_as_the_predictors_time(undecided: Engine, policy: Policy) -> None:
    """A clock that ticks once a reading: a stage takes time exactly where the loop enters it."""
    ticks = itertools.count()
    request = RunRequest("the quick brown fox", RunSettings(policy, max_new_tokens=4))
    events = undecided.run(request, Event(), clock=lambda: next(ticks))
    for record in Trace.of(events).emitted[1:]:
        asked = min(record.emitted.exit_layer, LAYERS)
        assert record.emitted.times.predictor == asked + 1


@pytest.mark.parametrize("policy", BOTH)
def test_that_audit_changes_neither_token_nor_exit(undecided: Engine, policy: Policy) -> None:
    live, audit = run(undecided, policy=policy), run(undecided, policy=policy, record=Record.AUDIT)
    assert ids(audit) == ids(live)
    np.testing.assert_array_equal(audit.exit_layers, live.exit_layers)


@pytest.mark.parametrize("policy", BOTH)
def test_that_without_classifiers_it_says_how_to_train_them(eager: Engine, tiny: LoadedModel, policy: Policy) -> None:
    for engine in (eager, Engine(tiny)):
        with pytest.raises(UserError, match=f"{policy} needs classifiers .* `specee-viewer train --stage adainfer`"):
            run(engine, policy=policy)


@pytest.mark.parametrize("policy", BOTH)
def test_that_it_is_for_greedy_decoding_only(policy: Policy) -> None:
    with pytest.raises(UserError, match=f"{policy} is defined for greedy decoding only"):
        RunSettings(policy, sampling=SamplingSettings(temperature=0.5))


def test_that_filtered_marginals_equal_the_sum_over_all_label_sequences() -> None:
    given = arrays(layers=5, seed=1)
    features = np.random.default_rng(2).uniform(size=(5, 2)).astype(np.float32)
    field = AdaInferParts(given).crf()
    for _ in range(2):  # the second token must not remember the first
        field.begin()
        for layer in range(5):
            score, final = field.judge(layer, features[layer])
            assert score == pytest.approx(enumerated(given, features[: layer + 1]), abs=1e-9)
            assert final == (score > 0.5)


def enumerated(given: dict[str, np.ndarray], features: np.ndarray) -> float:
    """p(y_l = 1 | x_0 … x_l) of the chain that ends at l, by writing out every sequence of labels."""
    inputs = (features - given["mean"][: len(features)]) / given["scale"][: len(features)]
    mass = [0.0, 0.0]
    for labels in itertools.product((0, 1), repeat=len(features)):
        energy = sum(given["crf_states"][at, label] @ [*inputs[at], 1.0] for at, label in enumerate(labels))
        energy += sum(given["crf_transitions"][pair] for pair in itertools.pairwise(labels))
        mass[labels[-1]] += np.exp(energy)
    return mass[1] / sum(mass)


def test_that_a_deep_chain_with_strong_weights_stays_finite() -> None:
    given = arrays(layers=200)
    field = AdaInferParts(
        given | {"crf_states": given["crf_states"] * 1e3, "crf_transitions": np.full((2, 2), -900.0)}
    ).crf()
    field.begin()
    scores = [field.judge(layer, np.ones(2, np.float32))[0] for layer in range(200)]
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("far", [1e4, -1e4])
def test_that_a_machines_score_stays_between_0_and_1_however_far_the_point(far: float) -> None:
    plain = {name: np.zeros_like(array) for name, array in arrays().items()}
    svm = AdaInferParts(plain | {"scale": np.ones((LAYERS, 2)), "svm_bias": np.full(LAYERS, far)}).svm()
    assert svm.judge(0, np.zeros(2, np.float32)) == ((far > 0) * 1.0, far > 0)


@pytest.mark.parametrize("name", SHAPES)
def test_that_an_array_that_is_missing_misshapen_or_not_finite_is_refused(name: str) -> None:
    whole = arrays()
    broken = whole[name].copy()
    broken.flat[0] = np.nan
    for bad in ({}, {name: whole[name][..., :-1]}, {name: broken}, {name: np.float64(1.0)}):
        rest = {key: array for key, array in whole.items() if key != name}
        with pytest.raises(UserError, match=r"AdaInfer's array \w+ is missing or damaged; train it again with"):
            AdaInferParts(rest | bad)


def test_that_a_scale_of_zero_is_refused() -> None:
    with pytest.raises(UserError, match="array scale is missing or damaged"):
        AdaInferParts(arrays() | {"scale": np.zeros((LAYERS, 2))})


@pytest.fixture
def saved(tiny: LoadedModel, tmp_path: Path) -> Path:
    parts = dataclasses.replace(parts_that_always_propose(tiny), adainfer=AdaInferParts(arrays()), card={"seed": 3})
    save_parts(tmp_path / "parts", parts)
    return tmp_path / "parts"


def test_that_classifiers_come_back_from_the_parts_as_they_were_saved(tiny: LoadedModel, saved: Path) -> None:
    loaded = load_parts(saved, tiny).adainfer
    assert loaded is not None
    assert {one.name for one in saved.iterdir()} == {CARD, DRAFTER, PREDICTORS, ADAINFER}
    for name, array in arrays().items():
        np.testing.assert_array_equal(loaded.arrays()[name], array)


def test_that_parts_without_classifiers_load(tiny: LoadedModel, saved: Path) -> None:
    (saved / ADAINFER).unlink()
    assert load_parts(saved, tiny).adainfer is None


def test_that_adding_classifiers_keeps_the_other_parts_byte_by_byte(
    tiny: LoadedModel, saved: Path, tmp_path: Path
) -> None:
    save_adainfer(saved, tmp_path / "more", AdaInferParts(arrays(seed=9)), {"tokens": 7})
    for name in (DRAFTER, PREDICTORS):
        assert (tmp_path / "more" / name).read_bytes() == (saved / name).read_bytes()
    more = load_parts(tmp_path / "more", tiny)
    assert more.card == {"seed": 3, "adainfer": {"tokens": 7}}
    assert more.adainfer is not None
    np.testing.assert_array_equal(more.adainfer.arrays()["mean"], arrays(seed=9)["mean"])


def test_that_classifiers_are_never_added_to_a_folder_of_other_things(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match="holds no trained parts; choose another folder"):
        save_adainfer(saved, tmp_path / "mine", AdaInferParts(arrays()), {})


def test_that_classifiers_for_another_depth_are_refused(tiny: LoadedModel, saved: Path) -> None:
    save_adainfer(saved, saved, AdaInferParts(arrays(layers=7)), {})
    parts = load_parts(saved, tiny)
    assert parts.adainfer is None
    assert f"are for a model of 8 layers, but this one has {DEPTH}; train them again" in parts.problems["adainfer"]


def test_that_classifiers_that_are_damaged_or_not_finite_are_refused(tiny: LoadedModel, saved: Path) -> None:
    state = load_file(saved / ADAINFER)
    state["svm_bias"][0] = float("inf")
    save_file(state, saved / ADAINFER)
    assert "adainfer.safetensors is missing or damaged" in load_parts(saved, tiny).problems["adainfer"]
    (saved / ADAINFER).write_bytes(b"short")
    assert "adainfer.safetensors is missing or damaged" in load_parts(saved, tiny).problems["adainfer"]
