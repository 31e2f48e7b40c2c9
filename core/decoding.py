"""The one decode loop.

What varies between policies comes in as a strategy object (`core.exits.policies`); what happens goes out as events.
"""

from __future__ import annotations

import platform
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.config import CANDIDATES, Record, RunSettings, is_text
from core.context import Context
from core.drafting.chain import ChainDrafter
from core.drafting.head import Draft
from core.errors import UserError
from core.exits.audit import audit
from core.exits.parts import TrainedParts
from core.exits.policies import PassView, PolicyFailed, check_parts, make_policy, offline_set
from core.exits.scheduling import Schedule
from core.model.loading import LoadedModel
from core.sampling import BadNumbers, Choice, Chooser
from core.stopwatch import Clock, Stopwatch
from core.trace.events import (
    Audited,
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

NAN = float("nan")
PREFILL_CHUNK = 64
"""Prompt tokens run together; Stop acts between a chunk's layers."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to generate, and how."""

    prompt: str
    settings: RunSettings
    run: int = 0
    """Number that the run's events carry."""


class Decoding:
    """One run of the loop, and the state that it leaves behind."""

    def __init__(
        self, model: LoadedModel, parts: TrainedParts | None, request: RunRequest, stop: threading.Event, clock: Clock
    ) -> None:
        """Check the request; raises `UserError` as `Engine.run` says."""
        settings = request.settings
        settings.check_against(model.config.depth)
        check_parts(settings.policy, parts, model.info.name)
        self._model, self._parts, self._request, self._stop = model, parts, request, stop
        self._decoder, self._tokenizer, self._run = model.decoder, model.tokenizer, request.run
        self._prompt_ids = encode_prompt(model, request.prompt, settings.chat_template)
        self._policy = make_policy(settings, model.config.depth, parts)
        capacity = min(model.config.context, len(self._prompt_ids) + settings.max_new_tokens)
        self.context = Context(model.decoder, capacity, settings.kv_policy)
        self._drafter = ChainDrafter(parts.drafter, capacity) if parts and self._policy.drafts else None
        self._chooser = Chooser(settings.sampling)
        self._watch = Stopwatch(clock)
        self._feature = torch.empty(0)
        """norm(h) of the position that emitted the newest token, shape [d]."""
        self._newest = -1
        self._emitted = 0
        self._text = b""

    def events(self) -> Iterator[Event]:
        """The run, from `RunStarted` to `RunEnded`; what the consumer takes is counted as recording."""
        for event in self._events():
            with self._watch("recording"):
                yield event

    def _events(self) -> Iterator[Event]:
        yield self._started()
        try:
            yield from self._prefill()
            while (ending := self._ending()) is None:
                yield from self._pass()
        except _Stopped:
            ending = (EndReason.STOPPED, f"Stopped after {_tokens(self._emitted)}.")
        except PolicyFailed as error:
            ending = (EndReason.FAILED, str(error))
        except BadNumbers:
            ending = (
                EndReason.FAILED,
                "The model's logits are not finite; try dtype float32, or another copy of the model's weights.",
            )
        yield RunEnded(self._run, *ending)

    def _started(self) -> RunStarted:
        model, settings = self._model, self._request.settings
        return RunStarted(
            run=self._run,
            settings=settings,
            model=model.info,
            prompt=self._request.prompt,
            prompt_ids=np.array(self._prompt_ids, np.int64),
            offline=offline_set(settings, self._parts),
            versions={"specee-viewer": version(), "torch": torch.__version__, "python": platform.python_version()},
        )

    def _ending(self) -> tuple[EndReason, str] | None:
        if self._newest in self._tokenizer.end_ids:
            return EndReason.END_OF_TEXT, "The model ended its text."
        for stop in self._request.settings.stop:
            if stop.encode() in self._text:
                return EndReason.STOP_STRING, f"The text holds the stop string {stop!r}."
        if self._emitted >= self._request.settings.max_new_tokens:
            return EndReason.MAX_NEW_TOKENS, f"The limit of {_tokens(self._emitted, 'new ')} was reached."
        if self.context.length >= self._model.config.context:
            return EndReason.CONTEXT_FULL, f"The model's context of {self.context.length} tokens is full."
        return None

    def _prefill(self) -> Iterator[Event]:
        ids = torch.tensor(self._prompt_ids, device=self._decoder.device)
        total = len(ids)
        for first in range(0, total, PREFILL_CHUNK):
            chunk = ids[first : first + PREFILL_CHUNK]
            normed = yield from self._prefill_chunk(chunk, first, total)
            self._feature = normed[-1]
            if self._drafter:
                with self._watch("draft"):
                    following = ids[first + 1 : first + 1 + len(chunk)]
                    self._drafter.feed(following, normed[: len(following)])
        with self._watch("verification"):
            choice = self._choose(self._feature)
        yield self._emit(choice.token_id, self._decoder.config.depth, ExitReason.PREFILL)

    def _prefill_chunk(self, chunk: Tensor, first: int, total: int) -> Generator[Event, None, Tensor]:
        """Run a chunk through all layers, telling how far it is after each; its normed states [n, d]."""
        depth = self._decoder.config.depth
        self.context.length = first + len(chunk)
        rows = self._decoder.rows(range(first, self.context.length), self.context.length)
        x = self._decoder.embed(chunk)
        for layer in range(depth):
            self._check_stop()
            with self._watch("layers"):
                x = self.context.prefill_layer(layer, x, rows)
            done = first + len(chunk) * (layer + 1) // depth
            yield PrefillAdvanced(self._run, done, total, self._watch.elapsed)
        return self._decoder.norm(x)

    def _pass(self) -> Iterator[Event]:
        """Feed the newest token and emit the next one."""
        draft = self._propose()
        if draft:
            yield self._draft_event(draft)
        self.context.begin(self._newest)
        leaving: _Leaving | None = None
        hidden: list[Tensor] = []
        view = PassView(self._decoder, self._choose, lambda: self._finish(hidden))
        with self._watch("predictor"):
            schedule = self._policy.begin(view, draft)
        if schedule:
            yield self._schedule_event(schedule)
        for layer in range(self._decoder.config.depth):
            hidden.append(self._run_layer(layer))
            event, choice = self._look(layer, hidden[-1])
            yield event
            if event.proposed and choice is None and draft:
                verdict = self._verify(layer, hidden[-1], draft)
                yield verdict
                leaving = _Leaving(verdict.argmax_id, ExitReason.VERIFIED) if verdict.accepted else None
            elif event.proposed and choice:
                leaving = _Leaving(choice.token_id, ExitReason.RULE)
            if leaving:
                break
        self._feature = self._decoder.norm(hidden[-1])
        if leaving is None:
            with self._watch("verification"):
                leaving = _Leaving(self._choose(self._feature).token_id, ExitReason.LAST_LAYER)
        if self._request.settings.record is Record.AUDIT:
            with self._watch("recording"):
                audited = self._audit(hidden, draft, schedule)
            yield audited
        yield self._end_pass(len(hidden))
        yield self._emit(leaving.token_id, len(hidden), leaving.reason)

    def _run_layer(self, layer: int) -> Tensor:
        self._check_stop()
        with self._watch.shared("layers", "recompute", lambda: self.context.share_of_waiting):
            return self.context.run(layer)

    def _finish(self, hidden: list[Tensor]) -> list[Tensor]:
        """The fed token's states [d] after all L layers, those beyond `hidden` run on the side."""
        states = list(hidden)
        for state in self.context.finish(len(hidden)):
            self._check_stop()
            states.append(state)
        return states

    def _look(self, layer: int, hidden: Tensor) -> tuple[LayerRun, Choice | None]:
        if layer == self._decoder.config.depth - 1:
            return LayerRun(self._run, self._emitted, layer, None, NAN, False), None
        with self._watch("predictor"):
            look = self._policy.look(layer, hidden)
        if look is None:
            return LayerRun(self._run, self._emitted, layer, None, NAN, False), None
        return LayerRun(self._run, self._emitted, layer, look.features, look.score, look.proposed), look.choice

    def _end_pass(self, layers_run: int) -> KVUpdated:
        with self._watch("recompute"):
            self.context.end(layers_run)
        self._policy.record(self._emitted, layers_run - 1)
        recomputed = np.array(self.context.recomputed, np.int64)
        return KVUpdated(self._run, self._emitted, self.context.length - 1, layers_run, recomputed)

    def _propose(self) -> Draft | None:
        if self._drafter is None:
            return None
        with self._watch("draft"):
            newest = torch.tensor([self._newest], device=self._decoder.device)
            return self._drafter.propose(newest, self._feature, CANDIDATES)

    def _verify(self, layer: int, hidden: Tensor, draft: Draft) -> Verified:
        with self._watch("verification"):
            choice = self._choose(self._decoder.norm(hidden))
            at = (draft.ids == choice.token_id).nonzero()
        rank = int(at[0, 0]) if len(at) else -1
        text = self._tokenizer.token_bytes(choice.token_id)
        return Verified(self._run, self._emitted, layer, choice.token_id, text, rank, choice.margin)

    def _audit(self, hidden: list[Tensor], draft: Draft | None, schedule: Schedule | None) -> Audited:
        parts = self._parts
        found = audit(
            self._decoder,
            self._finish(hidden),
            lambda logits: self._chooser.choose_rows(logits, self.context.length),
            draft,
            schedule.active if schedule else None,
            parts.predictors if parts else None,
        )
        texts = tuple(self._tokenizer.token_bytes(int(token_id)) for token_id in found.token_ids)
        return Audited(
            self._run,
            self._emitted,
            found.token_ids,
            texts,
            found.margins,
            found.candidate_logits,
            found.candidate_probabilities,
            found.scores,
        )

    def _choose(self, normed: Tensor) -> Choice:
        """The token that a normed hidden state [d] gives."""
        return self._chooser.choose(self._decoder.logits(normed[None])[0], self.context.length)

    def _emit(self, token_id: int, exit_layer: int, reason: ExitReason) -> TokenEmitted:
        token, text, special = (
            self._emitted,
            self._tokenizer.token_bytes(token_id),
            self._tokenizer.is_special(token_id),
        )
        self._newest = token_id
        self._emitted += 1
        self._text += b"" if special else text
        return TokenEmitted(
            self._run,
            token,
            token_id,
            text,
            special,
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


def encode_prompt(model: LoadedModel, prompt: str, chat_template: bool) -> list[int]:
    """The prompt's tokens.

    Raises:
        UserError: the prompt is empty, is no text, or does not fit into the model's context.
    """
    if not prompt.strip():
        raise UserError("The prompt is empty; type something for the model to answer.")
    if not is_text(prompt):
        raise UserError("The prompt holds broken characters, which are no text; type or copy it again.")
    tokenizer = model.tokenizer
    templated = chat_template and tokenizer.has_chat_template
    ids = tokenizer.encode_chat(prompt) if templated else tokenizer.encode(prompt)
    context = model.config.context
    if len(ids) > context:
        raise UserError(
            f"The prompt has {len(ids)} tokens and this model's context holds {context}; shorten the prompt."
        )
    if not ids:
        raise UserError("The prompt holds no token that this model knows; type something else.")
    return ids


@dataclass(frozen=True, slots=True)
class _Leaving:
    """How a pass ends."""

    token_id: int
    reason: ExitReason


class _Stopped(BaseException):
    """The stop event was set; no Exception, so that a policy of the user's own that catches all lets it pass."""


def _tokens(count: int, kind: str = "") -> str:
    return f"{count} {kind}token{'' if count == 1 else 's'}"
