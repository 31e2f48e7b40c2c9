"""Training the low-rank head: its start, its gradient, and how it is judged."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from core.drafting.head import DraftHead
from core.model.slim_head import SlimHead
from core.progress import quiet
from core.training.chains import DEPTH, Chains, read_chains
from core.training.examples import read_examples
from core.training.lessons import Lesson
from core.training.options import TrainOptions
from core.training.prompts import Use
from core.training.slim import RARE, SlimTraining, fit, least_rho, speed_ratio, whitening
from core.training.slim_stage import load_slim, ranks, shortlist_miss, slim_facts, train_slim, verdict
from core.training.workspace import Timer, Workspace
from tests.core.training_setup import stored_answers, tiny_model

HIDDEN, VOCABULARY = 12, 50
RANDOM = torch.Generator().manual_seed(0)
WEIGHT = torch.randn(VOCABULARY, HIDDEN, generator=RANDOM) + 3
EVEN = torch.ones(VOCABULARY)
STATES = torch.randn(400, HIDDEN, generator=RANDOM) * torch.logspace(-1, 1, HIDDEN)


def started(rank: int, mass: torch.Tensor = EVEN, weight: torch.Tensor = WEIGHT) -> SlimTraining:
    return SlimTraining(weight, STATES, mass, rank)


def test_that_a_head_of_full_rank_starts_with_the_same_probabilities() -> None:
    slim = SlimHead(**started(HIDDEN).weights())
    expected = torch.softmax(STATES @ WEIGHT.T, -1)
    torch.testing.assert_close(torch.softmax(slim.logits(STATES), -1), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("mass", [EVEN, torch.logspace(0, -3, VOCABULARY)])
def test_that_no_other_head_of_the_rank_starts_nearer_where_tokens_are_likely(mass: torch.Tensor) -> None:
    share = mass / mass.sum() + 1 / VOCABULARY / RARE
    share = share / share.sum()
    centred = (STATES @ (WEIGHT - share @ WEIGHT).T) * share.sqrt()
    left, strengths, right = torch.linalg.svd(centred, full_matrices=False)
    best = (left[:, :3] * strengths[:3]) @ right[:3]
    slim = SlimHead(**started(3, mass).weights())
    found = slim.logits(STATES) * share.sqrt()
    assert (found - centred).norm() == pytest.approx(float((best - centred).norm()), rel=1e-3)


def test_that_a_step_follows_the_gradient_of_the_divergence() -> None:
    lesson = Lesson(STATES[:20], torch.randint(0, VOCABULARY, (20, 1)), torch.ones(20, 1))
    training = started(4)
    state = {name: one.clone().requires_grad_() for name, one in training.weights().items()}
    loss = F.cross_entropy(SlimHead(**state).logits(lesson.states), lesson.top_ids[:, 0])
    torch.autograd.backward(loss)
    seen = {}
    training._adam.step = lambda rate: seen.update({k: one.grad for k, one in training.parameters.items()})  # type: ignore[method-assign]
    assert training.learn(lesson, 0.1) == pytest.approx(loss.item(), rel=1e-4)
    torch.testing.assert_close(seen["up"], state["up"].grad, rtol=1e-3, atol=1e-5)
    # The step is taken in uncorrelated inputs: down = d · C^-½, so d's gradient is down's times C^½.
    half, whiten = whitening(STATES)
    torch.testing.assert_close(half @ whiten, torch.eye(HIDDEN), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(seen["down"], state["down"].grad @ whiten.T, rtol=1e-3, atol=1e-5)


def test_that_training_lowers_the_divergence() -> None:
    top = torch.softmax(STATES @ WEIGHT.T, -1).topk(8)
    lesson, losses = Lesson(STATES, top.indices, top.values), []
    never = Timer(0.0, 1e9)
    fit(started(4), lesson, steps=60, seed=0, timer=never, tell=lambda _, loss: losses.append(loss), cancel=None)
    assert losses[-1] < 0.8 * losses[0]


def test_that_a_shortlist_misses_what_it_does_not_hold() -> None:
    slim = SlimHead(**started(2, weight=torch.randn(VOCABULARY, HIDDEN)).weights())
    assert shortlist_miss(WEIGHT, slim, STATES) == 0.0  # 50 tokens are all on a list of 64
    wide = torch.cat([WEIGHT, torch.zeros(50, HIDDEN)])
    last = SlimHead(torch.zeros(1, HIDDEN), torch.zeros(100, 1))
    listed = set(last.shortlist(STATES[:1])[0].tolist())
    expected = [int(best) not in listed for best in (STATES @ wide.T).argmax(-1)]
    assert shortlist_miss(wide, last, STATES) == pytest.approx(sum(expected) / len(expected))


def test_that_a_head_pays_exactly_where_it_makes_a_pass_faster() -> None:
    for rho, nu, kappa in ((0.97, 0.2, 3.0), (0.7, 0.2, 3.0), (0.9, 0.9, 0.1), (1.0, 0.5, 9.0)):
        before, after = 2.0 / (1 + kappa), 2.0 * rho / (nu + kappa)
        assert speed_ratio(rho, nu, kappa) == pytest.approx(after / before)
        assert (rho > least_rho(nu, kappa)) == (after > before)


def test_that_the_verdict_is_that_of_the_figures_as_they_are_written() -> None:
    written = verdict({"rho_tau": 1.0, "nu": 0.9999, "kappa": 9.0})
    assert written == {"least_rho": 1.0, "pays": False, "speed_ratio": 1.0}


def test_that_a_chain_counts_as_far_as_all_its_tokens_are_right() -> None:
    # Tokens 0…5 in a row; depth j of the chain that began at s lies at s + j.
    right = torch.arange(6)
    hits = [[1, 1, 1, 0, 1, 1], [0, 1, 0, 1, 1, 1], [0, 0, 1, 1, 0, 1], [0, 0, 0, 1, 1, 0]]
    said = torch.stack([torch.where(torch.tensor(row) == 1, right, 9) for row in hits])
    outputs = F.one_hot(said, 10).float()
    starts = torch.arange(6) <= 6 - DEPTH
    found = Chains(outputs, right, starts).acceptance(lambda rows: rows)
    # From 0: right, right, right, right; from 1: right, wrong; from 2: right, right, wrong.
    assert found.tau == pytest.approx(1 + (4 + 1 + 2) / 3)
    assert found.top1 == pytest.approx(5 / 6)


def test_that_chains_of_an_answer_are_those_that_a_run_drafts(tmp_path: Path) -> None:
    model = tiny_model(tmp_path / "model")
    answers = stored_answers(model, tmp_path)
    head = DraftHead.random(model.decoder, torch.Generator().manual_seed(2), taps=True)
    example = max(read_examples(answers, answers.greedy_of(Use.TRAIN)), key=len)
    chains = read_chains(head, [example])
    first = int(example.drafted.nonzero()[0])
    cache, states = head.new_cache(len(example)), example.states(True).float()
    predicted = head.advance(example.ids[: first + 1], states[: first + 1], 0, cache)[-1]
    for depth in range(DEPTH):
        torch.testing.assert_close(chains.outputs[depth, depth], predicted, rtol=1e-3, atol=1e-4)
        place = first + depth + 1
        rows = model.decoder.rows(range(place, place + 1), place + 1)
        if place < len(example):
            predicted = head.run(example.ids[place : place + 1], predicted[None], rows, cache)[0]


def test_that_the_stage_leaves_a_head_with_the_figures_that_say_whether_it_pays(tmp_path: Path) -> None:
    model = tiny_model(tmp_path / "model")
    answers, work = stored_answers(model, tmp_path), Workspace(tmp_path / "work")
    head = DraftHead.random(model.decoder, torch.Generator().manual_seed(2))
    options = TrainOptions("", (tmp_path,), budget_minutes=0.01)
    slim = train_slim(head, answers, options, work, quiet, None)
    facts = slim_facts(work)
    assert facts["rank"] == slim.rank
    assert slim.rank in ranks(model.config.hidden)
    assert [one["rank"] for one in facts["sweep"]] == ranks(model.config.hidden)
    assert facts["pays"] == (facts["rho_tau"] > facts["least_rho"])
    assert facts["trimmed"]["tokens"] * model.config.hidden <= slim.rank * (
        model.config.hidden + model.config.vocabulary
    )
    again = load_slim(model.decoder, work)
    torch.testing.assert_close(again.logits(STATES_32), slim.logits(STATES_32))


STATES_32 = torch.randn(3, 32, generator=RANDOM)
