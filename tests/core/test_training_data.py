"""The target's answers in a batch, against the target on its own; and the pairs that the drafter learns from."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from core.choices import Policy
from core.config import RunSettings
from core.decoding import RunRequest
from core.drafting.head import DraftHead
from core.drafting.taps import tap_layers
from core.engine import Engine
from core.model.loading import LoadedModel
from core.trace.events import DraftProposed, TokenEmitted
from core.trace.trace import Trace
from core.training.answers import Answer, Answerer, Job, choose, narrow
from core.training.examples import CONTEXT, Example, batches, read_examples
from core.training.prompts import Prompt, Split
from core.training.quality import draft_candidates
from core.training.self_prompts import chat_frame
from tests.core.training_setup import (
    full_ids,
    greedy_jobs,
    store,
    stored_answers,
    teacher_forced,
    tiny_model,
    write_some,
)
from tests.engines import parts_that_always_propose


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return tiny_model(tmp_path_factory.mktemp("model"), depth=6)


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    """Equal as far as float16 tells."""
    torch.testing.assert_close(found.float(), expected, atol=3e-3, rtol=3e-3)


def greedily(
    model: LoadedModel, prompt: tuple[int, ...], limit: int, ends: frozenset[int] = frozenset({0, 2})
) -> list[int]:
    """One token after the other, each from the whole text anew."""
    ids = list(prompt)
    while len(ids) - len(prompt) < limit and (len(ids) == len(prompt) or ids[-1] not in ends):
        ids.append(int(model.decoder.logits(teacher_forced(model, ids)[-1][-1:]).argmax()))
    return ids[len(prompt) :]


@pytest.mark.parametrize("family", ["llama", "mistral", "qwen3"])
def test_that_rows_of_a_batch_give_each_prompt_the_answer_it_gets_alone(family: str, tmp_path: Path) -> None:
    config = {"sliding_window": 8} if family == "mistral" else {}
    model = tiny_model(tmp_path / "model", family, **config)
    answers = write_some(model, greedy_jobs(model))
    assert len(answers) == 5
    for answer in answers:
        assert list(answer.ids) == greedily(model, answer.job.ids, 12)


def test_that_what_is_kept_of_a_token_is_what_a_pass_over_the_text_gives(model: LoadedModel) -> None:
    for answer in write_some(model, greedy_jobs(model)):
        ids = [*answer.job.ids, *answer.ids]
        layers = teacher_forced(model, ids[:-1])
        last = layers[-1][len(answer.job.ids) - 1 :]
        close(answer.own["features"], last)
        for part, first in ((answer.prompt, 0), (answer.own, len(answer.job.ids) - 1)):
            for place, layer in enumerate(tap_layers(6)):
                close(part["taps"][:, place], layers[layer][first : first + len(part["taps"])])
        assert answer.kept == tuple(range(2, len(answer.ids), 2))
        if answer.layers is not None:
            at = [len(answer.job.ids) + token - 1 for token in answer.kept]
            close(model.decoder.norm(answer.layers.float()), torch.stack(layers[:-1], 1)[at])
        close(answer.own["top_probabilities"], model.decoder.logits(last).softmax(-1).topk(32).values)


def test_that_sampled_answers_of_a_prompt_differ(model: LoadedModel) -> None:
    ids = tuple(model.tokenizer.encode_chat("the sea"))
    answers = write_some(model, [Job(0, sample, ids, 1.0) for sample in range(1, 5)])
    assert len({tuple(answer.ids) for answer in answers}) > 1


def test_that_answers_in_flight_end_where_they_are_when_time_is_up(model: LoadedModel) -> None:
    jobs, steps = greedy_jobs(model), iter(range(100))
    answerer = Answerer(model.decoder, frozenset(), rows=3, limit=50, longest=64, seed=0)
    answers = list(answerer.run(iter(jobs), lambda: next(steps) >= 4))
    assert [len(answer.ids) for answer in answers] == [5, 5, 5]


def admitted(model: LoadedModel, ids: Sequence[int]) -> Job:
    before, after = chat_frame(model)
    return Job(7, 0, (*before, *ids, *after), 0.0, 1)


OFTEN = frozenset({0, *range(2, 60)})
"""Ends that a model soon comes to."""


def written_answers(model: LoadedModel, count: int = 24) -> list[Answer]:
    before, after = chat_frame(model)
    jobs = iter([Job(-1, 0, before, 1.0, writes=True)] * count)
    answerer = Answerer(
        model.decoder,
        OFTEN,
        rows=4,
        limit=8,
        longest=len(before) + 20 + len(after),
        seed=0,
        admit=lambda ids: admitted(model, ids) if ids else None,
        written=20,
    )
    return list(answerer.run(jobs, lambda: False))


def test_that_a_prompt_that_the_model_writes_is_answered_as_one_that_it_is_given(model: LoadedModel) -> None:
    before, after = chat_frame(model)
    answers = written_answers(model)
    assert answers
    for answer in answers:
        assert 0 < len(answer.job.ids) - len(before) - len(after) <= 20
        assert list(answer.ids) == greedily(model, answer.job.ids, 8, OFTEN)
        layers = teacher_forced(model, [*answer.job.ids, *answer.ids][:-1])
        close(answer.prompt["features"], layers[-1][: len(answer.job.ids)])
        close(answer.own["features"], layers[-1][len(answer.job.ids) - 1 :])
        assert answer.kept == tuple(range(1, len(answer.ids)))


def test_that_a_chats_frame_and_a_text_make_the_chat(model: LoadedModel) -> None:
    before, after = chat_frame(model)
    text = "zebras"
    assert [*before, *model.tokenizer.encode(text), *after] == model.tokenizer.encode_chat(text)


def test_that_temperature_0_takes_the_first_and_others_follow_their_distribution() -> None:
    probabilities = torch.tensor([[0.5, 0.3, 0.2]]).repeat(6000, 1)
    temperatures = torch.cat([torch.zeros(2000), torch.full((2000,), 1.0), torch.full((2000,), 0.5)])
    ranks = choose(probabilities, temperatures, torch.Generator().manual_seed(0)).view(3, 2000)
    shares = torch.stack([(ranks == rank).float().mean(1) for rank in range(3)], 1)
    colder = torch.tensor([0.25, 0.09, 0.04]) / 0.38
    expected = torch.stack([torch.tensor([1.0, 0.0, 0.0]), probabilities[0], colder])
    torch.testing.assert_close(shares, expected, atol=0.04, rtol=0.0)


@pytest.mark.parametrize(("largest", "dtype"), [(100.0, torch.float16), (1e6, torch.bfloat16)])
def test_that_states_too_large_for_float16_keep_their_range(largest: float, dtype: torch.dtype) -> None:
    states = torch.tensor([1.0, largest])
    assert narrow(states).dtype is dtype
    torch.testing.assert_close(narrow(states).float(), states, rtol=1e-2, atol=0.0)


def example_of(model: LoadedModel, folder: Path, words: int, sample: int = 0) -> tuple[Example, list[int], int]:
    ids = tuple(model.tokenizer.encode_chat("word " * words))
    prompts = [Prompt("0", "a", "text", Split.TRAIN)]
    jobs = [Job(0, 0, ids, 0.0)] + [Job(0, sample, ids, 1.0)] * (sample > 0)
    answers = store(write_some(model, jobs), folder, prompts)
    example = next(one for one in read_examples(answers, answers.keys) if one.key.sample == sample)
    return example, *full_ids(answers, example.key)


@pytest.mark.parametrize(("words", "sample"), [(3, 0), (3, 1), (60, 0)])
def test_that_slot_i_pairs_token_i_plus_1_with_feature_i_and_is_taught_what_the_target_thinks_one_on(
    model: LoadedModel, tmp_path: Path, words: int, sample: int
) -> None:
    example, ids, prompt = example_of(model, tmp_path, words, sample)
    first = max(0, prompt - CONTEXT)
    hidden = teacher_forced(model, ids[:-1])[-1]
    assert example.ids.tolist() == ids[first + 1 : -1]
    torch.testing.assert_close(example.features.float(), hidden[first:-1], atol=2e-3, rtol=2e-3)
    assert example.top_ids[:, 0].tolist() == model.decoder.logits(hidden[first + 1 :]).argmax(-1).tolist()
    assert int(example.drafted.sum()) == len(ids) - prompt - 1
    assert example.drafted.nonzero()[0].item() == prompt - 1 - first
    assert bool(example.learned.all()) == (sample == 0)


def test_that_the_drafter_guesses_on_stored_answers_what_it_guesses_in_a_run(
    model: LoadedModel, tmp_path: Path
) -> None:
    parts = parts_that_always_propose(model, bias=-20.0)
    text = "the sea"
    settings = RunSettings(policy=Policy.SPECEE_T1, max_new_tokens=12)
    trace = Trace.of(Engine(model, parts).run(RunRequest(text, settings), threading.Event()))
    drafts = np.stack([event.candidate_ids for event in trace.events if isinstance(event, DraftProposed)])
    job = Job(0, 0, tuple(model.tokenizer.encode_chat(text)), 0.0)
    answers = store(write_some(model, [job]), tmp_path, [Prompt("0", "a", text, Split.TRAIN)])
    assert answers.read(answers.keys[0], "ids").tolist() == [
        event.token_id for event in trace.events if isinstance(event, TokenEmitted)
    ]
    head: DraftHead = parts.drafter
    found = draft_candidates(head, read_examples(answers, answers.keys)[0])
    np.testing.assert_array_equal(found, drafts)


def test_that_batches_hold_every_example_once_and_keep_to_their_size(model: LoadedModel, tmp_path: Path) -> None:
    answers = stored_answers(model, tmp_path)
    examples = read_examples(answers, answers.keys) * 5
    found = batches(examples, 150, np.random.default_rng(0))
    assert sorted(i for batch in found for i in batch) == list(range(len(examples)))
    assert all(len(b) * max(len(examples[i]) for i in b) <= 150 or len(b) == 1 for b in found)
    assert max(len(b) for b in found) > 1
