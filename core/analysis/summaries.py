"""What the views show, as arrays computed from a trace. No Qt, no torch.

Each function takes the whole trace, or a range of its tokens, and returns frozen arrays; a widget only paints them.
Layers in these arrays are 0-based indices; *exit layer* is a count of layers run, 1…L (`docs/rules.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from core.analysis.texts import visible as visible
from core.trace.events import Audited, ExitReason, FloatArray, IntArray
from core.trace.overview import REASONS, UNKNOWN, cell_states, emitted_of, is_wrong, refusals
from core.trace.reading import ReadableTrace
from core.trace.records import TokenRecord

RUNNING_MEAN = 8
"""How many tokens the running mean of exit layers spans."""


class Outcome(IntEnum):
    """How a token's pass ended, told by a mark beside its colour in every view."""

    PREFILL = 0
    """The first token: its pass is the prompt's and always runs to full depth."""
    EARLY_EXIT = 1
    FULL_DEPTH = 2
    """Ran to the last layer; no predictor proposed an exit."""
    REFUSED = 3
    """Ran to the last layer although an exit had been proposed: every check refused it."""
    WRONG_EXIT = 4
    """Left early with another token than full depth gives; only an audit can tell."""
    GIVEN = 5
    """Taken over from a branch's origin or put in its place: its pass decided nothing."""


@dataclass(frozen=True, slots=True)
class TokenChips:
    """The token strip's data, one entry a token."""

    first: int
    """Index of the first token here."""
    texts: tuple[str, ...]
    """Visible form: whitespace, control and partial bytes spelled out."""
    exit_layers: IntArray
    """Shape [n], 1…L."""
    outcomes: NDArray[np.uint8]
    """Shape [n], values of `Outcome`."""
    refusals: IntArray
    """Shape [n], proposed exits that the check refused."""
    depth: int
    passes: IntArray | None = None
    """Shape [n], the first token of each one's target pass; None where each has a pass of its own."""


@dataclass(frozen=True, slots=True)
class ExitSeries:
    """Exit layers over tokens."""

    exit_layers: IntArray
    """Shape [n], 1…L."""
    outcomes: NDArray[np.uint8]
    """Shape [n], values of `Outcome`."""
    running_mean: FloatArray
    """Shape [n], mean of the last `RUNNING_MEAN` exit layers; NaN for the prefill token, which no mean counts."""
    depth: int


@dataclass(frozen=True, slots=True)
class SchedulerMap:
    """Token × layer states."""

    first: int
    """Index of the first token here."""
    states: NDArray[np.uint8]
    """Shape [n, L], flags of `CellState`."""


@dataclass(frozen=True, slots=True)
class CandidateCurves:
    """Local probabilities of one token's k candidates over the evaluated layers."""

    token: int
    depth: int
    layers: IntArray
    """Shape [n], evaluated 0-based layers in order."""
    probabilities: FloatArray
    """Shape [n, k]."""
    scores: FloatArray
    """Shape [n], predictor outputs in 0…1."""
    threshold: float
    """The run's."""
    thresholds: FloatArray
    """Shape [L], each layer's own where it has one."""
    candidate_texts: tuple[str, ...]
    """k visible forms, the drafter's best guess first."""
    drafter_probabilities: FloatArray
    """Shape [k]."""
    emitted_candidate: int
    """Which candidate was emitted; -1 where none was or the token is still in flight."""
    exit_layer: int
    """Layers run, 1…L; 0 while the token is in flight."""
    early: bool
    """Whether the token left before the last layer."""
    audit: AuditCurves | None = None
    """What every layer would have said; None where the run was not recorded in audit depth."""


@dataclass(frozen=True, slots=True)
class AuditCurves:
    """One token's candidates at all L layers, computed beside the run, after its decision."""

    local: FloatArray
    """Shape [L, k], softmax over the candidates."""
    full: FloatArray
    """Shape [L, k], probabilities in the whole vocabulary: where the final token is no candidate, all stay low."""
    scores: FloatArray
    """Shape [L]; NaN where there is no predictor."""


