"""Prompt files and the three-way split."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from core.errors import UserError
from core.training.prompts import Prompt, Split, Use, digest, read_prompts, split_texts, written_prompt


def write(path: Path, *prompts: str, category: str = "talk") -> Path:
    lines = [json.dumps({"id": f"{category}-{i}", "category": category, "prompt": p}) for i, p in enumerate(prompts)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def splits(prompts: list[Prompt]) -> dict[str, Split]:
    return {prompt.text: prompt.split for prompt in prompts}


def test_that_every_category_gives_a_tenth_to_tune_and_a_tenth_to_test(tmp_path: Path) -> None:
    files = [
        write(tmp_path / f"{name}.jsonl", *(f"{name} {i}" for i in range(30)), category=name) for name in ("sum", "qa")
    ]
    counts = Counter((prompt.category, prompt.split) for prompt in read_prompts(files))
    for category in ("sum", "qa"):
        assert [counts[category, split] for split in (Split.TRAIN, Split.TUNE, Split.TEST)] == [24, 3, 3]


def test_that_the_split_depends_on_the_texts_alone_but_the_digest_on_their_order_too(tmp_path: Path) -> None:
    texts = [f"question {i}" for i in range(25)]
    first = read_prompts([write(tmp_path / "a.jsonl", *texts)])
    second = read_prompts([write(tmp_path / "b.jsonl", *reversed(texts))])
    assert splits(first) == splits(second)
    assert digest(first) != digest(second)


def test_that_a_text_in_two_files_is_one_prompt_and_so_in_one_split(tmp_path: Path) -> None:
    texts = [f"question {i}" for i in range(25)]
    files = [write(tmp_path / "a.jsonl", *texts), write(tmp_path / "b.jsonl", *texts, category="again")]
    assert len(read_prompts(files)) == 25


@pytest.mark.parametrize("count", [4, 5, 11])
def test_that_few_prompts_still_give_every_split_one(count: int) -> None:
    found = split_texts({f"prompt {i}": "only" for i in range(count)})
    assert set(found.values()) == set(Split)


def test_that_a_line_without_id_or_category_takes_them_from_its_place(tmp_path: Path) -> None:
    path = tmp_path / "riddles.jsonl"
    path.write_text('{"prompt": "a"}\n\n{"prompt": "b"}\n{"prompt": "c"}\n{"prompt": "d"}\n', encoding="utf-8")
    found = read_prompts([path])
    assert [prompt.category for prompt in found] == ["riddles"] * 4
    assert [prompt.id for prompt in found] == ["riddles-1", "riddles-3", "riddles-4", "riddles-5"]


GOOD = b'{"prompt": "a"}\n{"prompt": "b"}\n'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (GOOD + b"not json", "line 3 is not JSON"),
        (GOOD + b'["a list"]', "line 3 has no text under `prompt`"),
        (GOOD + b'{"text": "x"}', "line 3 has no text under `prompt`"),
        (GOOD + b'{"prompt": "  "}', "line 3 has no text under `prompt`"),
        (GOOD + b'{"prompt": 5}', "line 3 has no text under `prompt`"),
        (GOOD + b'{"prompt": "\xff"}', "is not UTF-8 text"),
        (GOOD, "at least 4 different prompts"),
        (b"", "at least 4 different prompts"),
    ],
)
def test_that_a_bad_prompt_file_is_named_in_a_sentence(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError, match=said):
        read_prompts([path])


def test_that_a_missing_prompt_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.jsonl cannot be read"):
        read_prompts([tmp_path / "nowhere.jsonl"])


@pytest.mark.parametrize("count", [4, 12, 40])
def test_that_predictors_have_an_eighth_of_the_training_prompts_to_themselves(tmp_path: Path, count: int) -> None:
    found = read_prompts([write(tmp_path / "a.jsonl", *(f"question {i}" for i in range(count)))])
    uses = [prompt.use for prompt in found if prompt.split is Split.TRAIN]
    assert uses.count(Use.RESERVED) == max(1, len(uses) // 8)
    assert set(uses) == {Use.TRAIN, Use.RESERVED}
    assert not any(prompt.reserved for prompt in found if prompt.split is not Split.TRAIN)


def test_that_an_eighth_of_what_the_model_writes_is_for_predictors_whatever_comes_before() -> None:
    prompts = [written_prompt(number, f"tell me of {number}") for number in range(400)]
    assert 30 < sum(prompt.use is Use.RESERVED for prompt in prompts) < 70
    assert written_prompt(3, prompts[9].text).reserved == prompts[9].reserved
