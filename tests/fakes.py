"""Believable runs without a model: events that fit together as the engine's do, and an engine and a loader of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from app.loader import LoadedEngine, LoadedSummary, ModelRequest
from core.choices import Policy, Record
from core.config import CANDIDATES, RunSettings
from core.errors import UserError
from core.exits.scheduling import EveryLayer, TwoLevelScheduler
from core.progress import Progress, Report, check
from core.trace.events import (
    Audited,
    BoolArray,
    DraftProposed,
    EndReason,
    Event,
    ExitReason,
    FloatArray,
    IntArray,
    KVUpdated,
    LayerRun,
    ModelInfo,
    PrefillAdvanced,
    RunEnded,
    RunStarted,
    ScheduleChosen,
    StageTimes,
    TokenEmitted,
    Verified,
)
from core.trace.fork import Fork

WORDS = (" the", " sky", " is", " blue", "\n", " and", " d\u00e9j\u00e0", " vu", ".", " \u2600\ufe0f")
"""What the fake model says, over and over."""


@dataclass(frozen=True)
class Plan:
    """How one token's pass shall end."""

    early: bool
    """Whether it leaves at a layer before the last."""
    refusals: int
    """How many exits are proposed and refused before."""
    wrong: bool = False
    """Whether full depth would give another token; only an audit tells."""


PLANS = (Plan(True, 0), Plan(True, 1), Plan(False, 0), Plan(False, 2), Plan(True, 0, wrong=True))
"""Taken in turn by the tokens after the first, which comes from prefill."""


def fake_model_info(depth: int = 12, name: str = "fake") -> ModelInfo:
    """A model of `depth` layers that never existed."""
    return ModelInfo(name, "0" * 64, "LlamaForCausalLM", depth, 64, 1000, 256, "float32", "cpu", 1)


def fake_ranking(depth: int = 12) -> IntArray:
    """An offline ranking that prefers the layers beyond the middle. Shape [L-1]."""
    return np.argsort(np.abs(np.arange(depth - 1) - 0.6 * depth), kind="stable")


def fake_run_events(
    tokens: int = 6,
    depth: int = 12,
    *,
    run: int = 0,
    prompt: str = "Why is the sky blue?",
    settings: RunSettings | None = None,
    plans: tuple[Plan, ...] = PLANS,
    end: EndReason = EndReason.MAX_NEW_TOKENS,
    audit: bool = False,
) -> list[Event]:
    """A whole run of `tokens` tokens, with exits, refusals and full passes as `plans` say; the same each time."""
    settings = settings or RunSettings()
    settings = replace(settings, record=Record.AUDIT) if audit else settings
    return list(FakeRun(tokens, depth, run, prompt, settings, plans, end).events())


def softmax(logits: FloatArray) -> FloatArray:
    """Shares among the candidates. Shape [L, k]."""
    powers = np.exp(logits)
    return powers / powers.sum(-1, keepdims=True)