def outcome(record: TokenRecord) -> Outcome:
    """The outcome of an emitted token."""
    emitted = emitted_of(record)
    if emitted.reason is ExitReason.PREFILL:
        return Outcome.PREFILL
    if emitted.reason is ExitReason.GIVEN:
        return Outcome.GIVEN
    if emitted.exit_layer < record.depth:
        return Outcome.WRONG_EXIT if is_wrong(record) else Outcome.EARLY_EXIT
    return Outcome.REFUSED if refusals(record) else Outcome.FULL_DEPTH


def outcomes(trace: ReadableTrace, first: int = 0, stop: int | None = None) -> NDArray[np.uint8]:
    """`outcome` of each emitted token from `first` on, up to `stop` or the newest. Shape [n]."""
    newest = trace.emitted_count
    seen, part = trace.overview, slice(first, newest if stop is None else min(stop, newest))
    wrong = np.where(seen.wrong[part], Outcome.WRONG_EXIT, Outcome.EARLY_EXIT)
    full = np.where(seen.refusals[part] > 0, Outcome.REFUSED, Outcome.FULL_DEPTH)
    found = np.where(seen.exit_layers[part] < trace.depth, wrong, full)
    from_prefill = seen.reasons[part] == REASONS.index(ExitReason.PREFILL)
    given = seen.reasons[part] == REASONS.index(ExitReason.GIVEN)
    return np.select([from_prefill, given], [Outcome.PREFILL, Outcome.GIVEN], found).astype(np.uint8)


def token_chips(trace: ReadableTrace, first: int = 0, stop: int | None = None) -> TokenChips:
    """The emitted tokens from `first` on, up to `stop` or the newest, for the token strip."""
    seen, part = trace.overview, slice(first, stop)
    return TokenChips(
        first=first,
        texts=tuple(map(visible, seen.texts[part], seen.special[part].tolist())),
        exit_layers=seen.exit_layers[part],
        outcomes=outcomes(trace, first, stop),
        refusals=seen.refusals[part],
        depth=trace.depth,
        passes=seen.passes[part],
    )


def layers_in_flight(trace: ReadableTrace) -> int | None:
    """Layers that the newest token has run so far; None where none is under way."""
    last = trace.records[-1] if trace.records else None
    return last.layers_run if last is not None and last.emitted is None and trace.ended is None else None


def exit_series(trace: ReadableTrace) -> ExitSeries:
    """Exit layers of all emitted tokens with their running mean."""
    layers = trace.exit_layers
    return ExitSeries(layers, outcomes(trace), running_mean(layers), trace.depth)


def running_mean(exit_layers: IntArray) -> FloatArray:
    """Trailing mean over `RUNNING_MEAN` tokens, leaving out token 0 (prefill). Shape [n], NaN at 0."""
    means = np.full(len(exit_layers), np.nan, np.float32)
    if len(exit_layers) < 2:
        return means
    sums = np.concatenate([[0], np.cumsum(exit_layers[1:])])
    ends = np.arange(1, len(sums))
    starts = np.maximum(0, ends - RUNNING_MEAN)
    means[1:] = (sums[ends] - sums[starts]) / (ends - starts)
    return means


def first_decided(trace: ReadableTrace) -> int:
    """The first token that a pass of this run decided: after prefill's, and after those that a branch was given."""
    branch = trace.started.branch if trace.started else None
    return branch.given if branch else 1


def mean_exit_layer(trace: ReadableTrace) -> float | None:
    """Mean layers run over the emitted tokens after the first (of a branch: decided by it); None where none are."""
    layers = trace.exit_layers[first_decided(trace) :]
    return float(layers.mean()) if len(layers) else None


