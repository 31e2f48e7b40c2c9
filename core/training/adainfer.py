"""The baseline's classifiers, trained on what each layer would have said (AdaInfer, `docs/rules.md`).

For a token of the target's own greedy answers, each layer's argmax is right where it is the token that full depth gave.
The support vector machines (scikit-learn) see each layer alone; the conditional random field (CRFsuite) sees the
sequence of layers, with weights of their own for each layer, as the machines have, and one table of transitions.
Both libraries are needed to train only: what they find is kept as plain arrays (`core.exits.adainfer`).
"""

from __future__ import annotations

import importlib
import shutil
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.analysis.classification import predictor_quality
from core.errors import UserError
from core.exits.adainfer import AdaInferParts, Doubles, LayerClassifier
from core.exits.parts_folder import find_parts
from core.exits.parts_writing import save_adainfer
from core.model.decoder import Decoder
from core.model.loading import LoadedModel
from core.progress import Progress, Report, check
from core.trace.events import BoolArray, FloatArray, IntArray
from core.training.data import Answers, Key
from core.training.data_stage import write_answers
from core.training.options import Stage, TrainOptions, workplace
from core.training.prompts import Prompt, Use, digest
from core.training.readings import read
from core.training.workspace import Workspace

MOST = {Use.TRAIN: 4000, Use.TEST: 1500}
"""Tokens of each use that are looked at; two numbers a layer are learned from few, and each costs L heads."""
OWN = ".adainfer"
"""Ends the name of the folder for answers that only this stage needs."""
ITERATIONS = 200
CERTAIN = 10.0
"""Weight that stands for a label which was the only one."""


@dataclass(frozen=True, slots=True)
class Sayings:
    """What the layers that can be left early said of n tokens."""

    features: FloatArray
    """Shape [n, L-1, 2]: gap and top."""
    labels: BoolArray
    """Shape [n, L-1]: the layer's argmax was the full-depth token."""


def train_adainfer(
    model: LoadedModel,
    prompts: Sequence[Prompt],
    options: TrainOptions,
    folder: Path,
    report: Report,
    cancel: threading.Event | None,
) -> Path:
    """Train both classifiers and add them to the model's trained parts, written to `folder`.

    Where `folder` holds no parts yet, the model's others are copied there.

    Raises:
        Cancelled: `cancel` was set; the parts stay as they were.
        UserError: a library is missing, the model has no trained parts, or there are no tokens to learn from.
    """
    require_libraries()
    source = find_parts(model.info, folder) or find_parts(model.info)
    if source is None:
        raise UserError(
            f"AdaInfer's classifiers are added to a model's trained parts, and {model.info.name} has none yet; run "
            "`specee-viewer train` without --stage first."
        )
    work = _workspace(prompts, options, folder)
    if not options.resume:
        shutil.rmtree(work.folder / Stage.ADAINFER, ignore_errors=True)
    answers = write_answers(model, prompts, options, work, report, cancel)
    adainfer, card = fit_stage(model, answers, options, work, report, cancel)
    save_adainfer(source, folder, adainfer, card)
    if work.folder.name.endswith(OWN):
        shutil.rmtree(work.folder, ignore_errors=True)
    return folder


def fit_stage(
    model: LoadedModel,
    answers: Answers,
    options: TrainOptions,
    work: Workspace,
    report: Report,
    cancel: threading.Event | None,
) -> tuple[AdaInferParts, dict[str, Any]]:
    """Train both classifiers on these answers, or take what an earlier run has finished; with their entry of the card.

    Raises:
        Cancelled: `cancel` was set.
        UserError: a library is missing, or there are no tokens to learn from.
    """
    require_libraries()
    if load_adainfer(work) is None:
        heard = {use: listen(model.decoder, answers, use, options.seed, report, cancel) for use in MOST}
        adainfer = fit(heard[Use.TRAIN], report, cancel)
        arrays = {name: torch.from_numpy(array) for name, array in adainfer.arrays().items()}
        work.save_tensors(Stage.ADAINFER, "adainfer.safetensors", arrays)
        work.save_json(Stage.ADAINFER, "facts.json", _card(adainfer, heard))
    found = load_adainfer(work)
    assert found is not None, "just written"
    return found


