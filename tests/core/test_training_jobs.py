"""Which answers the data stage writes, in which order, and what an interrupted run leaves."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import UserError
from core.model.loading import LoadedModel
from core.progress import Cancelled, Progress, quiet
from core.training.data import Answers
from core.training.data_stage import write_answers
from core.training.jobs import EXPECTED, KEPT_RESERVED, TRAIN_STRIDE, Jobs, Kept
from core.training.options import SHARES, Stage, TrainOptions
from core.training.prompts import Prompt, Use, read_prompts
from core.training.self_prompts import FILE, TRIALS, SelfPrompts, chat_frame, load_prompts
from core.training.workspace import Timer, Workspace
from tests.core.training_setup import prompt_file, tiny_model

HELD_OUT = (Use.TUNE, Use.TEST)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def prompts(tmp_path: Path) -> list[Prompt]:
    return read_prompts([prompt_file(tmp_path / "prompts.jsonl", 30)])


@pytest.fixture
def work(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "work")


def options(minutes: float) -> TrainOptions:
    return TrainOptions("tiny", (Path("prompts.jsonl"),), budget_minutes=minutes)


def jobs_of(model: LoadedModel, prompts: list[Prompt], work: Workspace) -> Jobs:
    return Jobs(model, Answers([], prompts), SelfPrompts(model, prompts, work), Timer(0.0, 100.0), 0)


def words(model: LoadedModel, text: str) -> list[int]:
    return model.tokenizer.encode(text)


def test_that_held_out_prompts_are_answered_first(model: LoadedModel, prompts: list[Prompt], work: Workspace) -> None:
    jobs = jobs_of(model, prompts, work)
    uses = [prompts[job.prompt].use for job in jobs.greedy(jobs.short)]
    held_out = [use in HELD_OUT for use in uses]
    assert held_out == sorted(held_out, reverse=True)
    assert sum(held_out) == sum(prompt.use in HELD_OUT for prompt in prompts)
    assert len(uses) == 30


def test_that_no_sampled_answer_goes_to_a_reserved_prompt(
    model: LoadedModel, prompts: list[Prompt], work: Workspace
) -> None:
    further = jobs_of(model, prompts, work).further()
    found = [next(further) for _ in range(60)]
    sampled = [job for job in found if not job.writes]
    assert {prompts[job.prompt].use for job in sampled} == {Use.TRAIN}
    assert 10 <= len(sampled) <= 20
    assert all(job.sample and job.temperature for job in sampled)


def test_that_held_out_answers_keep_all_layers_and_training_ones_a_share(
    model: LoadedModel, prompts: list[Prompt]
) -> None:
    kept = Kept(Answers([], prompts), Timer(0.0, 1e9))
    assert [kept.stride(use) for use in HELD_OUT] == [1, 1]
    reserved = [kept.stride(Use.RESERVED) for _ in range(2 * KEPT_RESERVED // EXPECTED)]
    assert sum(reserved) * EXPECTED == pytest.approx(KEPT_RESERVED, rel=0.02)
    early = [kept.stride(Use.TRAIN) for _ in range(100)]
    assert set(early) == {0, TRAIN_STRIDE}
    assert early.index(0) > 0


def test_that_what_the_model_writes_becomes_a_prompt_once(
    model: LoadedModel, prompts: list[Prompt], work: Workspace
) -> None:
    own = SelfPrompts(model, prompts, work)
    first = own.admit(words(model, "why is the sea blue"))
    assert first is not None
    assert (first.text, first.category, own.prompts[-1]) == ("why is the sea blue", "self", first)
    refused = ["why is the sea blue ", "", "  ", prompts[3].text]
    assert [own.admit(words(model, text)) for text in refused] == [None] * 4
    assert own.admit([*words(model, "green"), *chat_frame(model)[1][:1]]) is None
    own.save(work)
    again = SelfPrompts(model, prompts, work)
    assert again.prompts == own.prompts == [*prompts, first]
    assert again.admit(words(model, "why is the sea blue")) is None


def test_that_a_model_that_writes_nothing_of_use_is_soon_asked_no_more(
    model: LoadedModel, prompts: list[Prompt], work: Workspace
) -> None:
    own = SelfPrompts(model, prompts, work)
    for _ in range(TRIALS):
        assert own.are_worth_it
        own.try_one()
    assert not own.are_worth_it


def test_that_without_a_chat_template_a_model_writes_no_prompts(tmp_path: Path, work: Workspace) -> None:
    plain = tiny_model(tmp_path / "plain", chat_template=False)
    prompts = read_prompts([prompt_file(tmp_path / "prompts.jsonl")])
    assert chat_frame(plain) == ((), ())
    found = list(jobs_of(plain, prompts, work).further())
    assert found
    assert not any(job.writes for job in found)


def test_that_held_out_prompts_are_all_answered_however_short_the_time(
    model: LoadedModel, prompts: list[Prompt], work: Workspace
) -> None:
    answers = write_answers(model, prompts, options(1e-6), work, quiet, None)
    for use in HELD_OUT:
        wanted = {place for place, prompt in enumerate(prompts) if prompt.use is use}
        assert {key.prompt for key in answers.greedy_of(use)} == wanted
        assert answers.kept_of(use) == [key for key in answers.of(use) if answers.length(key, "ids") > 1]
    assert answers.of(Use.TRAIN)
    assert answers.of(Use.RESERVED)


def test_that_a_cancelled_run_stores_only_answers_that_ended_and_goes_on_to_the_others(
    model: LoadedModel, prompts: list[Prompt], work: Workspace
) -> None:
    cancel = threading.Event()

    def stop(progress: Progress) -> None:
        if progress.message.startswith("Writing answers"):
            cancel.set()

    with pytest.raises(Cancelled):
        write_answers(model, prompts, options(0.02), work, stop, cancel)
    before = Answers(work.files(Stage.DATA, "answers-*.safetensors"), [*prompts, *load_prompts(work)])
    ends = model.tokenizer.end_ids
    assert all(int(before.read(key, "ids")[-1]) in ends or before.length(key, "ids") > 50 for key in before.keys)
    after = write_answers(model, prompts, options(0.02), work, quiet, None)
    assert set(before.keys) < set(after.keys)


def test_that_the_stage_resumed_alone_with_more_time_adds_answers_and_drops_what_was_made_of_the_fewer(
    model: LoadedModel, prompts: list[Prompt], work: Workspace
) -> None:
    before = write_answers(model, prompts, options(1e-6), work, quiet, None)
    work.save_json(Stage.DRAFTER, "facts.json", {})
    work.save_json(Stage.DATA, "looks-identity.json", {})
    same = replace(options(1e-6), stage=Stage.DATA, resume=True)
    assert write_answers(model, prompts, same, work, quiet, None).keys == before.keys
    assert write_answers(model, prompts, options(9.0), work, quiet, None).keys == before.keys
    assert work.load_json(Stage.DRAFTER, "facts.json") is not None
    spent = work.load_json(Stage.DATA, "state.json")["seconds"]  # type: ignore[index]
    longer = replace(same, budget_minutes=(spent + 0.3) / 60 / SHARES[Stage.DATA])
    assert set(write_answers(model, prompts, longer, work, quiet, None).keys) > set(before.keys)
    assert work.load_json(Stage.DRAFTER, "facts.json") is None
    assert not work.files(Stage.DATA, "looks-*")


def test_that_written_prompts_and_their_answers_survive_a_restart(
    model: LoadedModel, prompts: list[Prompt], work: Workspace
) -> None:
    answers = write_answers(model, prompts, options(0.05), work, quiet, None)
    written = [key for key in answers.keys if answers.prompts[key.prompt].category == "self"]
    assert written
    again = write_answers(model, prompts, options(0.05), work, quiet, None)
    before, after = chat_frame(model)
    for key in written:
        ids = answers.read(key, "prompt_ids").tolist()
        middle = ids[len(before) : len(ids) - len(after)]
        text = b"".join(model.tokenizer.token_bytes(token) for token in middle).decode("utf-8", "replace").strip()
        assert text == again.prompts[key.prompt].text


def test_that_damaged_written_prompts_are_named(model: LoadedModel, prompts: list[Prompt], work: Workspace) -> None:
    write_answers(model, prompts, options(1e-6), work, quiet, None)
    work.path(Stage.DATA, FILE).write_bytes(b"{not json\n")
    with pytest.raises(UserError, match=r"self-prompts\.jsonl is missing or damaged"):
        write_answers(model, prompts, options(1e-6), work, quiet, None)
