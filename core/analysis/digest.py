"""One prompt's evaluation as small arrays: a trace is let go once it has been looked at, so that memory holds one.

Torch-free. `docs/rules.md`, *Measures*, says what each quantity means; tokens are those after the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from core.analysis.shortlist import shortlist_checks
from core.choices import Head
from core.config import CANDIDATES, SchedulerSettings
from core.trace.events import BoolArray, ExitReason, FloatArray, IntArray
from core.trace.overview import is_wrong
from core.trace.records import TokenRecord
from core.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class HeadTrial:
    """What the low-rank head does for drafted chains, beside the full one (`core.training.slim`)."""

    chains: int
    """Places at which a whole chain was drafted."""
    accepted_full: int
    """Drafted tokens that the target goes along with, in all, through the full head."""
    accepted_slim: int
    head_seconds: tuple[float, float]
    """One product with the full head, and one with the low-rank one."""
    other_seconds: float
    """Everything else in a pass over a chain."""
    depth: int
    """Drafted tokens of a chain."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One prompt's runs and what the dense model makes of their text."""

    category: str
    trace: Trace
    """The policy under test, recorded in audit depth."""
    free: Trace | None = None
    """The same prompt with every predictor on, for the scheduler's hit rate; None where the policy has none."""
    dense_argmax_equal: BoolArray | None = None
    """Shape [emitted tokens]: whether the dense model, teacher-forced on the same prefix, would emit the token too;
    under sampling, by the same draw."""
    log_probabilities: FloatArray | None = None
    """Shape [emitted tokens], natural log of the token's probability under the dense model."""
    dense_log_probabilities: FloatArray | None = None
    """The same for the text that dense decoding gives. Shape [its tokens]."""
    heads: HeadTrial | None = None
    """None where the parts have no low-rank head."""


@dataclass(frozen=True, slots=True)
class Digest:
    """What the figures need of a sample; arrays over its t tokens after the first, NaN where nothing was measured."""

    category: str
    depth: int
    scheduler: SchedulerSettings
    exit_layers: IntArray
    """Shape [t], 1…L."""
    early: BoolArray
    """Shape [t]."""
    agrees: FloatArray
    """Shape [t], 1 where the token is its own pass's full-depth token."""
    checks: IntArray
    """Shape [t]."""
    refused: IntArray
    """Shape [t], checks that let nothing out."""
    shortlist_checks: BoolArray
    """Each audited check by a shortlist: whether it missed the layer's own token."""
    active: FloatArray
    """Shape [t], layers with a predictor."""
    predictor_seconds: FloatArray
    """Shape [t], NaN where the policy has no schedule."""
    seconds: FloatArray
    """Shape [t], the whole token's, recording left out; NaN likewise."""
    ranks: FloatArray
    """Shape [t], the full-depth token's place among the candidates, k where it is none."""
    scores: FloatArray
    """Shape [a, L], of the a tokens whose every predictor was audited."""
    labels: BoolArray
    """Shape [a, L], leaving there would have been right and verified."""
    passes: int
    """Of the target, after the first."""
    free_layers: IntArray | None
    """Last layers run, 0-based, with every predictor on."""
    dense_argmax_equal: BoolArray | None
    log_probabilities: FloatArray | None
    dense_log_probabilities: FloatArray | None
    heads: HeadTrial | None


def digest(sample: Sample) -> Digest:
    """Look at a sample once and for all."""
    trace = sample.trace
    assert trace.started is not None, "a finished run has started"
    settings, records = trace.started.settings, trace.emitted[1:]
    missed = [one for r in records for one in shortlist_checks(r)] if settings.check is Head.SLIM else []
    scores, labels = _judged(records, trace.depth)
    scheduled = [r.emitted.times if r.emitted and r.schedule else None for r in records]
    return Digest(
        category=sample.category,
        depth=trace.depth,
        scheduler=settings.scheduler,
        exit_layers=trace.exit_layers[1:],
        early=np.array([_early(r) for r in records], np.bool_),
        agrees=_floats(float(not is_wrong(r)) if r.audit else None for r in records),
        checks=np.array([_checks(r) for r in records], np.int64),
        refused=np.array([sum(not check.accepted for check in r.verified.values()) for r in records], np.int64),
        shortlist_checks=np.array(missed, np.bool_),
        active=_floats(int(r.schedule.active.sum()) if r.schedule else None for r in records),
        predictor_seconds=_floats(times.predictor if times else None for times in scheduled),
        seconds=_floats(times.total - times.recording if times else None for times in scheduled),
        ranks=_floats(map(_rank, records)),
        scores=scores,
        labels=labels,
        passes=_passes(records),
        free_layers=sample.free.exit_layers[1:] - 1 if sample.free else None,
        dense_argmax_equal=sample.dense_argmax_equal,
        log_probabilities=sample.log_probabilities,
        dense_log_probabilities=sample.dense_log_probabilities,
        heads=sample.heads,
    )


def exit_labels(record: TokenRecord) -> BoolArray:
    """Per layer of an audited token, whether leaving there would have been right and verified. Shape [L]."""
    assert record.audit is not None, "only audited tokens have labels"
    assert record.draft is not None, "only drafted tokens have candidates"
    final = record.audit.full_depth_id
    labels: BoolArray = (record.audit.token_ids == final) & bool(np.isin(final, record.draft.candidate_ids))
    return labels


def _judged(records: Sequence[TokenRecord], depth: int) -> tuple[FloatArray, BoolArray]:
    """Scores and labels, [a, L] each, of the tokens whose every predictor was audited."""
    whole = [r for r in records if r.audit and r.draft and not np.isnan(r.audit.scores[:-1]).any()]
    if not whole:
        return np.zeros((0, depth), np.float32), np.zeros((0, depth), np.bool_)
    return np.array([r.audit.scores for r in whole if r.audit]), np.array([exit_labels(r) for r in whole])


def _checks(record: TokenRecord) -> int:
    """Checks against the vocabulary; a tree's count once, for the first token of its pass."""
    if record.tree is None:
        return len(record.verified)
    return len(record.tree.verified) if record.token == record.tree.drafted.token else 0


def _rank(record: TokenRecord) -> float | None:
    if not (record.audit and record.draft):
        return None
    places = np.flatnonzero(record.draft.candidate_ids == record.audit.full_depth_id)
    return float(places[0]) if len(places) else float(max(CANDIDATES, len(record.draft.candidate_ids)))


def _passes(records: Sequence[TokenRecord]) -> int:
    """Passes of the target: one a token, or one a tree."""
    return sum(record.tree is None or record.token == record.tree.drafted.token for record in records)


def _early(record: TokenRecord) -> bool:
    emitted = record.emitted
    return emitted is not None and emitted.reason is not ExitReason.PREFILL and emitted.exit_layer < record.depth


def _floats(values: Iterable[float | None]) -> FloatArray:
    return np.array([np.nan if value is None else value for value in values], np.float32)