class FakeRun:
    """Makes the events of `fake_run_events` one after the other."""

    def __init__(
        self,
        tokens: int,
        depth: int,
        run: int,
        prompt: str,
        settings: RunSettings,
        plans: tuple[Plan, ...] = PLANS,
        end: EndReason = EndReason.MAX_NEW_TOKENS,
    ) -> None:
        self.tokens, self.depth, self.run, self.prompt = tokens, depth, run, prompt
        self.settings, self.plans, self.end = settings, plans, end
        self.random = np.random.default_rng(run)
        two_level = settings.policy is Policy.SPECEE_T1T2
        self.offline = fake_ranking(depth)[: settings.scheduler.offline_layers] if two_level else np.zeros(0, np.int64)
        self.scheduler = (
            TwoLevelScheduler(settings.scheduler, depth, fake_ranking(depth)) if two_level else EveryLayer(depth)
        )
        self.prompt_ids = np.arange(10, 10 + max(1, len(prompt.split())))
        self.behind: dict[int, int] = {}  # position -> first layer whose K/V it lacks

    def events(self) -> Iterator[Event]:
        info, versions = fake_model_info(self.depth), {"specee-viewer": "0"}
        yield RunStarted(self.run, self.settings, info, self.prompt, self.prompt_ids, self.offline, versions)
        yield PrefillAdvanced(self.run, len(self.prompt_ids), len(self.prompt_ids), 0.01)
        yield self._emitted(0, self.depth, ExitReason.PREFILL)
        for token in range(1, self.tokens):
            yield from self._pass(token, self.plans[(token - 1) % len(self.plans)])
        yield RunEnded(self.run, self.end, f"The limit of {self.tokens} new tokens was reached.")

    def _pass(self, token: int, plan: Plan) -> Iterator[Event]:
        active = np.zeros(self.depth, np.bool_)
        if self.settings.policy.needs_parts:
            yield self._draft(token)
            schedule = self._scheduled(token)
            active = schedule.active
            yield schedule
        refused, exit_at = self._choose(active, plan)
        last = self.depth - 1 if exit_at is None else exit_at
        logits, scores = self._candidate_logits(last), np.full(self.depth, np.nan, np.float32)
        for layer in range(last + 1):
            proposed = layer in refused or layer == exit_at
            event = self._layer(token, layer, logits if active[layer] else None, proposed)
            scores[layer] = event.score
            yield event
            if proposed:
                yield self._verified(token, layer, accepted=layer == exit_at)
        if self.settings.record is Record.AUDIT:
            yield self._audited(token, last, logits, scores, wrong=plan.wrong and exit_at is not None)
        yield self._kv(token, last)
        self.scheduler.record(token, last)
        yield self._emitted(token, last + 1, ExitReason.LAST_LAYER if exit_at is None else ExitReason.VERIFIED)

    def _choose(self, active: BoolArray, plan: Plan) -> tuple[list[int], int | None]:
        """The layers of refused exits and that of the accepted one, all of them active."""
        at = [int(layer) for layer in np.flatnonzero(active)]
        refused = at[: plan.refusals]
        later = at[plan.refusals :]
        return refused, later[len(later) // 2] if plan.early and later else None

    def _scheduled(self, token: int) -> ScheduleChosen:
        chosen = self.scheduler.schedule()
        return ScheduleChosen(
            self.run, token, chosen.active, chosen.offline, chosen.counters, chosen.ring_layers, chosen.ring_tokens
        )

    def _candidates(self, token: int) -> IntArray:
        return np.arange(token, token + CANDIDATES) % len(WORDS) + 100

    def _draft(self, token: int) -> DraftProposed:
        ids = self._candidates(token)
        texts = tuple(WORDS[i - 100].encode() for i in ids)
        return DraftProposed(self.run, token, ids, texts, np.array([0.5, 0.2, 0.1, 0.05], np.float32))

    def _candidate_logits(self, last: int) -> FloatArray:
        """The first candidate rises towards the layer `last`, the others have their times before. Shape [L, k]."""
        layers = np.arange(self.depth)[:, None]
        others = 2.5 * np.exp(-(((layers - np.array([0.3, 0.5, 0.2]) * self.depth) / (0.25 * self.depth)) ** 2))
        rising = 6 / (1 + np.exp((last - 0.08 * self.depth - layers) / (0.03 * self.depth)))
        logits = np.concatenate([rising, others], 1) + self.random.normal(scale=0.25, size=(self.depth, CANDIDATES))
        return logits.astype(np.float32)

    def _layer(self, token: int, layer: int, logits: FloatArray | None, proposed: bool) -> LayerRun:
        if logits is None:
            return LayerRun(self.run, token, layer, None, float("nan"), False)
        local = softmax(logits)[layer]
        values = [logits[layer], local, self.random.normal(scale=0.1, size=CANDIDATES)]
        low, high = (self.settings.threshold, 1.0) if proposed else (0.0, self.settings.threshold)
        score = low + (high - low) * float(self.random.uniform(0.1, 0.9))
        return LayerRun(self.run, token, layer, np.concatenate(values).astype(np.float32), score, proposed)

    def _audited(self, token: int, last: int, logits: FloatArray, scores: FloatArray, wrong: bool) -> Audited:
        """Each layer's own token is the emitted one from just before `last` on, and another one near the end of a
        wrong exit's pass; before an exit that all refuse, candidates stay unlikely in the whole vocabulary."""
        if not self.settings.policy.needs_parts:
            logits = logits[:, :0]
        words = np.where(np.arange(self.depth) >= max(last - 1, 0), token, token + 5) % len(WORDS)
        if wrong:
            words[min(last + 2, self.depth - 1) :] = (token + 1) % len(WORDS)
        early = last < self.depth - 1
        shares = (np.linspace(0.02, 0.95, self.depth) ** (1.5 if early else 6))[:, None]
        guessed = np.where(np.isnan(scores), self.random.uniform(0.05, 0.9, self.depth), scores).astype(np.float32)
        guessed[-1] = np.nan
        margins = np.linspace(0.01, 0.8, self.depth).astype(np.float32)
        texts = tuple(WORDS[w].encode() for w in words)
        full = (softmax(logits) * shares).astype(np.float32)
        return Audited(self.run, token, 100 + words, texts, margins, logits, full, guessed)

    def _verified(self, token: int, layer: int, *, accepted: bool) -> Verified:
        word = token % len(WORDS) if accepted else (token + CANDIDATES) % len(WORDS)
        rank = 0 if accepted else -1
        return Verified(self.run, token, layer, 100 + word, WORDS[word].encode(), rank, 0.4)

    def _kv(self, token: int, last: int) -> KVUpdated:
        position = len(self.prompt_ids) + token - 1
        rows = [(p, first, last + 1) for p, first in self.behind.items() if first <= last]
        self.behind = {p: max(first, last + 1) for p, first in [*self.behind.items(), (position, last + 1)]}
        self.behind = {p: first for p, first in self.behind.items() if first < self.depth}
        return KVUpdated(self.run, token, position, last + 1, np.array(rows, np.int64).reshape(-1, 3))

    def _emitted(self, token: int, exit_layer: int, reason: ExitReason) -> TokenEmitted:
        word = token % len(WORDS)
        layers, total = 0.001 * exit_layer, 0.001 * exit_layer + 0.005
        times = StageTimes(draft=0.001, layers=layers, predictor=0.001, verification=0.002, total=total)
        return TokenEmitted(self.run, token, 100 + word, WORDS[word].encode(), False, exit_layer, reason, times)


@dataclass
class FakeEngine:
    """Runs `fake_run_events`, and stops between layers as the real engine does."""

    tokens: int = 6
    depth: int = 12
    stuck_at: int | None = None
    """Index of the event in whose making the engine stays until it is stopped, like a very long layer."""
    stuck_s: float = 20
    """Seconds that it stays there at most."""
    end: EndReason = EndReason.MAX_NEW_TOKENS
    error: BaseException | None = None
    """Raised instead of the event at `error_at`."""
    error_at: int = 0
    stuck: threading.Event = field(default_factory=threading.Event)
    """Set once the engine is in that long layer."""
    asked: list[tuple[str, int]] = field(default_factory=list)
    """Prompt and run id of every run."""
    forks: list[Fork | None] = field(default_factory=list)
    """What every run branched off."""
    threads: set[int] = field(default_factory=set)
    """Identifiers of the threads that ran it."""

    def run(
        self,
        prompt: str,
        settings: RunSettings,
        run: int,
        stop: threading.Event,
        clock: Callable[[], float] = time.perf_counter,
        fork: Fork | None = None,
    ) -> Iterator[Event]:
        """As `core.engine.Engine.run`; a branch says what any other run does."""
        self.forks.append(fork)
        self.asked.append((prompt, run))
        self.threads.add(threading.get_ident())
        if not prompt.strip():
            raise UserError("The prompt is empty; type something for the model to answer.")
        settings.check_against(self.depth)
        for index, event in enumerate(FakeRun(self.tokens, self.depth, run, prompt, settings, end=self.end).events()):
            if self.error is not None and index == self.error_at:
                raise self.error
            if index == self.stuck_at:
                self.stuck.set()
                stop.wait(self.stuck_s)
            if stop.is_set() and isinstance(event, PrefillAdvanced | LayerRun):
                yield RunEnded(run, EndReason.STOPPED, "Stopped.")
                return
            if fork and isinstance(event, RunStarted):
                event = replace(event, branch=fork.branch(fork.token + 1))
            yield event


@dataclass
class FakeLoader:
    """Loads a `FakeEngine` at once, after the trouble that was asked for."""

    engine: FakeEngine = field(default_factory=FakeEngine)
    error: Exception | None = None
    stuck: bool = False
    """Whether loading goes on until it is cancelled."""
    name: str = "fake"
    has_parts: bool = True
    started: threading.Event = field(default_factory=threading.Event)
    """Set once loading has begun."""
    requests: list[ModelRequest] = field(default_factory=list)

    def __call__(self, request: ModelRequest, report: Report, cancel: threading.Event) -> LoadedEngine:
        self.requests.append(request)
        report(Progress("Loading the fake model", 1, 2, "layers"))
        self.started.set()
        if self.stuck:
            cancel.wait(20)
        check(cancel)
        if self.error is not None:
            raise self.error
        return LoadedEngine(fake_summary(self.engine.depth, self.has_parts, request, self.name), self.engine.run)


def fake_summary(
    depth: int = 12, has_parts: bool = True, request: ModelRequest | None = None, name: str = "fake"
) -> LoadedSummary:
    """What the window is told of a fake model."""
    request = request or ModelRequest(name)
    info = fake_model_info(depth, name)
    if not has_parts:
        return LoadedSummary(request, info, False, f"There are no trained parts; run `specee-viewer train {name}`.")
    return LoadedSummary(request, info, True, "", {"steps": 1}, fake_ranking(depth), has_chat_template=True)
