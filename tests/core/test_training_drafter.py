"""The drafter's loss, and its training loop."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from core.drafting.head import DraftHead
from core.drafting.taps import tap_layers
from core.errors import UserError
from core.model.loading import LoadedModel
from core.training.adam import Adam
from core.training.distil import Columns, Vocabulary, distil, token_mass
from core.training.drafter_steps import EARLY, NOISE, DrafterTraining, Recipe, mixed_states, rate_at
from core.training.examples import padded, read_examples
from core.training.quality import chain_quality
from core.training.unrolled import unroll
from tests.core.training_setup import stored_answers, tiny_model
from tests.pieces import whole_sequences


def sparse(n: int, vocabulary: int, kept: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    ids = torch.stack([torch.randperm(vocabulary, generator=generator)[:kept] for _ in range(n)])
    return ids, torch.rand(n, kept, generator=generator).softmax(-1)


def test_that_the_loss_over_all_columns_is_kl_and_its_gradient_is_autograds() -> None:
    head = torch.randn(50, 8, generator=torch.Generator().manual_seed(0))
    predicted = torch.randn(700, 8, generator=torch.Generator().manual_seed(2)).requires_grad_()
    ids, p = sparse(700, 50, 5)
    dense = torch.zeros(700, 50).scatter_(1, ids, p)
    expected = F.kl_div((predicted @ head.T).log_softmax(-1), dense, reduction="sum")
    expected.backward()
    losses, gradient = distil(predicted.detach(), ids, p, Columns(head, torch.zeros(50)))
    assert float(losses.sum()) == pytest.approx(float(expected.detach()), rel=1e-4)
    torch.testing.assert_close(gradient, predicted.grad, atol=1e-4, rtol=1e-4)


def test_that_tokens_without_a_column_teach_nothing() -> None:
    head = torch.randn(6, 4)
    places = torch.full((3, 2), -1)
    losses, gradient = distil(torch.randn(3, 4), places, torch.full((3, 2), 0.5), Columns(head, torch.zeros(6)))
    assert not losses.any()
    assert not gradient.any()


def test_that_the_sampled_sum_over_the_vocabulary_is_right_on_average() -> None:
    generator = torch.Generator().manual_seed(0)
    head = torch.randn(400, 8, generator=generator) * 0.3
    mass = torch.cat([torch.ones(40), torch.zeros(360)])
    vocabulary = Vocabulary(head, mass, most=40, sampled=30, coverage=0.99)
    x = torch.randn(8, generator=generator)
    sums = []
    for _ in range(600):
        columns = vocabulary.columns(generator)
        sums.append((columns.weight @ x + columns.offset).exp().sum())
    assert float(torch.stack(sums).mean()) == pytest.approx(float((head @ x).exp().sum()), rel=0.02)


def test_that_the_tokens_always_summed_over_carry_the_mass_asked_for() -> None:
    ids, p = sparse(50, 200, 6)
    mass = token_mass(ids, p, 200)
    vocabulary = Vocabulary(torch.randn(200, 4), mass, most=150, sampled=10, coverage=0.9)
    assert vocabulary.covered >= 0.9
    assert float(mass[vocabulary.always[:-1]].sum() / mass.sum()) < 0.9
    assert vocabulary.place[vocabulary.always].tolist() == list(range(len(vocabulary.always)))


def test_that_the_learning_rate_rises_and_then_falls_to_almost_nothing() -> None:
    rates = [rate_at(share / 100) for share in range(101)]
    peak = rates.index(max(rates))
    assert 0 < peak < 10
    assert rates[:peak] == sorted(rates[:peak])
    assert rates[peak:] == sorted(rates[peak:], reverse=True)
    assert rates[-1] < 0.03


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return tiny_model(tmp_path_factory.mktemp("model"))


def whole_vocabulary(model: LoadedModel) -> Vocabulary:
    weight = model.decoder.head_weight
    return Vocabulary(weight, torch.ones(len(weight)), most=10**6, sampled=0, coverage=1.0)


def test_that_a_drafter_learns_the_answers_it_sees(model: LoadedModel, tmp_path: Path) -> None:
    answers = stored_answers(model, tmp_path)
    examples = read_examples(answers, answers.keys)
    training = DrafterTraining(model, 0)
    vocabulary = whole_vocabulary(model)
    before = chain_quality(training.head, examples, 1)[0]
    random = torch.Generator().manual_seed(0)
    losses = [training.learn(examples, vocabulary, 0.1, random) for _ in range(60)]
    after = chain_quality(training.head, examples, 1)[0]
    assert losses[-1] < 0.7 * losses[0]
    assert after.top4 > before.top4


def test_that_a_restored_training_goes_on_as_if_it_had_never_stopped(model: LoadedModel, tmp_path: Path) -> None:
    answers = stored_answers(model, tmp_path)
    examples = read_examples(answers, answers.keys)
    vocabulary = whole_vocabulary(model)
    first = DrafterTraining(model, 0)
    first.learn(examples, vocabulary, 0.1, torch.Generator().manual_seed(0))
    second = DrafterTraining(model, 7)
    second.restore(first.state(), first.course.values())
    for training in (first, second):
        training.learn(examples, vocabulary, 0.1, torch.Generator().manual_seed(1))
    for name, weight in first.parameters.items():
        torch.testing.assert_close(second.parameters[name], weight)


def test_that_a_first_step_of_adam_goes_down_by_the_rate_whatever_the_gradients_size() -> None:
    weights = {"matrix": torch.ones(2, 2, requires_grad=True), "vector": torch.ones(2, requires_grad=True)}
    adam = Adam(weights, decay=0.5)
    weights["matrix"].grad = torch.tensor([[100.0, -0.01], [1.0, -1.0]])
    weights["vector"].grad = torch.tensor([5.0, -5.0])
    adam.step(0.1)
    expected = torch.full((2, 2), 0.95) - 0.1 * torch.tensor([[1.0, -1.0], [1.0, -1.0]])
    torch.testing.assert_close(weights["matrix"].detach(), expected)
    torch.testing.assert_close(weights["vector"].detach(), torch.tensor([0.9, 1.1]))
    assert weights["vector"].grad is None


def chained(head: DraftHead, ids: Tensor, states: Tensor, start: int, steps: int) -> list[Tensor]:
    """f̂ of a chain that leaves the target's states after slot `start`, as a run would compute it."""
    decoder, cache = head.decoder, head.new_cache(len(ids))
    predicted = head.advance(ids[: start + 1], states[: start + 1], 0, cache)[-1]
    found = [predicted]
    for slot in range(start + 1, start + steps):
        rows = decoder.rows(range(slot, slot + 1), slot + 1)
        predicted = head.run(ids[slot : slot + 1], predicted[None], rows, cache)[0]
        found.append(predicted)
    return found


