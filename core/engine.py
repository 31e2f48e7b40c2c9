"""The one decode loop, a generator of events.

It prints nothing and knows no Qt; the window, the command line, the tests and the trainer all consume what it yields.
What varies between policies comes in as a strategy object (`core.exits.policies`).
"""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.config import CANDIDATES, RunSettings
from core.context import Context
from core.drafting.chain import ChainDrafter
from core.drafting.head import Draft
from core.errors import UserError
from core.exits.parts import TrainedParts
from core.exits.policies import make_policy, offline_set
from core.exits.scheduling import Schedule
from core.model.loading import LoadedModel
from core.stopwatch import Clock, Stopwatch
from core.trace.events import (
    DraftProposed,
    EndReason,
    Event,
    ExitReason,
    KVUpdated,
    LayerRun,
    PrefillAdvanced,
    RunEnded,
    RunStarted,
    ScheduleChosen,
    TokenEmitted,
    Verified,
)
from core.version import version

PREFILL_CHUNK = 64
"""Prompt tokens run together; Stop acts between a chunk's layers."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to generate, and how."""

    prompt: str
    settings: RunSettings
    run: int = 0
    """Number that the run's events carry."""


class Engine:
    """A loaded model with its trained parts, ready to run prompts one at a time."""

    def __init__(self, model: LoadedModel, parts: TrainedParts | None = None) -> None:
        self.model, self.parts = model, parts

    @torch.inference_mode()
    def run(self, request: RunRequest, stop: threading.Event, clock: Clock = time.perf_counter) -> Iterator[Event]:
        """Generate, yielding every event as it happens, from `RunStarted` to `RunEnded`.

        Args:
            request: the prompt and its settings.
            stop: looked at between layers; once set, the run ends with `EndReason.STOPPED`.
            clock: times the stages; one that stands still during a pause keeps pauses out of `StageTimes`.

        Raises:
            UserError: before the first event, where the request cannot be run on this model.
        """
        yield from Decoding(self, request, stop, clock).events()

    def prompt_ids(self, prompt: str, chat_template: bool) -> list[int]:
        """The prompt's tokens.

        Raises:
            UserError: the prompt is empty or does not fit into the model's context.
        """
        if not prompt.strip():
            raise UserError("The prompt is empty; type something for the model to answer.")
        tokenizer = self.model.tokenizer
        templated = chat_template and tokenizer.has_chat_template
        ids = tokenizer.encode_chat(prompt) if templated else tokenizer.encode(prompt)
        context = self.model.config.context
        if len(ids) > context:
            raise UserError(
                f"The prompt has {len(ids)} tokens and this model's context holds {context}; shorten the prompt."
            )
        if not ids:
            raise UserError("The prompt holds no token that this model knows; type something else.")
        return ids


