"""Files of prompts: JSON Lines, or plain text with a prompt a line."""

from __future__ import annotations

import argparse
import json
import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.commands import options
from core.errors import UserError
from resources.paths import PROMPTS

if TYPE_CHECKING:
    from core.training.prompts import Split


@dataclass(frozen=True, slots=True)
class FilePrompt:
    """One prompt of a file."""

    text: str
    category: str
    """The file's name where the line gives none, as in training."""


def add_prompts(parser: argparse.ArgumentParser) -> None:
    """`--prompts`."""
    parser.add_argument(
        "--prompts",
        metavar="FILE",
        nargs="+",
        type=options.path,
        help="JSON Lines with a `prompt` and perhaps a `category` in each line, or plain text with a prompt a line "
        "(default: the prompts that come with the program)",
    )


def given(arguments: argparse.Namespace) -> list[Path]:
    """The files that the flag names, or the program's own.

    Raises:
        UserError: there are none.
    """
    files = arguments.prompts or sorted(PROMPTS.glob("*.jsonl"))
    if not files:
        raise UserError("This copy of the program came without prompts; name files with --prompts.")
    return list(files)


def learned_from(card: Mapping[str, Any]) -> Callable[[str], bool]:
    """Whether trained parts with this card were made from a prompt's text."""
    from core.training.texts import text_hash

    data = card.get("data")
    listed = data.get("learned_from") if isinstance(data, dict) else None
    known = frozenset(listed) if isinstance(listed, list) else frozenset()
    return lambda text: text_hash(text) in known


def read_prompts(paths: Sequence[Path]) -> list[FilePrompt]:
    """The prompts of some files; a text that comes twice counts once.

    Raises:
        UserError: a file cannot be read or holds no prompt.
    """
    prompts: dict[str, FilePrompt] = {}
    for path in paths:
        for prompt in _read(path):
            prompts.setdefault(prompt.text, prompt)
    return list(prompts.values())


def _read(path: Path) -> list[FilePrompt]:
    is_json = path.suffix in {".jsonl", ".json"}
    try:
        # Not `splitlines`: a JSON string may hold other line ends than the line feed.
        lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
        found = [_of_json(line, path) if is_json else FilePrompt(line.rstrip("\r"), path.stem) for line in lines]
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({os.strerror(error.errno or 0)}); choose a file of prompts."
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text; choose a file of prompts.") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"{path} is not JSON Lines with a `prompt` in each line.") from error
    if not found or not all(isinstance(prompt.text, str) and prompt.text.strip() for prompt in found):
        raise UserError(f"{path} holds no prompt or an empty one; write one prompt a line.")
    return found


def _of_json(line: str, path: Path) -> FilePrompt:
    entry: dict[str, Any] = json.loads(line)
    category = entry.get("category") if isinstance(entry, dict) else None
    return FilePrompt(entry["prompt"], category if isinstance(category, str) and category else path.stem)


def of_split(prompts: Sequence[FilePrompt], split: Split | None) -> list[FilePrompt]:
    """The prompts that training puts into this split when it is given the same files; None is all of them.

    Prompts too few to train on are all test prompts.

    Raises:
        UserError: there are none.
    """
    if split is None:
        return list(prompts)
    from core.training.prompts import FEWEST, Split, split_texts

    categories = {prompt.text: prompt.category for prompt in prompts}
    splits = split_texts(categories) if len(prompts) >= FEWEST else dict.fromkeys(categories, Split.TEST)
    chosen = [prompt for prompt in prompts if splits[prompt.text] is split]
    if not chosen:
        raise UserError(
            f"Of {len(prompts)} prompts none falls into the {split.value} split; take --split all, or give more "
            "prompts."
        )
    return chosen


def in_turns(prompts: Sequence[FilePrompt]) -> list[FilePrompt]:
    """The prompts with their categories taking turns, so that the first few are of every kind."""
    groups: dict[str, list[FilePrompt]] = defaultdict(list)
    for prompt in prompts:
        groups[prompt.category].append(prompt)
    return [prompt for prompt in chain.from_iterable(zip_longest(*groups.values())) if prompt is not None]