def active_layers_mean(trace: ReadableTrace) -> float | None:
    """Mean size of the active sets; None where no schedule was made."""
    sizes = trace.overview.active_layers
    waiting = [int(r.schedule.active.sum()) for r in trace.records[trace.emitted_count :] if r.schedule]
    sizes = np.concatenate([sizes[sizes != UNKNOWN], waiting])
    return float(sizes.mean()) if len(sizes) else None


def acceptance_length(trace: ReadableTrace) -> float | None:
    """τ: tokens a target pass over those after the first (`docs/rules.md`); None where the run decodes no trees."""
    passes = trace.overview.passes[first_decided(trace) :]
    if trace.started is None or not trace.started.settings.tree.on or not len(passes):
        return None
    return len(passes) / int((np.diff(passes, prepend=-1) != 0).sum())


def agreement(trace: ReadableTrace) -> float | None:
    """Share of the tokens after the first that equal their own pass finished to full depth (`docs/rules.md`); None
    where the run was not audited."""
    audited = int(trace.overview.audited[1:].sum())
    return (audited - int(trace.overview.wrong[1:].sum())) / audited if audited else None


def tokens_per_second(trace: ReadableTrace) -> float | None:
    """Tokens after the first over the time after the first (`docs/rules.md`); None where there is only one."""
    times = trace.overview.seconds[first_decided(trace) :]
    seconds = float(times.sum())
    return len(times) / seconds if seconds > 0 else None


def scheduler_map(trace: ReadableTrace, first: int = 0, stop: int | None = None) -> SchedulerMap:
    """States of the tokens from `first` on, up to `stop` or the newest, the one in flight included."""
    states = trace.overview.states[first:stop]
    if stop is not None and stop < trace.emitted_count:
        return SchedulerMap(first, states)
    waiting = [cell_states(r) for r in trace.records[max(first, trace.emitted_count) :]]
    in_flight = np.array(waiting, np.uint8).reshape(len(waiting), trace.depth)
    return SchedulerMap(first, np.concatenate([states, in_flight]))


def online_sources(record: TokenRecord, layer: int, radius: int) -> list[tuple[int, int]]:
    """Which past exits made `layer` active: (token, exit layer as a 1-based count) for each ring entry within r."""
    if record.schedule is None:
        return []
    ring = zip(record.schedule.ring_tokens, record.schedule.ring_layers, strict=True)
    return [(int(token), int(at) + 1) for token, at in ring if abs(int(at) - layer) <= radius]


def candidate_curves(trace: ReadableTrace, token: int) -> CandidateCurves | None:
    """The probability curves of one token; None where nothing was drafted for it."""
    record = trace.records[token]
    if record.draft is None or trace.started is None:
        return None
    k = len(record.draft.candidate_ids)
    layers = np.flatnonzero(record.evaluated)
    emitted = record.emitted
    emitted_id = emitted.token_id if emitted else -1
    matches = np.flatnonzero(record.draft.candidate_ids == emitted_id)
    return CandidateCurves(
        token=token,
        depth=record.depth,
        layers=layers,
        probabilities=record.features[layers, k : 2 * k] if len(layers) else np.zeros((0, k), np.float32),
        scores=record.scores[layers],
        threshold=trace.started.settings.threshold,
        thresholds=np.array(trace.started.settings.thresholds(record.depth)),
        candidate_texts=tuple(visible(b) for b in record.draft.candidate_bytes),
        drafter_probabilities=record.draft.candidate_probabilities,
        emitted_candidate=int(matches[0]) if len(matches) else -1,
        exit_layer=emitted.exit_layer if emitted else 0,
        early=bool(emitted and emitted.exit_layer < record.depth),
        audit=audit_curves(record.audit) if record.audit else None,
    )


def audit_curves(audit: Audited) -> AuditCurves:
    """What an audit knows of a token's candidates."""
    logits = audit.candidate_logits
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return AuditCurves(powers / powers.sum(-1, keepdims=True), audit.candidate_probabilities, audit.scores)
