"""Training the exit lens: what it starts from, what it learns, and that runs get the same function."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from core.exits.lens import ExitLens
from core.progress import Cancelled, Progress, quiet
from core.training.distil import Vocabulary
from core.training.kept import KeptTokens
from core.training.lens import Head, LayerLens, carried, fit, zeros
from core.training.lens_stage import forms, lens_facts, train_lens
from core.training.lessons import Lesson
from core.training.options import Stage, TrainOptions
from core.training.prompts import Use
from core.training.readings import could_exit, divergence, read
from core.training.workspace import Timer, Workspace
from tests.core.training_setup import stored_answers, tiny_model

HIDDEN, VOCABULARY = 16, 40


def head() -> Head:
    random = torch.Generator().manual_seed(0)
    weight = torch.randn(VOCABULARY, HIDDEN, generator=random)
    mass = torch.rand(VOCABULARY, generator=random)
    return Head(torch.ones(HIDDEN), 1e-5, Vocabulary(weight, mass, most=30, sampled=5, coverage=1.0))


def lesson(n: int = 600) -> tuple[Lesson, torch.Tensor]:
    """States of unlike spread from which a linear map restores what the head says of others; and those others."""
    random = torch.Generator().manual_seed(1)
    final = torch.randn(n, HIDDEN, generator=random)
    spread = torch.logspace(-2, 2, HIDDEN)
    states = (final @ torch.linalg.qr(torch.randn(HIDDEN, HIDDEN, generator=random))[0]) * spread + spread
    top = torch.softmax(head().normed(final) @ WEIGHT.T, -1).topk(8)
    return Lesson(states, top.indices, top.values), final


WEIGHT = torch.randn(VOCABULARY, HIDDEN, generator=torch.Generator().manual_seed(0))


def trained(rank: int | None, lessons: Lesson, **changed: object) -> LayerLens:
    lens = LayerLens(lessons.states, zeros(HIDDEN, rank, 0))
    given = {"seed": 0, "timer": Timer(0.0, 1e9), "tell": lambda *_: None, "cancel": None, **changed}
    fit(lens, lessons, head(), **given)  # type: ignore[arg-type]
    return lens


def kl(lens: LayerLens, lessons: Lesson) -> float:
    with torch.no_grad():
        return divergence(WEIGHT, head().normed(lens(lessons.states)), lessons.top_ids, lessons.top_probabilities)


@pytest.mark.parametrize("rank", [None, 4])
def test_that_an_untrained_lens_changes_nothing(rank: int | None) -> None:
    states = lesson()[0].states
    torch.testing.assert_close(LayerLens(states, zeros(HIDDEN, rank, 0))(states), states)


@pytest.mark.parametrize("rank", [None, 8])
def test_that_training_brings_the_head_nearer_to_the_final_distribution(rank: int | None) -> None:
    lessons, _ = lesson()
    before = kl(LayerLens(lessons.states, zeros(HIDDEN, rank, 0)), lessons)
    assert kl(trained(rank, lessons), lessons) < 0.8 * before


@pytest.mark.parametrize("rank", [None, 4])
def test_that_the_lens_of_a_run_is_the_one_that_was_trained(rank: int | None) -> None:
    lessons, _ = lesson()
    lens = trained(rank, lessons)
    stacked = {name: weight[None] for name, weight in lens.folded().items()}
    run = ExitLens(stacked.pop("bias"), **stacked)
    with torch.no_grad():
        torch.testing.assert_close(run(0, lessons.states), lens(lessons.states), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("rank", [None, 4])
def test_that_a_lens_goes_on_from_another_layers_as_it_was(rank: int | None) -> None:
    lessons, _ = lesson()
    lens, others = trained(rank, lessons), lessons.states[:50] * 3 + 1
    start = LayerLens(others, carried(lens.folded(), others))
    with torch.no_grad():
        torch.testing.assert_close(start(lessons.states), lens(lessons.states), rtol=1e-3, atol=1e-3)


def test_that_training_stops_when_time_is_up_and_when_cancelled() -> None:
    lessons, steps = lesson()[0], []
    trained(4, lessons, timer=Timer(1.0, 1.0), tell=lambda step, loss: steps.append(step))
    assert steps == [1, 2]
    stop = threading.Event()
    stop.set()
    with pytest.raises(Cancelled):
        trained(4, lessons, cancel=stop)


def test_that_as_many_may_exit_as_keep_to_the_share_that_must_be_right() -> None:
    top = np.array([0.9, 0.8, 0.7, 0.6, 0.5], np.float32)
    assert could_exit(top, np.array([1, 1, 1, 1, 0], bool), 0.99) == 0.8
    assert could_exit(top, np.array([0, 1, 1, 1, 1], bool), 0.8) == 1.0
    assert could_exit(top, np.zeros(5, bool)) == could_exit(top[:0], np.zeros(0, bool)) == 0.0


def test_that_a_reading_is_the_argmax_with_its_probability_and_margin() -> None:
    states = torch.randn(300, HIDDEN)
    found, p = read(WEIGHT, states), torch.softmax(states @ WEIGHT.T, -1).sort(-1, descending=True)
    assert found.argmax.tolist() == p.indices[:, 0].tolist()
    np.testing.assert_allclose(found.top, p.values[:, 0], rtol=1e-5)
    np.testing.assert_allclose(found.margin, p.values[:, 0] - p.values[:, 1], atol=1e-6)


def test_that_kept_tokens_are_read_a_layer_at_a_time(tmp_path: Path) -> None:
    model = tiny_model(tmp_path / "model")
    answers = stored_answers(model, tmp_path)
    keys = answers.kept_of(Use.TRAIN)
    tokens = KeptTokens(answers, keys)
    whole = torch.cat([answers.read(key, "layers") for key in keys])
    for layer in range(whole.shape[1]):
        torch.testing.assert_close(tokens.layer(layer), whole[:, layer])
    assert tokens.final.tolist() == tokens.top_ids[:, 0].tolist()


def test_that_an_interrupted_stage_goes_on_with_the_layers_that_are_left(tmp_path: Path) -> None:
    model = tiny_model(tmp_path / "model")
    answers, work = stored_answers(model, tmp_path), Workspace(tmp_path / "work")
    options, stop = TrainOptions("", (tmp_path,), budget_minutes=0.01), threading.Event()

    def tell(progress: Progress) -> None:
        if work.files(Stage.LENS, "layer-002-*.json") and "layer 2, " in progress.message:
            stop.set()

    with pytest.raises(Cancelled):
        train_lens(model.decoder, answers, options, work, tell, stop)
    seen: list[str] = []
    lens = train_lens(model.decoder, answers, options, work, lambda progress: seen.append(progress.message), None)
    assert not any("layer 3, " in message for message in seen)
    assert any("layer 1, " in message for message in seen)
    assert lens.layers == model.config.depth - 1
    facts = lens_facts(work)
    assert len(facts["layers"]) == lens.layers
    assert set(facts["tried"]["forms"]) == {form.name for form in forms(32)}
    train_lens(model.decoder, answers, options, work, quiet, None)
