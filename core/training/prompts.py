"""The prompts to train on, and which of them judge the result.

Prompts are split three ways by text, never by token (`docs/rules.md`): a drafter or predictor that has seen one answer
of a prompt knows its other answers too well.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from core.config import is_text
from core.errors import UserError

HELD_OUT = 0.1
"""Share of each category that goes to tune, and again to test; at least one prompt each over all."""

FEWEST = 4

RESERVED = 8
"""One of so many training prompts is kept from the drafter."""

WRITTEN = "self"
"""Category of the prompts that the model wrote."""


class Split(StrEnum):
    """What a prompt may be used for."""

    TRAIN = "train"
    TUNE = "tune"
    """Thresholds, rankings and early stopping."""
    TEST = "test"
    """Nothing but the figures that are reported."""


class Use(StrEnum):
    """What learns from the answers to a prompt."""

    TRAIN = "train"
    """The drafter, and what sees no drafter's candidates."""
    RESERVED = "reserved"
    """Predictors: these training prompts are kept from the drafter, so that its candidates are no better here than on
    a user's."""
    TUNE = "tune"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Prompt:
    """One line of a prompt file, or what the model wrote in its place."""

    id: str
    category: str
    text: str
    split: Split
    reserved: bool = False
    """Whether a training prompt is kept from the drafter."""

    @property
    def use(self) -> Use:
        return Use.RESERVED if self.reserved else Use(self.split)


def read_prompts(files: Sequence[Path]) -> list[Prompt]:
    """The prompts of JSON Lines files, split; each line an object with `prompt` and perhaps `id` and `category`.

    A text that comes twice counts once. The category is the file's name where the line gives none.

    Raises:
        UserError: a file cannot be read, a line is no such object, or there are fewer than four prompts.
    """
    rows: dict[str, tuple[str, str]] = {}
    for path in files:
        for number, line in enumerate(_lines(path), 1):
            if line.strip():
                entry = _entry(path, number, line)
                rows.setdefault(entry["prompt"], (_text(entry, "id", f"{path.stem}-{number}"), _category(entry, path)))
    if len(rows) < FEWEST:
        raise UserError(
            f"Training needs at least {FEWEST} different prompts, to train, tune and test on; these files hold "
            f"{len(rows)}."
        )
    splits = split_texts({text: category for text, (_, category) in rows.items()})
    training = sorted((text for text, split in splits.items() if split is Split.TRAIN), key=_hash)
    reserved = set(training[: max(1, len(training) // RESERVED)])
    return [Prompt(id_, category, text, splits[text], text in reserved) for text, (id_, category) in rows.items()]


def written_prompt(number: int, text: str) -> Prompt:
    """A training prompt that the model wrote, the `number`-th of them."""
    return Prompt(f"{WRITTEN}-{number}", WRITTEN, text, Split.TRAIN, int(_hash(text), 16) % RESERVED == 0)


def split_texts(categories: dict[str, str]) -> dict[str, Split]:
    """Assign each text, given with its category, to a split; the order in which they come does not matter."""
    groups: dict[str, list[str]] = defaultdict(list)
    for text, category in categories.items():
        groups[category].append(text)
    splits: dict[str, Split] = {}
    for texts in groups.values():
        held = round(HELD_OUT * len(texts))
        splits |= _assign(sorted(texts, key=_hash), held)
    if Split.TEST not in splits.values():
        splits |= _assign(sorted(categories, key=_hash), 1)
    return splits


def digest(prompts: Sequence[Prompt]) -> str:
    """What tells one list of prompts from another, 64 hex digits; answers are stored by place in the list."""
    texts = [f"{prompt.split}\0{prompt.text}" for prompt in prompts]
    return hashlib.sha256("\0\0".join(texts).encode()).hexdigest()


def _assign(texts: Sequence[str], held: int) -> dict[str, Split]:
    names = [Split.TEST] * held + [Split.TUNE] * held + [Split.TRAIN] * (len(texts) - 2 * held)
    return dict(zip(texts, names, strict=True))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text; give a JSON Lines file.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); check the path.") from error


def _entry(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise UserError(f"{path}, line {number} is not JSON ({error}); each line must be one object.") from error
    text = entry.get("prompt") if isinstance(entry, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise UserError(f"{path}, line {number} has no text under `prompt`; each line must be an object with one.")
    if not is_text(text):
        raise UserError(f"{path}, line {number} has a prompt of broken characters; write it again.")
    return dict(entry)


def _category(entry: dict[str, Any], path: Path) -> str:
    return _text(entry, "category", path.stem)


def _text(entry: dict[str, Any], name: str, default: str) -> str:
    value = entry.get(name)
    return value if isinstance(value, str) and value else default
