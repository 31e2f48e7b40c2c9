"""The one decode loop: prefill, then pass after pass until the run ends.

A pass (`core.run_state.Pass`) feeds the newest token and emits what follows; what happens goes out as events.
"""

from __future__ import annotations

import platform
import threading
from collections.abc import Generator, Iterator

import numpy as np
import torch
from torch import Tensor

from core.config import is_text
from core.context import Context
from core.drafting.growth import growth_of
from core.errors import UserError
from core.exits.parts import TrainedParts
from core.exits.policies import PolicyFailed, offline_set
from core.exits.requirements import check_owner, check_parts
from core.given import feed_given, given_tokens
from core.model.loading import LoadedModel
from core.run_state import Pass, RunRequest, RunState, Stopped
from core.sampling import BadNumbers
from core.single_pass import make_single_pass
from core.stopwatch import Clock
from core.trace.events import EndReason, Event, ExitReason, PrefillAdvanced, RunEnded, RunStarted
from core.tree_pass import make_tree_pass
from core.version import version

__all__ = ["Decoding", "RunRequest", "encode_prompt"]

PREFILL_CHUNK = 64
"""Prompt tokens run together; Stop acts between a chunk's layers."""


class Decoding:
    """One run of the loop, and the state that it leaves behind."""

    def __init__(
        self, model: LoadedModel, parts: TrainedParts | None, request: RunRequest, stop: threading.Event, clock: Clock
    ) -> None:
        """Check the request; raises `UserError` as `Engine.run` says."""
        settings = request.settings
        settings.check_against(model.config.depth)
        check_owner(parts, model.info)
        check_parts(settings, parts, model.info.name)
        fork = request.fork
        self._given = given_tokens(model, fork, settings.max_new_tokens) if fork else ()
        self._prompt_ids = (
            fork.prompt_ids.tolist() if fork else encode_prompt(model, request.prompt, settings.chat_template)
        )
        growth = growth_of(settings.tree, model.config) if settings.tree.on else None
        capacity = min(model.config.context, len(self._prompt_ids) + settings.max_new_tokens)
        self.context = Context(model.decoder, capacity, settings.kv_policy, growth.slots if growth else 0)
        self._state = RunState(model, parts, request, self.context, stop, clock)
        self._state.ids += self._prompt_ids
        self._pass: Pass = make_tree_pass(self._state, growth) if growth else make_single_pass(self._state)

    def events(self) -> Iterator[Event]:
        """The run, from `RunStarted` to `RunEnded`; what the consumer takes is counted as recording."""
        for event in self._events():
            with self._state.watch("recording"):
                yield event

    def _events(self) -> Iterator[Event]:
        yield self._started()
        try:
            yield from self._prefill()
            yield from feed_given(self._state, self._pass, self._given[1:])
            while (ending := self._ending()) is None:
                yield from self._pass.events()
        except Stopped:
            ending = (EndReason.STOPPED, f"Stopped after {_tokens(self._state.emitted)}.")
        except PolicyFailed as error:
            ending = (EndReason.FAILED, str(error))
        except BadNumbers:
            ending = (
                EndReason.FAILED,
                "The model's logits are not finite; try dtype float32, or another copy of the model's weights.",
            )
        yield RunEnded(self._state.run, *ending)

    def _started(self) -> RunStarted:
        state = self._state
        return RunStarted(
            run=state.run,
            settings=state.settings,
            model=state.model.info,
            prompt=state.request.prompt,
            prompt_ids=np.array(self._prompt_ids, np.int64),
            offline=offline_set(state.settings, state.parts),
            versions={"specee-viewer": version(), "torch": torch.__version__, "python": platform.python_version()},
            branch=state.request.fork.branch(len(self._given)) if state.request.fork else None,
        )

    def _ending(self) -> tuple[EndReason, str] | None:
        state = self._state
        if state.newest in state.tokenizer.end_ids:
            return EndReason.END_OF_TEXT, "The model ended its text."
        if (stop := state.stop_in(state.text)) is not None:
            return EndReason.STOP_STRING, f"The text holds the stop string {stop!r}."
        if state.emitted >= state.settings.max_new_tokens:
            return EndReason.MAX_NEW_TOKENS, f"The limit of {_tokens(state.emitted, 'new ')} was reached."
        if self.context.length >= state.model.config.context:
            return EndReason.CONTEXT_FULL, f"The model's context of {self.context.length} tokens is full."
        return None

    def _prefill(self) -> Iterator[Event]:
        state = self._state
        ids = torch.tensor(self._prompt_ids, device=state.decoder.device)
        total = len(ids)
        for first in range(0, total, PREFILL_CHUNK):
            chunk = ids[first : first + PREFILL_CHUNK]
            states = yield from self._prefill_chunk(chunk, first, total)
            state.feature = states[-1]
            following = ids[first + 1 : first + 1 + len(chunk)]
            self._pass.feed(following, states[: len(following)])
        if self._given:
            yield state.emit(self._given[0][0], state.decoder.config.depth, ExitReason.GIVEN)
            return
        with state.watch("verification"):
            choice = state.choose(state.feature[-state.decoder.config.hidden :])
        yield state.emit(choice.token_id, state.decoder.config.depth, ExitReason.PREFILL)

    def _prefill_chunk(self, chunk: Tensor, first: int, total: int) -> Generator[Event, None, Tensor]:
        """Run a chunk through all layers, telling how far it is after each; as `RunState.seen`."""
        state, depth = self._state, self._state.decoder.config.depth
        self.context.length = first + len(chunk)
        rows = state.decoder.rows(range(first, self.context.length), self.context.length)
        x, hidden = state.decoder.embed(chunk), []
        for layer in range(depth):
            state.check_stop()
            with state.watch("layers"):
                x = self.context.prefill_layer(layer, x, rows)
            hidden.append(x)
            done = first + len(chunk) * (layer + 1) // depth
            yield PrefillAdvanced(state.run, done, total, state.watch.elapsed)
        return state.seen(hidden, state.decoder.norm(x))


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


def _tokens(count: int, kind: str = "") -> str:
    return f"{count} {kind}token{'' if count == 1 else 's'}"
