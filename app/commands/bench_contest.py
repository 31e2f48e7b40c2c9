"""Contenders that take turns on the same prompts, and what each turn measured."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from transformers import AutoModelForCausalLM, GenerationConfig
from transformers.utils.logging import disable_progress_bar

from app.commands.opening import Opened
from core.config import RunSettings
from core.decoding import encode_prompt
from core.engine import Engine, RunRequest
from core.progress import Progress, Report, check
from core.trace.events import TokenEmitted
from core.trace.trace import Trace

GENERATE = "generate"


@dataclass(frozen=True, slots=True)
class Turn:
    """One contender on one prompt."""

    token_ids: tuple[int, ...]
    exit_layers: tuple[int, ...]
    """Layers run for each token, 1…L."""
    tokens_per_second: float | None
    """Tokens after the first over the time after the first (`specee.md` §0); None where there is only one."""


Turns = Mapping[str, Sequence[Turn]]
"""By contender's name; each in the order of repeats, then prompts."""


@dataclass(slots=True)
class Stopwatch:
    """Time-stamps tokens; one and the same for us and for every peer."""

    stamps: list[float] = field(default_factory=list)

    def tick(self) -> None:
        """A token has come."""
        self.stamps.append(time.perf_counter())

    @property
    def tokens_per_second(self) -> float | None:
        """As in `Turn`."""
        after_first = len(self.stamps) - 1
        seconds = self.stamps[-1] - self.stamps[0] if self.stamps else 0.0
        return after_first / seconds if after_first > 0 and seconds > 0 else None


class Contender(Protocol):
    """Something that answers prompts."""

    name: str

    def take_turn(self, prompt: str) -> Turn: ...


class EngineContender:
    """Our engine under one policy, its events gathered as the window gathers them."""

    def __init__(self, opened: Opened, settings: RunSettings) -> None:
        self.name = settings.policy.value
        self._engine = Engine(opened.model, opened.parts)
        self._settings = settings

    def take_turn(self, prompt: str) -> Turn:
        watch, trace = Stopwatch(), Trace()
        for event in self._engine.run(RunRequest(prompt, self._settings), threading.Event()):
            if isinstance(event, TokenEmitted):
                watch.tick()
            trace.append(event)
        ids = tuple(record.emitted.token_id for record in trace.emitted if record.emitted)
        return Turn(ids, tuple(trace.exit_layers.tolist()), watch.tokens_per_second)


class GenerateContender:
    """transformers' `generate`, greedy and plain, on the same weights."""

    name = GENERATE

    def __init__(self, opened: Opened, max_new_tokens: int) -> None:
        info = opened.model.info
        disable_progress_bar()
        self._ours = opened.model
        self._depth = info.depth
        model = AutoModelForCausalLM.from_pretrained(
            opened.folder, dtype=getattr(torch, info.dtype), local_files_only=True
        )
        self._model = model.to(info.device).eval()
        ends = sorted(opened.model.tokenizer.end_ids)
        self._model.generation_config = GenerationConfig(
            do_sample=False, max_new_tokens=max_new_tokens, eos_token_id=ends, pad_token_id=ends[0] if ends else 0
        )

    @torch.inference_mode()
    def take_turn(self, prompt: str) -> Turn:
        ids = torch.tensor([encode_prompt(self._ours, prompt, chat_template=True)], device=self._model.device)
        streamer = _StampingStreamer()
        output = self._model.generate(ids, attention_mask=torch.ones_like(ids), streamer=streamer)
        made = tuple(output[0, ids.shape[1] :].tolist())
        return Turn(made, (self._depth,) * len(made), streamer.watch.tokens_per_second)


class _StampingStreamer:
    """What `generate` hands the prompt to first, and then each token as it comes."""

    def __init__(self) -> None:
        self.watch = Stopwatch()
        self._prompt_seen = False

    def put(self, _value: Any) -> None:
        if self._prompt_seen:
            self.watch.tick()
        self._prompt_seen = True

    def end(self) -> None:
        """Nothing is buffered."""


def contest(
    contenders: Sequence[Contender],
    prompts: Sequence[str],
    repeats: int,
    report: Report,
    cancel: threading.Event | None,
) -> Turns:
    """Let all take turns prompt by prompt, each repeat starting with another one, so that a machine that slows down
    slows everybody. One turn each beforehand is thrown away: the first one touches cold memory.

    Raises:
        Cancelled: between two turns, once `cancel` is set.
    """
    turns: dict[str, list[Turn]] = {contender.name: [] for contender in contenders}
    for contender in contenders:
        report(Progress(f"Warming up {contender.name}"))
        check(cancel)
        contender.take_turn(prompts[0])
    for repeat in range(repeats):
        order = [*contenders[repeat % len(contenders) :], *contenders[: repeat % len(contenders)]]
        for number, prompt in enumerate(prompts):
            report(Progress("Measuring", repeat * len(prompts) + number, repeats * len(prompts), "rounds"))
            for contender in order:
                check(cancel)
                turns[contender.name].append(contender.take_turn(prompt))
    return turns


@dataclass(frozen=True, slots=True)
class SameTokens:
    """Whether two contenders emitted the same tokens."""

    same: bool
    answers: int
    tokens: int
    """How many were compared."""
    first_difference: int | None
    """0-based token at which the first answer that differs does so; None where none does."""


def compare_tokens(one: Sequence[Turn], other: Sequence[Turn]) -> SameTokens:
    """Compare turn by turn."""
    pairs = [(a.token_ids, b.token_ids) for a, b in zip(one, other, strict=True)]
    differing = next((pair for pair in pairs if pair[0] != pair[1]), None)
    return SameTokens(
        same=differing is None,
        answers=len(pairs),
        tokens=sum(len(a) for a, _ in pairs),
        first_difference=_first_difference(*differing) if differing else None,
    )


def _first_difference(one: Sequence[int], other: Sequence[int]) -> int:
    shorter = min(len(one), len(other))
    return next((i for i in range(shorter) if one[i] != other[i]), shorter)