@pytest.mark.parametrize(("taps", "layers"), [(False, 1), (True, 1), (True, 2)])
def test_that_unrolled_training_computes_what_a_chain_of_a_run_does(
    model: LoadedModel, taps: bool, layers: int
) -> None:
    random = torch.Generator().manual_seed(5)
    head = DraftHead.random(model.decoder, random, taps=taps, layers=layers)
    head = DraftHead.from_state(model.decoder, {name: 2 * weight for name, weight in head.state().items()})
    width = (1 + len(head.taps)) * model.decoder.config.hidden
    ids, states = torch.randint(0, 200, (11,), generator=random), torch.randn(11, width, generator=random)
    with torch.no_grad():
        unrolled = unroll(head, model.decoder.embed(ids)[None], states[None], 4)
        torch.testing.assert_close(unrolled[0], whole_sequences(head, model.decoder.embed(ids)[None], states[None]))
        pair = torch.stack([states.flip(0), states])
        part = unroll(head, model.decoder.embed(torch.stack([ids, ids])), pair, 4, torch.tensor([1]))
        for whole, one in zip(unrolled[1:], part[1:], strict=True):
            torch.testing.assert_close(one, whole)
        for start in range(7):
            for step, expected in enumerate(chained(head, ids, states, start, 4)):
                torch.testing.assert_close(unrolled[step][0, start + step], expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("taps", "layers"), [(False, 1), (True, 1), (False, 2), (True, 2)])
