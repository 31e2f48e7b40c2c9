"""Events made by hand, with just the values that a test is about."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

import numpy as np

from core.choices import Policy
from core.config import RunSettings, SchedulerSettings
from core.trace.events import (
    Audited,
    DraftProposed,
    EndReason,
    Event,
    ExitReason,
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
from core.trace.trace import Trace

CANDIDATES = (" red", " blue", " so", " the")
DEPTH = 30


def token_id(text: str | bytes) -> int:
    """The same made-up id for the same text."""
    return zlib.crc32(_bytes(text)) % 50_000


def started(
    policy: Policy = Policy.SPECEE_T1T2, *, depth: int = DEPTH, threshold: float = 0.5, radius: int = 2
) -> RunStarted:
    scheduler = SchedulerSettings(radius=radius)
    return RunStarted(
        run=0,
        settings=RunSettings(policy=policy, threshold=threshold, scheduler=scheduler),
        model=ModelInfo("tiny", "abc", "llama", depth, 8, 50_000, 64, "float32", "cpu", 1),
        prompt="Why?",
        prompt_ids=np.array([5, 6, 7]),
        offline=np.array([], np.int64),
        versions={},
    )


def prefilled() -> PrefillAdvanced:
    return PrefillAdvanced(run=0, done=3, total=3, seconds=0.1)


def draft(token: int, texts: Sequence[str | bytes] = CANDIDATES) -> DraftProposed:
    chances = np.array([0.4, 0.3, 0.1, 0.001], np.float32)[: len(texts)]
    return DraftProposed(0, token, np.array([token_id(t) for t in texts]), tuple(map(_bytes, texts)), chances)


def schedule(
    token: int,
    offline: Iterable[int] = (),
    ring: Sequence[tuple[int, int]] = (),
    *,
    radius: int = 2,
    depth: int = DEPTH,
    every: bool = False,
) -> ScheduleChosen:
    """`ring` holds (token, 0-based exit layer) pairs; `every` is T1, where all layers but the last are active."""
    layers = np.arange(depth)
    counters = sum((np.abs(layers - at) <= radius).astype(np.int64) for _, at in ring) + np.zeros(depth, np.int64)
    fixed = np.isin(layers, list(offline))
    active = (fixed | (counters > 0) | every) & (layers < depth - 1)
    return ScheduleChosen(
        run=0,
        token=token,
        active=active,
        offline=fixed,
        counters=counters,
        ring_layers=np.array([at for _, at in ring], np.int64),
        ring_tokens=np.array([t for t, _ in ring], np.int64),
    )


def layer_run(token: int, layer: int, score: float | None = None, *, proposed: bool | None = None) -> LayerRun:
    """A layer with its predictor's score, or without where `score` is None; an exit is proposed above 0.5."""
    if score is None:
        return LayerRun(0, token, layer, None, float("nan"), False)
    features = np.arange(12, dtype=np.float32) / 10 + layer
    return LayerRun(0, token, layer, features, score, score > 0.5 if proposed is None else proposed)


def layers_up_to(token: int, end: int, scores: dict[int, float] | None = None) -> list[Event]:
    """Layers 0…end − 1, those in `scores` with their predictor."""
    return [layer_run(token, layer, (scores or {}).get(layer)) for layer in range(end)]


def verified(token: int, layer: int, text: str | bytes, rank: int, margin: float = 0.41) -> Verified:
    return Verified(0, token, layer, token_id(text), _bytes(text), rank, margin)


def emitted(
    token: int,
    text: str | bytes,
    exit_layer: int = DEPTH,
    reason: ExitReason | None = None,
    *,
    special: bool = False,
    times: StageTimes | None = None,
) -> TokenEmitted:
    why = ExitReason.PREFILL if token == 0 else ExitReason.VERIFIED if exit_layer < DEPTH else ExitReason.LAST_LAYER
    return TokenEmitted(
        run=0,
        token=token,
        token_id=token_id(text),
        token_bytes=_bytes(text),
        special=special,
        exit_layer=exit_layer,
        reason=reason or why,
        times=times or StageTimes(),
    )


def audited(token: int, *stretches: tuple[int, str], scores: dict[int, float] | None = None) -> Audited:
    """Each of `stretches` says up to which layer, exclusive, which token is the layers' own."""
    texts: list[str] = []
    for end, text in stretches:
        texts += [text] * (end - len(texts))
    made = np.full(len(texts), np.nan, np.float32)
    for layer, score in (scores or {}).items():
        made[layer] = score
    return Audited(
        run=0,
        token=token,
        token_ids=np.array([token_id(text) for text in texts], np.int64),
        token_bytes=tuple(map(_bytes, texts)),
        margins=np.full(len(texts), 0.25, np.float32),
        candidate_logits=np.zeros((len(texts), len(CANDIDATES)), np.float32),
        candidate_probabilities=np.full((len(texts), len(CANDIDATES)), 0.1, np.float32),
        scores=made,
    )


def ended(reason: EndReason = EndReason.STOPPED) -> RunEnded:
    return RunEnded(0, reason, "Stopped by the user.")


def trace_of(*parts: Event | list[Event]) -> Trace:
    """A trace of events and lists of events, in order."""
    return Trace.of(event for part in parts for event in (part if isinstance(part, list) else [part]))


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text
