"""Our engine as a contender."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Iterable, Iterator

from app.commands.bench_contest import Arrivals, Label, Pass, Turn
from app.commands.opening import Opened
from app.commands.recording import Keep
from core.choices import Policy
from core.config import RunSettings
from core.engine import Engine, RunRequest
from core.stopwatch import Clock
from core.trace.events import Event, ExitReason, TokenEmitted, TreeAccepted, Verified
from core.trace.overview import is_wrong
from core.trace.trace import Trace

TREE_NAMES = {Policy.DENSE: "tree", Policy.SPECEE_T1: "specee-t1t3", Policy.SPECEE_T1T2: "specee-t1t2t3"}


def policy_name(settings: RunSettings) -> str:
    """As `--policy` takes it, or the name of what it is together with trees."""
    if settings.tree.on:
        return TREE_NAMES[settings.policy]
    if settings.policy is Policy.FIXED:
        return f"{Policy.FIXED}:{settings.fixed_layer}"
    return settings.custom if settings.policy is Policy.CUSTOM else settings.policy.value


def label_of(settings: RunSettings, keep: Keep, dtype: str) -> Label:
    """The row of a run of ours."""
    return Label(policy_name(settings), keep.value, dtype, settings.kv_policy.value)


class EngineContender:
    """Our engine under one policy, its events dropped, gathered as the window gathers them, or audited too."""

    def __init__(self, opened: Opened, settings: RunSettings, keep: Keep, clock: Clock = time.perf_counter) -> None:
        self.label = label_of(settings, keep, opened.model.info.dtype)
        self._engine = Engine(opened.model, opened.parts)
        self._settings = dataclasses.replace(settings, record=keep.record)
        self._keep, self._clock = keep, clock

    def take_turn(self, prompt: str, tokens: int) -> Turn:
        settings = dataclasses.replace(self._settings, max_new_tokens=tokens)
        tally, trace = _Tally(self._clock), Trace()
        events = self._engine.run(RunRequest(prompt, settings), threading.Event(), self._clock)
        for event in self._keep.kept(tally.watch(events)):
            # Without recording nothing is kept: the tally alone has seen it.
            if self._keep is not Keep.OFF:
                trace.append(event)
        if self._keep is Keep.AUDIT:
            tally.judge(trace)
        return tally.turn()


class _Tally:
    """Counts what the events of one run cost, whether anybody keeps them or not."""

    def __init__(self, clock: Clock) -> None:
        self._arrivals = Arrivals(clock)
        self._ids: list[int] = []
        self._layers: list[int] = []
        self._passes: list[Pass] = []
        self._checks = 0
        self._target_passes, self._in_tree = 0, False

    def watch(self, events: Iterable[Event]) -> Iterator[Event]:
        """Hand the events on."""
        for event in events:
            if isinstance(event, TokenEmitted):
                self._arrivals.tick()
                self._take(event)
            elif isinstance(event, Verified):
                self._checks += 1
            elif isinstance(event, TreeAccepted):
                self._checks, self._in_tree = event.rows_checked, True
                self._target_passes += 1
            yield event

    def _take(self, event: TokenEmitted) -> None:
        self._ids.append(event.token_id)
        self._layers.append(event.exit_layer)
        if event.reason is not ExitReason.PREFILL:
            # A tree's pass has counted the last layer's rows itself.
            last = event.reason is ExitReason.LAST_LAYER and not self._in_tree
            self._passes.append(Pass(event.times, self._checks + last, in_tree=self._in_tree))
            self._target_passes += not self._in_tree
        self._checks = 0

    def judge(self, trace: Trace) -> None:
        """Add what an audit found."""
        agrees = [not is_wrong(record) if record.audit else None for record in trace.emitted[1:]]
        self._passes = [dataclasses.replace(one, agrees=same) for one, same in zip(self._passes, agrees, strict=True)]

    def turn(self) -> Turn:
        speed = self._arrivals.tokens_per_second
        return Turn(tuple(self._ids), tuple(self._layers), speed, tuple(self._passes), self._target_passes)