def load_adainfer(work: Workspace) -> tuple[AdaInferParts, dict[str, Any]] | None:
    """What `fit_stage` left; None where it has not been run."""
    card = work.load_json(Stage.ADAINFER, "facts.json")
    if card is None:
        return None
    tensors = work.load_tensors(Stage.ADAINFER, "adainfer.safetensors")
    return AdaInferParts({name: tensor.numpy() for name, tensor in tensors.items()}), card


def has_libraries() -> bool:
    """Whether what only this stage needs is installed."""
    try:
        require_libraries()
    except UserError:
        return False
    return True


def _workspace(prompts: Sequence[Prompt], options: TrainOptions, folder: Path) -> Workspace:
    """The main recipe's, where it answered the same prompts; else one of this stage's own."""
    work = Workspace(workplace(folder))
    state = work.load_json(Stage.DATA, "state.json")
    if state is not None and state.get("digest") == digest(prompts):
        return work
    work = Workspace(folder.with_name(folder.name + OWN))
    if not options.resume:
        work.reset((Stage.DATA,))
    return work


def require_libraries() -> None:
    """Check for what only this stage needs.

    Raises:
        UserError: scikit-learn or python-crfsuite is not installed.
    """
    try:
        for name in ("sklearn.svm", "pycrfsuite"):
            importlib.import_module(name)
    except ImportError as error:
        raise UserError(
            f"Training AdaInfer needs scikit-learn and python-crfsuite ({error}); install them with "
            "`pip install specee-viewer[adainfer]`."
        ) from error


@torch.inference_mode()
def listen(
    decoder: Decoder, answers: Answers, use: Use, seed: int, report: Report, cancel: threading.Event | None
) -> Sayings:
    """What each layer said of up to `MOST` tokens of the greedy answers.

    Raises:
        Cancelled: `cancel` was set.
        UserError: no answer of this use has its layers kept.
    """
    features, labels, tokens = [], [], 0
    for key in _shuffled(answers.kept_of(use), seed):
        if tokens >= MOST[use]:
            break
        check(cancel)
        report(Progress("Asking every layer", tokens, MOST[use], "tokens"))
        layers, kept = answers.read(key, "layers"), answers.read(key, "kept").long()
        said, numbers = _read(decoder, layers)
        features.append(numbers)
        labels.append(said == answers.read(key, "ids")[kept].long().numpy()[:, None])
        tokens += len(kept)
    if not tokens:
        raise UserError(f"No answer to the {use} prompts has its layers kept; give more minutes.")
    return Sayings(np.concatenate(features), np.concatenate(labels))


def _shuffled(keys: Sequence[Key], seed: int) -> list[Key]:
    return [keys[i] for i in np.random.default_rng(seed).permutation(len(keys))]


def _read(decoder: Decoder, layers: Tensor) -> tuple[IntArray, FloatArray]:
    """Each layer's argmax [n, L-1], and its gap and top [n, L-1, 2], from hidden states [n, L-1, d]."""
    found = read(decoder.head_weight, decoder.norm(layers.flatten(0, 1).to(decoder.device, decoder.dtype)))
    shape = layers.shape[:2]
    return found.argmax.reshape(shape), np.stack([found.margin, found.top], -1).reshape(*shape, 2)


def fit(sayings: Sayings, report: Report, cancel: threading.Event | None) -> AdaInferParts:
    """Both classifiers, on features standardised a layer.

    Raises:
        Cancelled: `cancel` was set.
    """
    raw = sayings.features.astype(np.float64)
    mean, scale = raw.mean(0), np.maximum(raw.std(0), 1e-6)
    inputs = (raw - mean) / scale
    report(Progress("Fitting the support vector machines"))
    planes = [_plane(inputs[:, layer], sayings.labels[:, layer]) for layer in range(inputs.shape[1])]
    check(cancel)
    report(Progress("Fitting the conditional random field"))
    states, transitions = _chain(inputs, sayings.labels)
    return AdaInferParts(
        {
            "mean": mean,
            "scale": scale,
            "svm_weights": np.stack([weights for weights, _ in planes]),
            "svm_bias": np.array([bias for _, bias in planes]),
            "crf_states": states,
            "crf_transitions": transitions,
        }
    )


