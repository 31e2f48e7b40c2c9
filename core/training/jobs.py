"""Which answers are still to be written, in which order, and of which tokens all layers are kept.

Held-out prompts come first, so that what judges the result is whole however short the time. Long prompts have a batch
of their own: rows beside one another wait for the longest. After the files' prompts the time goes to prompts that the
model writes itself, with sampled answers to the files' short ones in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from core.model.loading import LoadedModel
from core.training.answers import Job
from core.training.data import Answers, Key
from core.training.prompts import WRITTEN, Use
from core.training.self_prompts import SelfPrompts
from core.training.workspace import Timer

LIMIT = 256
"""Most tokens of an answer."""
LONGEST = 1024
"""Most tokens of a prompt; longer ones are left out."""
SHORT = 256
"""Prompts up to here are answered side by side with many others, and sampled answers written to them."""
ROUNDS = 8
TEMPERATURE, WRITING_TEMPERATURE = 0.8, 1.0
SAMPLED = 4
"""One of so many jobs after the files' prompts is a sampled answer."""

KEPT_RESERVED, KEPT_TRAIN = 20_000, 24_000
"""About how many tokens of greedy answers have all their layers kept; of held-out prompts all have."""
TRAIN_STRIDE = 4
"""Of a training prompt's answer, every so many tokens are kept."""
EXPECTED = 160
"""Tokens that an answer is taken to have before it is there."""


class Kept:
    """How many tokens have their layers kept, as planned."""

    def __init__(self, stored: Answers, timer: Timer) -> None:
        self._timer = timer
        self._planned = {use: sum(stored.length(key, "kept") for key in stored.of(use)) for use in Use}

    def stride(self, use: Use) -> int:
        """For the next greedy answer to a prompt of this use; those of training prompts are spread over the time."""
        if use in (Use.TUNE, Use.TEST):
            return 1
        stride = 1 if use is Use.RESERVED else TRAIN_STRIDE
        wanted = KEPT_RESERVED if use is Use.RESERVED else max(KEPT_TRAIN * self._timer.share, EXPECTED)
        if self._planned[use] >= wanted:
            return 0
        self._planned[use] += EXPECTED // stride
        return stride


class Jobs:
    """What is still to be done."""

    def __init__(self, model: LoadedModel, stored: Answers, own: SelfPrompts, timer: Timer, seed: int) -> None:
        self._own, self._seed = own, seed
        self._kept = Kept(stored, timer)
        self._done = set(stored.keys)
        self._ids = [encode(model, prompt.text) for prompt in stored.prompts if prompt.category != WRITTEN]
        most = min(LONGEST, model.config.context // 2)
        fitting = [i for i, ids in enumerate(self._ids) if len(ids) <= most]
        order = sorted(fitting, key=lambda i: (self._use(i) not in (Use.TUNE, Use.TEST), len(self._ids[i])))
        self.short = [i for i in order if len(self._ids[i]) <= SHORT]
        self.long = [i for i in order if len(self._ids[i]) > SHORT]
        self._context = model.config.context

    def longest(self, indices: Sequence[int]) -> int:
        """Most tokens of these prompts, and of those that the model may write."""
        written = len(self._own.before) + self._own.longest + len(self._own.after)
        return max([written, *(len(self._ids[i]) for i in indices)])

    def limit(self, indices: Sequence[int]) -> int:
        """Most tokens of the answers to these prompts."""
        return min(LIMIT, self._context - self.longest(indices))

    def held_out(self, indices: Sequence[int]) -> set[int]:
        """Those of these prompts that judge the result and have no answer yet."""
        return {i for i in indices if self._use(i) in (Use.TUNE, Use.TEST) and Key(i, 0) not in self._done}

    def greedy(self, indices: Sequence[int]) -> Iterator[Job]:
        """The greedy answers to these of the files' prompts."""
        for i in indices:
            if Key(i, 0) not in self._done:
                yield Job(i, 0, tuple(self._ids[i]), 0.0, self._kept.stride(self._use(i)))

    def further(self) -> Iterator[Job]:
        """Prompts to write and answer, and sampled answers, until nothing of either is left."""
        sampled, count = self._sampled(), 0
        while True:
            count += 1
            writes = self._own.are_worth_it and count % SAMPLED != 0
            job = None if writes else next(sampled, None)
            if job is not None:
                yield job
            elif self._own.are_worth_it:
                yield Job(-1, 0, self._own.try_one(), WRITING_TEMPERATURE, writes=True)
            else:
                return

    def admit(self, written: Sequence[int]) -> Job | None:
        """The job of answering what the model wrote, where it is of use."""
        prompt = self._own.admit(written)
        if prompt is None:
            return None
        ids = (*self._own.before, *written, *self._own.after)
        return Job(len(self._own.prompts) - 1, 0, ids, 0.0, self._kept.stride(prompt.use))

    def _sampled(self) -> Iterator[Job]:
        """Two answers to a prompt at a time, since it is read once for both."""
        trained = [i for i in self.short if self._use(i) is Use.TRAIN]
        for first in range(1, ROUNDS, 2):
            for i in np.random.default_rng([self._seed, first]).permutation(trained).tolist():
                for sample in (first, first + 1):
                    if Key(i, sample) not in self._done:
                        yield Job(i, sample, tuple(self._ids[i]), TEMPERATURE)

    def _use(self, index: int) -> Use:
        return self._own.prompts[index].use


def encode(model: LoadedModel, text: str) -> list[int]:
    """A prompt's tokens, in the chat template where the model has one."""
    tokenizer = model.tokenizer
    return tokenizer.encode_chat(text) if tokenizer.has_chat_template else tokenizer.encode(text)
