"""Prompts that the model writes itself: given a chat as far as the user's text, an instruct model goes on with one.

They cost no file, are as varied as what the model was taught on, and lie where its answers do.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.model.loading import LoadedModel
from core.training.options import Stage
from core.training.prompts import Prompt, written_prompt
from core.training.workspace import Workspace

FILE = "self-prompts.jsonl"
LONGEST = 128
"""Most tokens of one."""
SHORTEST = 8
"""A context that leaves room for fewer is too short to write any."""
TRIALS, WORTH = 64, 8
"""After so many attempts one of so many must have been of use, or no more are made."""
MARKS = ("Apple trees in rows", "7 + 4 = ?")
"""Two texts that have neither beginning nor end in common."""


class SelfPrompts:
    """The prompts of the files with those that the model wrote, which come after them and are counted on."""

    def __init__(self, model: LoadedModel, prompts: Sequence[Prompt], work: Workspace) -> None:
        """Raises `UserError` where those of an earlier run are damaged."""
        self._model, self._from_files = model, len(prompts)
        self.prompts = list(prompts) + load_prompts(work)
        self._known = {prompt.text.strip() for prompt in self.prompts}
        self.before, self.after = chat_frame(model)
        self._tried = self._admitted = 0

    @property
    def longest(self) -> int:
        """Most tokens of one, 0 where the model cannot write any."""
        room = self._model.config.context // 2 - len(self.before) - len(self.after)
        ends_turn = bool(self.before and self.after) and self.after[0] in self._model.tokenizer.end_ids
        return min(LONGEST, room) if ends_turn and room >= SHORTEST else 0

    @property
    def are_worth_it(self) -> bool:
        """Whether enough of what the model writes is of use."""
        return self.longest > 0 and (self._tried < TRIALS or self._admitted * WORTH >= self._tried)

    def try_one(self) -> tuple[int, ...]:
        """The tokens to go on from."""
        self._tried += 1
        return self.before

    def admit(self, written: Sequence[int]) -> Prompt | None:
        """The newest of `prompts`, of these tokens; None where they are empty, no text, or known."""
        tokenizer = self._model.tokenizer
        text = b"".join(tokenizer.token_bytes(token) for token in written).decode("utf-8", "replace").strip()
        if not text or text in self._known or any(tokenizer.is_special(token) for token in written):
            return None
        self._admitted += 1
        self._known.add(text)
        self.prompts.append(written_prompt(len(self.prompts) - self._from_files, text))
        return self.prompts[-1]

    def save(self, work: Workspace) -> None:
        """Write them down; to be done before answers to them are."""
        work.save_lines(Stage.DATA, FILE, [{"prompt": prompt.text} for prompt in self.prompts[self._from_files :]])


def load_prompts(work: Workspace) -> list[Prompt]:
    """Those that earlier runs wrote.

    Raises:
        UserError: the file is damaged.
    """
    rows = work.load_lines(Stage.DATA, FILE)
    return [written_prompt(number, str(row.get("prompt", ""))) for number, row in enumerate(rows)]


def chat_frame(model: LoadedModel) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The tokens of a chat before and after the user's text; both empty for a model without a template.

    They are what two chats that share nothing else have in common.
    """
    if not model.tokenizer.has_chat_template:
        return (), ()
    one, other = (tuple(model.tokenizer.encode_chat(mark)) for mark in MARKS)
    before = _shared(one, other)
    after = _shared(one[len(before) :][::-1], other[len(before) :][::-1])[::-1]
    return before, after


def _shared(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """The longest common beginning."""
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return one[:length]
