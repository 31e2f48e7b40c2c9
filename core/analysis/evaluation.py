"""What `specee-viewer evaluate` reports: figures over many audited runs. Torch-free; a figure that was not measured is
None (`specee.md` §0 for what each one means)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from core.analysis.classification import predictor_quality
from core.analysis.shortlist import miss_rate
from core.analysis.summaries import is_wrong
from core.config import Head
from core.exits.scheduling import count_around
from core.trace.events import BoolArray, ExitReason, FloatArray
from core.trace.trace import TokenRecord, Trace


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


Figure = float | None
Figures = dict[str, Figure]


def evaluate(samples: Sequence[Sample]) -> Figures:
    """Every figure over all samples' tokens after the first, pooled; perplexities take in the first."""
    return {name: figure(samples) for name, figure in FIGURES.items()}


def evaluate_by_category(samples: Sequence[Sample]) -> dict[str, Figures]:
    """The same for each category on its own, by name."""
    names = sorted({sample.category for sample in samples})
    return {name: evaluate([s for s in samples if s.category == name]) for name in names}


def _records(samples: Sequence[Sample]) -> list[TokenRecord]:
    return [record for sample in samples for record in sample.trace.emitted[1:]]


def _mean(values: Iterable[float]) -> Figure:
    listed = list(values)
    return float(np.mean(listed)) if listed else None


def _agreement(samples: Sequence[Sample]) -> Figure:
    return _mean(not is_wrong(r) for r in _records(samples) if r.audit)


def _agreement_dense(samples: Sequence[Sample]) -> Figure:
    return _mean(equal for s in samples if s.dense_argmax_equal is not None for equal in s.dense_argmax_equal[1:])


def _exit_precision(samples: Sequence[Sample]) -> Figure:
    return _mean(not is_wrong(r) for r in _records(samples) if r.audit and _early(r))


def _perplexity(of: Callable[[Sample], FloatArray | None]) -> Callable[[Sequence[Sample]], Figure]:
    def figure(samples: Sequence[Sample]) -> Figure:
        logs = [found for s in samples if (found := of(s)) is not None]
        mean = _mean(np.concatenate(logs)) if logs else None
        return None if mean is None else math.exp(-mean)

    return figure


def _mean_exit_layer(samples: Sequence[Sample]) -> Figure:
    return _mean(r.emitted.exit_layer for r in _records(samples) if r.emitted)


def _exit_share(samples: Sequence[Sample]) -> Figure:
    return _mean(_early(r) for r in _records(samples))


def _refusal_rate(samples: Sequence[Sample]) -> Figure:
    return _mean(not check.accepted for r in _records(samples) for check in r.verified.values())


def _verifications(samples: Sequence[Sample]) -> Figure:
    return _mean(len(r.verified) for r in _records(samples))


def _shortlist_miss_rate(samples: Sequence[Sample]) -> Figure:
    """Share of the checks by a shortlist whose token is not the layer's own over the whole vocabulary."""
    slim = [s for s in samples if s.trace.started and s.trace.started.settings.check is Head.SLIM]
    return miss_rate(_records(slim))


def _hit_rate(samples: Sequence[Sample]) -> Figure:
    """Share of early exits that the ring alone would have watched, exits taken from runs with every predictor on."""
    return _mean(hit for s in samples if s.free for _, hit in _ring_sets(s.free, s.trace))


def _chance(samples: Sequence[Sample]) -> Figure:
    """Share of the layers in the ring's sets: what a set of that size would hit by chance."""
    return _mean(share for s in samples if s.free for share, _ in _ring_sets(s.free, s.trace))