def test_that_a_heads_weights_say_how_it_is_built(model: LoadedModel, taps: bool, layers: int) -> None:
    head = DraftHead.random(model.decoder, torch.Generator().manual_seed(0), taps=taps, layers=layers)
    again = DraftHead.from_state(model.decoder, head.state())
    assert (again.taps, len(again.layers)) == (tap_layers(model.decoder.config.depth) if taps else (), layers)
    assert again.state().keys() == head.state().keys()


def test_that_taps_count_for_nothing_before_they_are_trained(model: LoadedModel) -> None:
    head = DraftHead.random(model.decoder, torch.Generator().manual_seed(0), taps=True)
    states = torch.randn(5, 3 * model.decoder.config.hidden)
    torch.testing.assert_close(head.fuse(states), states[:, -model.decoder.config.hidden :])


def test_that_a_mixing_weight_of_another_shape_is_refused(model: LoadedModel) -> None:
    state = DraftHead.random(model.decoder, torch.Generator().manual_seed(0), taps=True).state()
    state["taps.weight"] = state["taps.weight"][:, 1:]
    with pytest.raises(UserError, match=r"taps\.weight does not fit this model"):
        DraftHead.from_state(model.decoder, state)


def test_that_noise_and_late_features_leave_most_of_a_batch_as_it_is(model: LoadedModel, tmp_path: Path) -> None:
    answers = stored_answers(model, tmp_path)
    examples = read_examples(answers, answers.keys)
    clean = padded([example.states(True) for example in examples]).float()
    mixed = mixed_states(examples, True, torch.Generator().manual_seed(0))
    near = (mixed - clean).abs().amax(-1) <= NOISE + 1e-4
    assert 1 - 2 * EARLY < float(near.float().mean()) < 1
    assert bool(((mixed - clean).abs()[..., : -model.decoder.config.hidden] <= NOISE + 1e-4).all())


def test_that_prompts_are_learned_only_where_the_recipe_says_so(model: LoadedModel, tmp_path: Path) -> None:
    answers = stored_answers(model, tmp_path)
    examples = read_examples(answers, answers.keys)[:3]
    going_on = torch.tensor([2, 0])
    for prompts in (True, False):
        slots = DrafterTraining(model, 0, Recipe(prompts=prompts))._slots(examples, going_on)
        expected = padded([example.learned if prompts else example.drafted for example in examples])
        assert torch.equal(slots[0], expected)
        for step, chosen in enumerate(slots[1:], 1):
            assert torch.equal(chosen[:, step:], expected[going_on, step:])
            assert not bool(chosen[:, :step].any())


def test_that_a_chains_first_token_is_judged_as_the_drafter_is(model: LoadedModel, tmp_path: Path) -> None:
    answers = stored_answers(model, tmp_path)
    examples = read_examples(answers, answers.keys)
    head = DraftHead.random(model.decoder, torch.Generator().manual_seed(0), taps=True)
    qualities = chain_quality(head, examples, 3)
    assert qualities[0] == chain_quality(head, examples, 1)[0]
    assert len({one.tokens for one in qualities}) == 1


@pytest.mark.parametrize(("share", "weights"), [(0.5, (1.0,)), (0.8, (1.0, 0.7, 0.5))])
def test_that_chains_are_learned_from_the_recipes_time_on(
    model: LoadedModel, tmp_path: Path, share: float, weights: tuple[float, ...]
) -> None:
    answers = stored_answers(model, tmp_path)
    examples = read_examples(answers, answers.keys)
    learned = []
    for recipe in (Recipe(chains_from=0.7), Recipe(weights=weights, chains_from=0.0)):
        training = DrafterTraining(model, 0, recipe)
        training.learn(examples, whole_vocabulary(model), share, torch.Generator().manual_seed(0))
        learned.append(training.weights())
    torch.testing.assert_close(learned[0], learned[1])
