"""A pass that feeds one token and emits one.

What varies between policies comes in as a strategy object (`core.exits.policies`); what happens goes out as events.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.auditing import audited
from core.choices import Record
from core.config import CANDIDATES
from core.drafting.chain import ChainDrafter
from core.drafting.head import Draft
from core.exits.policies import ExitPolicy, PassView, make_policy
from core.exits.scheduling import Schedule
from core.run_state import RunState
from core.sampling import Choice
from core.trace.events import DraftProposed, Event, ExitReason, KVUpdated, LayerRun, Verified

NAN = float("nan")


def make_single_pass(state: RunState) -> SinglePass:
    """The pass that the run's settings ask for. Raises `UserError` where the user's own policy cannot be used."""
    return SinglePass(state, make_policy(state.settings, state.decoder.config.depth, state.parts))


class SinglePass:
    """A `core.run_state.Pass` of one token."""

    def __init__(self, state: RunState, policy: ExitPolicy) -> None:
        self._state, self._policy = state, policy
        self._decoder, self._context, self._watch = state.decoder, state.context, state.watch
        parts, capacity = state.parts, state.context.cache.capacity
        self._drafter = ChainDrafter(parts.drafter, capacity, state.guesser) if parts and policy.drafts else None
        state.taps = parts.drafter.taps if parts and policy.drafts else ()

    def feed(self, ids: Tensor, states: Tensor) -> None:
        """Take in the prompt's tokens ids [n] with what the drafter sees [n, (t + 1) d] of the positions before."""
        if self._drafter:
            with self._watch("draft"):
                self._drafter.feed(ids, states)

    def take_in(self) -> None:
        """As `Pass` says."""
        self.feed(torch.tensor([self._state.newest], device=self._decoder.device), self._state.feature[None])

    def record(self, token: int, layer: int) -> None:
        """As `Pass` says."""
        self._policy.record(token, layer)

    def events(self) -> Iterator[Event]:
        """Feed the newest token and emit the next one."""
        draft = self._propose()
        if draft:
            yield self._draft_event(draft)
        hidden: list[Tensor] = []
        schedule = self._begin(hidden, draft)
        if schedule:
            yield self._state.schedule_event(schedule)
        leaving = yield from self._layers(hidden, draft)
        self._state.feature = self._state.seen(hidden, leaving.normed)
        if self._state.settings.record is Record.AUDIT:
            with self._watch("recording"):
                event = audited(self._state, self._state.emitted, self._finish(hidden), draft, schedule)
            yield event
        yield self._end(len(hidden))
        yield self._state.emit(leaving.token_id, len(hidden), leaving.reason)

    def _begin(self, hidden: list[Tensor], draft: Draft | None) -> Schedule | None:
        """Start the pass, which will leave its states in `hidden`."""
        state = self._state
        self._context.begin(state.newest)
        view = PassView(self._decoder, state.choose, lambda: self._finish(hidden), state.readout)
        with self._watch("predictor"):
            return self._policy.begin(view, draft)

    def _layers(self, hidden: list[Tensor], draft: Draft | None) -> Generator[Event, None, _Leaving]:
        """Run layers, adding their states to `hidden`, until one may be left."""
        for layer in range(self._decoder.config.depth):
            hidden.append(self._run_layer(layer))
            event, choice = self._look(layer, hidden[-1])
            yield event
            if event.proposed and choice:
                normed = self._state.readout.normed(layer, hidden[-1])
                return _Leaving(choice.token_id, ExitReason.RULE, normed)
            if event.proposed and draft:
                verdict, normed = self._verify(layer, hidden[-1], draft)
                yield verdict
                if verdict.accepted:
                    return _Leaving(verdict.argmax_id, ExitReason.VERIFIED, normed)
        with self._watch("verification"):
            normed = self._decoder.norm(hidden[-1])
            return _Leaving(self._state.choose(normed).token_id, ExitReason.LAST_LAYER, normed)

    def _run_layer(self, layer: int) -> Tensor:
        self._state.check_stop()
        with self._watch.shared("layers", "recompute", lambda: self._context.share_of_waiting):
            return self._context.run(layer)

    def _finish(self, hidden: list[Tensor]) -> list[Tensor]:
        """The fed token's states [d] after all L layers, those beyond `hidden` run on the side."""
        states = list(hidden)
        for state in self._context.finish(len(hidden)):
            self._state.check_stop()
            states.append(state)
        return states

    def _look(self, layer: int, hidden: Tensor) -> tuple[LayerRun, Choice | None]:
        run, token = self._state.run, self._state.emitted
        if layer == self._decoder.config.depth - 1:
            return LayerRun(run, token, layer, None, NAN, False), None
        with self._watch("predictor"):
            look = self._policy.look(layer, hidden)
        if look is None:
            return LayerRun(run, token, layer, None, NAN, False), None
        return LayerRun(run, token, layer, look.features, look.score, look.proposed), look.choice

    def _end(self, layers_run: int) -> KVUpdated:
        token = self._state.emitted
        with self._watch("recompute"):
            self._context.end(layers_run)
        self._policy.record(token, layers_run - 1)
        recomputed = np.array(self._context.recomputed, np.int64)
        return KVUpdated(self._state.run, token, self._context.length - 1, layers_run, recomputed)

    def _propose(self) -> Draft | None:
        if self._drafter is None:
            return None
        with self._watch("draft"):
            newest = torch.tensor([self._state.newest], device=self._decoder.device)
            return self._drafter.propose(newest, self._state.feature, CANDIDATES)

    def _verify(self, layer: int, hidden: Tensor, draft: Draft) -> tuple[Verified, Tensor]:
        """The verdict, and the state [d] as the head saw it."""
        state = self._state
        with self._watch("verification"):
            check = state.verifier.check(layer, hidden, self._context.length)
            choice = check.choice
            at = (draft.ids == choice.token_id).nonzero()
        rank = int(at[0, 0]) if len(at) else -1
        gated = rank >= 0 and state.verifier.refuses(choice)
        text = state.tokenizer.token_bytes(choice.token_id)
        verdict = Verified(state.run, state.emitted, layer, choice.token_id, text, rank, choice.margin, gated)
        return verdict, check.normed

    def _draft_event(self, draft: Draft) -> DraftProposed:
        state, ids = self._state, draft.ids.cpu().numpy()
        texts = tuple(state.tokenizer.token_bytes(int(i)) for i in ids)
        return DraftProposed(state.run, state.emitted, ids, texts, draft.probabilities.cpu().numpy())


@dataclass(frozen=True, slots=True)
class _Leaving:
    """How a pass ends."""

    token_id: int
    reason: ExitReason
    normed: Tensor
    """The state as the head saw it, shape [d]: the drafter's next input."""
