"""The target's answers in a batch, against the target on its own; and the pairs that the drafter learns from."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from core.config import Policy, RunSettings
from core.decoding import RunRequest
from core.drafting.head import DraftHead
from core.engine import Engine
from core.model.loading import LoadedModel
from core.trace.events import DraftProposed, TokenEmitted
from core.trace.trace import Trace
from core.training.answers import Job
from core.training.examples import CONTEXT, Example, batches, read_examples
from core.training.prompts import Prompt, Split
from core.training.quality import draft_candidates
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


def greedily(model: LoadedModel, prompt: tuple[int, ...], limit: int) -> list[int]:
    """One token after the other, each from the whole text anew."""
    ids = list(prompt)
    while len(ids) - len(prompt) < limit and (len(ids) == len(prompt) or ids[-1] not in model.tokenizer.end_ids):
        ids.append(int(model.decoder.logits(teacher_forced(model, ids)[-1][-1:]).argmax()))
    return ids[len(prompt) :]


@pytest.mark.parametrize("family", ["llama", "mistral", "qwen3"])
def test_that_rows_of_a_batch_give_each_prompt_the_answer_it_gets_alone(family: str, tmp_path: Path) -> None:
    config = {"sliding_window": 8} if family == "mistral" else {}
    model = tiny_model(tmp_path / "model", family, **config)
    answers = write_some(model, greedy_jobs(model))
    assert len(answers) == 5
    for answer in answers:
        assert answer.ids == greedily(model, answer.job.ids, 12)


def test_that_what_is_kept_of_a_token_is_what_a_pass_over_the_text_gives(model: LoadedModel) -> None:
    for answer in write_some(model, greedy_jobs(model)):
        ids = [*answer.job.ids, *answer.ids]
        layers = teacher_forced(model, ids[:-1])
        last = layers[-1][len(answer.job.ids) - 1 :]
        torch.testing.assert_close(torch.stack(answer.features).float(), last, atol=2e-3, rtol=2e-3)
        for token, kept in zip(answer.kept, answer.layers, strict=True):
            expected = torch.stack(layers[:-1])[:, len(answer.job.ids) + token - 1]
            torch.testing.assert_close(kept.float(), expected, atol=2e-3, rtol=2e-3)
        probabilities = model.decoder.logits(last).softmax(-1).topk(32).values
        torch.testing.assert_close(torch.stack(answer.top_probabilities).float(), probabilities, atol=2e-3, rtol=2e-3)


def test_that_sampled_answers_of_a_prompt_differ_and_keep_no_layers(model: LoadedModel) -> None:
    ids = tuple(model.tokenizer.encode_chat("the sea"))
    answers = write_some(model, [Job(0, sample, ids, 1.0) for sample in range(1, 5)])
    assert len({tuple(answer.ids) for answer in answers}) > 1
    assert not any(answer.kept for answer in answers)


def test_that_answers_in_flight_end_where_they_are_when_time_is_up(model: LoadedModel) -> None:
    from core.training.answers import Answerer

    jobs, steps = greedy_jobs(model), iter(range(100))
    answerer = Answerer(model.decoder, frozenset(), rows=3, limit=50, longest=64, stride=1, seed=0)
    answers = list(answerer.run(iter(jobs), lambda: next(steps) >= 4))
    assert [len(answer.ids) for answer in answers] == [5, 5, 5]


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