def machine() -> Any:
    """One layer's support vector machine, unfitted: linear, squared hinge, solved in the primal, which always ends."""
    from sklearn.svm import LinearSVC

    return LinearSVC(dual=False)


def _plane(inputs: Doubles, labels: BoolArray) -> tuple[Doubles, float]:
    """Weights [2] and bias; one side only where a layer was always right, or never."""
    if labels.all() or not labels.any():
        return np.zeros(inputs.shape[-1]), 1.0 if labels.all() else -1.0
    fitted = machine().fit(inputs, labels)
    return fitted.coef_[0], float(fitted.intercept_[0])


def _chain(inputs: Doubles, labels: BoolArray) -> tuple[Doubles, Doubles]:
    """The field's weights: states [L-1, 2, 3] and transitions [2, 2], from inputs [n, L-1, 2]."""
    import pycrfsuite

    states, transitions = np.zeros((inputs.shape[1], 2, 3)), np.zeros((2, 2))
    if labels.all() or not labels.any():
        states[:, int(labels.all()), 2] = CERTAIN
        return states, transitions
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    every = {"feature.possible_states": True, "feature.possible_transitions": True}
    trainer.set_params({"c2": 1.0, "max_iterations": ITERATIONS, **every})
    for sequence, right in zip(inputs, labels, strict=True):
        trainer.append(items(sequence), [str(int(label)) for label in right])
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(str(Path(folder) / "model"))
        tagger = pycrfsuite.Tagger()
        tagger.open(str(Path(folder) / "model"))
        learned = tagger.info()
        tagger.close()
    for (attribute, label), weight in learned.state_features.items():
        layer, feature = attribute.split(".")
        states[int(layer), int(label), int(feature)] = weight
    for (label, following), weight in learned.transitions.items():
        transitions[int(label), int(following)] = weight
    return states, transitions


def items(sequence: Doubles) -> list[dict[str, float]]:
    """The layers of one token, [L-1, 2], as CRFsuite takes them: attributes LAYER.FEATURE, the last always 1."""
    return [
        {f"{layer}.0": float(gap), f"{layer}.1": float(top), f"{layer}.2": 1.0}
        for layer, (gap, top) in enumerate(sequence)
    ]


def _card(adainfer: AdaInferParts, heard: dict[Use, Sayings]) -> dict[str, Any]:
    test = heard[Use.TEST]
    return {
        "tokens": len(heard[Use.TRAIN].labels),
        "held_out_tokens": len(test.labels),
        "svm": quality(adainfer.svm(), test),
        "crf": quality(adainfer.crf(), test),
    }


def quality(classifier: LayerClassifier, sayings: Sayings) -> dict[str, Any]:
    """Figures on tokens that were not learned from, each teacher-forced: accuracy and AUC a layer, and what leaving at
    the first layer judged final would do."""
    scores, final = judged(classifier, sayings.features)
    layers = scores.shape[1]
    each = [predictor_quality(scores[:, layer], sayings.labels[:, layer]).values() for layer in range(layers)]
    exits = np.where(final.any(1), final.argmax(1), layers)
    right = np.append(sayings.labels, np.ones((len(exits), 1), np.bool_), 1)[np.arange(len(exits)), exits]
    return {
        "accuracy": [one["accuracy"] for one in each],
        "auc": [one["auc"] for one in each],
        "mean_layers_pruned": round(float((layers - exits).mean()), 4),
        "share_pruned": round(float((layers - exits).mean()) / (layers + 1), 4),
        "agreement": round(float(right.mean()), 4),
    }


def judged(classifier: LayerClassifier, features: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Scores and classes [n, L-1] of features [n, L-1, 2], by the code that decides in a run."""
    scores = np.zeros(features.shape[:2], np.float32)
    final = np.zeros(features.shape[:2], np.bool_)
    for token, sequence in enumerate(features):
        classifier.begin()
        for layer, numbers in enumerate(sequence):
            scores[token, layer], final[token, layer] = classifier.judge(layer, numbers)
    return scores, final
