"""What a run carries from pass to pass, and what every kind of pass does with it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from core.choices import Head, Lens
from core.config import RunSettings
from core.context import Context
from core.drafting.guesses import Guesser
from core.drafting.taps import with_taps
from core.exits.lens import Readout
from core.exits.parts import TrainedParts
from core.exits.scheduling import Schedule
from core.exits.verification import Verifier
from core.model.loading import LoadedModel
from core.sampling import Choice, Chooser
from core.stopwatch import Clock, Stopwatch
from core.trace.events import Event, ExitReason, ScheduleChosen, TokenEmitted
from core.trace.fork import Fork


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to generate, and how."""

    prompt: str
    settings: RunSettings
    run: int = 0
    """Number that the run's events carry."""
    fork: Fork | None = None
    """The run that it branches off; its prompt's tokens then take the place of `prompt`'s."""


class Stopped(BaseException):
    """The stop event was set; no Exception, so that a policy of the user's own that catches all lets it pass."""


class Pass(Protocol):
    """One pass of the target model after another: of one token each, or of a tree."""

    def feed(self, ids: Tensor, states: Tensor) -> None:
        """Take in the prompt's tokens ids [n] with what the drafter sees [n, (t + 1) d] of the positions before."""

    def events(self) -> Iterator[Event]:
        """Feed the newest token and emit what follows it: one pass."""

    def take_in(self) -> None:
        """Let the drafter take in the newest token, where what follows it is given and not decided by a pass."""

    def record(self, token: int, layer: int) -> None:
        """Let the rule know that a given token was emitted and `layer` (0-based) was the last one run."""


class RunState:
    """One run: what it runs on, and what it has emitted so far."""

    def __init__(
        self,
        model: LoadedModel,
        parts: TrainedParts | None,
        request: RunRequest,
        context: Context,
        stop: threading.Event,
        clock: Clock,
    ) -> None:
        self.model, self.parts, self.request, self.context, self.stop = model, parts, request, context, stop
        self.settings, self.run = request.settings, request.run
        self.tokenizer, self.decoder = model.tokenizer, model.decoder
        self.chooser = Chooser(self.settings.sampling)
        lens = parts.lens if parts and self.settings.lens is Lens.TUNED else None
        self.readout = Readout(self.decoder, lens)
        """How the head sees a layer's state, for features, checks and the drafter."""
        slim = parts.slim if parts and self.settings.check is Head.SLIM else None
        self.verifier = Verifier(self.readout, self.chooser, gate=self.settings.gate, slim=slim)
        self.guesser: Guesser | None = parts.guesser(self.decoder, self.settings.draft_head) if parts else None
        """Turns the drafter's states into candidates."""
        self.watch = Stopwatch(clock)
        self.taps: Sequence[int] = ()
        """Lower layers whose states the run's drafter sees too."""
        self.feature = torch.empty(0)
        """What the drafter sees of the position that emitted the newest token, as `seen` gives it, [(t + 1) d]."""
        self.newest = -1
        """The newest token's id."""
        self.emitted = 0
        """How many tokens have been emitted: the number of the next one."""
        self.text = b""
        self.ids: list[int] = []
        """All tokens, the prompt's and those emitted."""

    def check_stop(self) -> None:
        """Raises `Stopped` once the stop event is set."""
        if self.stop.is_set():
            raise Stopped

    def seen(self, hidden: Sequence[Tensor], normed: Tensor, rows: Sequence[int] | None = None) -> Tensor:
        """What the drafter sees of positions [...]: norm(h), through the run's lens, after the taps, [..., (t + 1) d].

        `hidden` and `normed` are as `with_taps` takes them; of `hidden` these rows are meant, all where it is None.
        """
        lower = hidden[: max(self.taps, default=-1) + 1]
        chosen = lower if rows is None else [states[list(rows)] for states in lower]
        return with_taps(self.decoder.norm, chosen, normed, self.taps)

    def choose(self, normed: Tensor) -> Choice:
        """The token that a normed hidden state [d] gives."""
        return self.chooser.choose(self.decoder.logits(normed[None])[0], self.context.length)

    def emit(self, token_id: int, exit_layer: int, reason: ExitReason) -> TokenEmitted:
        """Add a token to what the run has emitted."""
        token, text, special = self.emitted, self.tokenizer.token_bytes(token_id), self.tokenizer.is_special(token_id)
        self.newest = token_id
        self.ids.append(token_id)
        self.emitted += 1
        self.text += b"" if special else text
        return TokenEmitted(self.run, token, token_id, text, special, exit_layer, reason, self.watch.lap())

    def stop_in(self, text: bytes) -> str | None:
        """The first of the run's stop strings that a text holds."""
        return next((stop for stop in self.settings.stop if stop.encode() in text), None)

    def room_for(self, token_ids: Sequence[int]) -> int:
        """How many of these tokens the run may still emit: until its limit, or a stop string."""
        most = min(len(token_ids), self.settings.max_new_tokens - self.emitted)
        text = self.text
        for count, token_id in enumerate(token_ids[:most], 1):
            text += b"" if self.tokenizer.is_special(token_id) else self.tokenizer.token_bytes(token_id)
            if self.stop_in(text) is not None:
                return count
        return most

    def schedule_event(self, schedule: Schedule) -> ScheduleChosen:
        """A pass's active set, told for the next token."""
        return ScheduleChosen(
            self.run,
            self.emitted,
            schedule.active,
            schedule.offline,
            schedule.counters,
            schedule.ring_layers,
            schedule.ring_tokens,
        )
