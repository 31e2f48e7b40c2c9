"""The product's own prompts must be enough to train on, and read by the recipe as they are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from core.training.prompts import Split, read_prompts

FILE = Path(__file__).parents[2] / "resources" / "prompts" / "prompts.jsonl"


def test_that_the_own_prompts_are_many_varied_and_in_all_splits() -> None:
    prompts = read_prompts([FILE])
    categories = Counter(prompt.category for prompt in prompts)
    assert len(prompts) >= 200
    assert {"chat", "qa", "maths", "code", "summary", "language"} <= categories.keys()
    assert min(categories.values()) >= 15
    assert {prompt.split for prompt in prompts} == set(Split)


def test_that_some_own_prompts_are_not_in_latin_letters() -> None:
    texts = [prompt.text for prompt in read_prompts([FILE]) if prompt.category == "language"]
    assert sum(not text.isascii() and ord(max(text)) > 0x400 for text in texts) >= 8