class Decoding:
    """One run of the loop, and the state that it leaves behind."""

    def __init__(self, engine: Engine, request: RunRequest, stop: threading.Event, clock: Clock) -> None:
        """Check the request; raises `UserError` as `Engine.run` says."""
        model, settings = engine.model, request.settings
        settings.check_against(model.config.depth)
        if settings.policy.needs_parts and engine.parts is None:
            raise UserError(
                f"{settings.policy.value} needs a drafter and predictors trained for {model.info.name}; "
                "make them with `specee-viewer train`, or choose the dense policy."
            )
        self._engine, self._request, self._stop = engine, request, stop
        self._decoder, self._tokenizer, self._run = model.decoder, model.tokenizer, request.run
        self._prompt_ids = engine.prompt_ids(request.prompt, settings.chat_template)
        self._policy = make_policy(settings, model.decoder, engine.parts)
        capacity = min(model.config.context, len(self._prompt_ids) + settings.max_new_tokens)
        self.context = Context(model.decoder, capacity, settings.kv_policy)
        self._drafter = ChainDrafter(engine.parts.drafter, capacity) if engine.parts and self._policy.drafts else None
        self._watch = Stopwatch(clock)
        self._feature = torch.empty(0)
        """norm(h) of the position that emitted the newest token, shape [d]."""
        self._newest = -1
        self._emitted = 0

    def events(self) -> Iterator[Event]:
        """The run, from `RunStarted` to `RunEnded`."""
        yield self._started()
        try:
            yield from self._prefill()
            while (ending := self._ending()) is None:
                yield from self._pass()
        except _Stopped:
            ending = (EndReason.STOPPED, f"Stopped after {self._emitted} tokens.")
        except _BadNumbers as error:
            ending = (EndReason.FAILED, str(error))
        yield RunEnded(self._run, *ending)

    def _started(self) -> RunStarted:
        model, settings = self._engine.model, self._request.settings
        return RunStarted(
            run=self._run,
            settings=settings,
            model=model.info,
            prompt=self._request.prompt,
            prompt_ids=np.array(self._prompt_ids, np.int64),
            offline=offline_set(settings, self._engine.parts),
            versions={"specee-viewer": version(), "torch": torch.__version__, "python": platform.python_version()},
        )

    def _ending(self) -> tuple[EndReason, str] | None:
        if self._newest in self._tokenizer.end_ids:
            return EndReason.END_OF_TEXT, "The model ended its text."
        if self._emitted >= self._request.settings.max_new_tokens:
            return EndReason.MAX_NEW_TOKENS, f"The limit of {self._emitted} new tokens was reached."
        if self.context.length >= self._engine.model.config.context:
            return EndReason.CONTEXT_FULL, f"The model's context of {self.context.length} tokens is full."
        return None

    def _prefill(self) -> Iterator[Event]:
        ids = torch.tensor(self._prompt_ids, device=self._decoder.device)
        total = len(ids)
        for first in range(0, total, PREFILL_CHUNK):
            chunk = ids[first : first + PREFILL_CHUNK]
            normed = self._prefill_chunk(chunk, first)
            self._feature = normed[-1]
            if self._drafter:
                following = ids[first + 1 : first + 1 + len(chunk)]
                self._drafter.feed(following, normed[: len(following)])
            yield PrefillAdvanced(self._run, first + len(chunk), total, self._watch.elapsed)
        argmax, _ = self._best(self._feature)
        yield self._emit(argmax, self._decoder.config.depth, ExitReason.PREFILL)

    def _prefill_chunk(self, chunk: Tensor, first: int) -> Tensor:
        with self._watch("layers"):
            self.context.length = first + len(chunk)
            rows = self._decoder.rows(range(first, self.context.length), self.context.length)
            x = self._decoder.embed(chunk)
            for layer in range(self._decoder.config.depth):
                self._check_stop()
                x = self.context.prefill_layer(layer, x, rows)
            return self._decoder.norm(x)

    def _pass(self) -> Iterator[Event]:
        """Feed the newest token and emit the next one."""
        draft = self._propose()
        if draft:
            yield self._draft_event(draft)
        schedule = self._policy.begin(draft)
        if schedule:
            yield self._schedule_event(schedule)
        last = self._decoder.config.depth - 1
        verdict: Verified | None = None
        self.context.begin(self._newest)
        for layer in range(last + 1):
            self._check_stop()
            with self._watch("layers"):
                hidden = self.context.run(layer)
            with self._watch("predictor"):
                look = self._policy.look(layer, hidden) if layer < last else None
            yield LayerRun(
                self._run,
                self._emitted,
                layer,
                look.features if look else None,
                look.score if look else float("nan"),
                bool(look and look.proposed),
            )
            if draft and look and look.proposed:
                verdict = self._verify(layer, hidden, draft)
                yield verdict
                if verdict.accepted:
                    break
        yield from self._finish(layer, hidden, verdict if verdict and verdict.accepted else None)

    def _finish(self, layer: int, hidden: Tensor, exit_: Verified | None) -> Iterator[Event]:
        self._feature = self._decoder.norm(hidden)
        if exit_:
            token_id, reason = exit_.argmax_id, ExitReason.VERIFIED
        else:
            with self._watch("verification"):
                token_id, _ = self._best(self._feature)
            reason = ExitReason.LAST_LAYER
        self.context.end(layer + 1)
        self._policy.record(self._emitted, layer)
        recomputed = np.array(self.context.recomputed, np.int64).reshape(-1, 3)
        yield KVUpdated(self._run, self._emitted, self.context.length - 1, layer + 1, recomputed)
        yield self._emit(token_id, layer + 1, reason)

    def _propose(self) -> Draft | None:
        if self._drafter is None:
            return None
        with self._watch("draft"):
            newest = torch.tensor([self._newest], device=self._decoder.device)
            return self._drafter.propose(newest, self._feature, CANDIDATES)

    def _verify(self, layer: int, hidden: Tensor, draft: Draft) -> Verified:
        with self._watch("verification"):
            argmax, margin = self._best(self._decoder.norm(hidden))
            at = (draft.ids == argmax).nonzero()
        rank = int(at[0, 0]) if len(at) else -1
        text = self._tokenizer.token_bytes(argmax)
        return Verified(self._run, self._emitted, layer, argmax, text, rank, margin)

    def _best(self, normed: Tensor) -> tuple[int, float]:
        """Argmax over the vocabulary for a normed hidden state [d], and its margin p₁ - p₂."""
        logits = self._decoder.logits(normed[None])[0].float()
        top = logits.topk(2)
        margin = (top.values - logits.logsumexp(-1)).exp()
        if not bool(margin.isfinite().all()):
            raise _BadNumbers(
                "The model's logits are not finite; try dtype float32, or another copy of the model's weights."
            )
        return int(top.indices[0]), float(margin[0] - margin[1])

    def _emit(self, token_id: int, exit_layer: int, reason: ExitReason) -> TokenEmitted:
        tokenizer, token = self._tokenizer, self._emitted
        self._newest = token_id
        self._emitted += 1
        return TokenEmitted(
            self._run,
            token,
            token_id,
            tokenizer.token_bytes(token_id),
            tokenizer.is_special(token_id),
            exit_layer,
            reason,
            self._watch.lap(),
        )

    def _draft_event(self, draft: Draft) -> DraftProposed:
        ids = draft.ids.cpu().numpy()
        texts = tuple(self._tokenizer.token_bytes(int(i)) for i in ids)
        return DraftProposed(self._run, self._emitted, ids, texts, draft.probabilities.cpu().numpy())

    def _schedule_event(self, schedule: Schedule) -> ScheduleChosen:
        return ScheduleChosen(
            self._run,
            self._emitted,
            schedule.active,
            schedule.offline,
            schedule.counters,
            schedule.ring_layers,
            schedule.ring_tokens,
        )

    def _check_stop(self) -> None:
        if self._stop.is_set():
            raise _Stopped


class _Stopped(Exception):
    """The stop event was set."""


class _BadNumbers(Exception):
    """Logits came out as NaN or infinite."""