def _ring_sets(free: Trace, of: Trace) -> list[tuple[float, bool]]:
    """For each early exit of `free` with a full ring: the ring's share of the L - 1 layers, and whether it is in."""
    assert of.started is not None, "a finished run has started"
    scheduler, depth = of.started.settings.scheduler, free.depth
    layers = free.exit_layers - 1
    found = []
    for token in range(1 + scheduler.window, len(layers)):
        if layers[token] == depth - 1:
            continue
        counters = count_around(layers[token - scheduler.window : token], depth, scheduler.radius, scheduler.distinct)
        watched = counters[:-1] > 0
        found.append((float(watched.mean()), bool(watched[layers[token]])))
    return found


def _active_layers(samples: Sequence[Sample]) -> Figure:
    return _mean(int(r.schedule.active.sum()) for r in _records(samples) if r.schedule)


def _predictor_share(samples: Sequence[Sample]) -> Figure:
    """Predictors' share of the time that the token itself took, recording left out."""
    times = [r.emitted.times for r in _records(samples) if r.emitted and r.schedule]
    total = sum(t.total - t.recording for t in times)
    return sum(t.predictor for t in times) / total if total > 0 else None


def _drafter_top(k: int) -> Callable[[Sequence[Sample]], Figure]:
    def figure(samples: Sequence[Sample]) -> Figure:
        audited = [r for r in _records(samples) if r.audit and r.draft]
        return _mean(r.audit.full_depth_id in r.draft.candidate_ids[:k] for r in audited if r.audit and r.draft)

    return figure


def _predictor(field: str) -> Callable[[Sequence[Sample]], Figure]:
    """A quality of the predictors for the label `argmax = final ∧ ∈ S`, averaged over the late half of the layers."""

    def figure(samples: Sequence[Sample]) -> Figure:
        audited = [r for r in _records(samples) if r.audit and r.draft and not np.isnan(r.audit.scores[:-1]).any()]
        if not audited:
            return None
        scores = np.array([r.audit.scores for r in audited if r.audit])
        labels = np.array([exit_labels(r) for r in audited])
        late = range(scores.shape[1] // 2, scores.shape[1] - 1)
        values = [getattr(predictor_quality(scores[:, layer], labels[:, layer]), field) for layer in late]
        return _mean(value for value in values if not np.isnan(value))

    return figure


def exit_labels(record: TokenRecord) -> BoolArray:
    """Per layer of an audited token, whether leaving there would have been right and verified. Shape [L]."""
    assert record.audit is not None, "only audited tokens have labels"
    assert record.draft is not None, "only drafted tokens have candidates"
    final = record.audit.full_depth_id
    labels: BoolArray = (record.audit.token_ids == final) & bool(np.isin(final, record.draft.candidate_ids))
    return labels


def _acceptance_length(samples: Sequence[Sample]) -> Figure:
    """τ, tokens emitted a target pass. Without draft trees each pass emits its bonus token alone."""
    return _mean(1.0 for _ in _records(samples))


def _early(record: TokenRecord) -> bool:
    emitted = record.emitted
    return emitted is not None and emitted.reason is not ExitReason.PREFILL and emitted.exit_layer < record.depth


FIGURES: dict[str, Callable[[Sequence[Sample]], Figure]] = {
    "agreement": _agreement,
    "agreement_dense": _agreement_dense,
    "exit_precision": _exit_precision,
    "perplexity_dense": _perplexity(lambda s: s.dense_log_probabilities),
    "perplexity": _perplexity(lambda s: s.log_probabilities),
    "mean_exit_layer": _mean_exit_layer,
    "exit_share": _exit_share,
    "refusal_rate": _refusal_rate,
    "verifications_per_token": _verifications,
    "shortlist_miss_rate": _shortlist_miss_rate,
    "scheduler_hit_rate": _hit_rate,
    "scheduler_chance": _chance,
    "active_layers_mean": _active_layers,
    "predictor_time_share": _predictor_share,
    "drafter_top1": _drafter_top(1),
    "drafter_top4": _drafter_top(4),
    "predictor_accuracy": _predictor("accuracy"),
    "predictor_auc": _predictor("auc"),
    "predictor_ece": _predictor("ece"),
    "acceptance_length": _acceptance_length,
}
