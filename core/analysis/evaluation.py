"""What `specee-viewer evaluate` reports: figures over many audited runs. Torch-free; a figure that was not measured is
None (`docs/rules.md`, *Measures*, says what each one means)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.analysis.classification import predictor_quality
from core.analysis.digest import Digest
from core.analysis.hit_rates import hit_rate_curve, ring_sets

Doubles = NDArray[np.float64]

WINDOWS = range(1, 11)
"""The N of the hit rate's curve."""

Figure = Any
"""A number, or None; of the curve, a list of its points."""
Figures = dict[str, Figure]
Digests = Sequence[Digest]


def figures_of(digests: Digests) -> Figures:
    """Every figure over all prompts' tokens after the first, pooled; perplexities take in the first."""
    return {name: figure(digests) for name, figure in FIGURES.items()}


def figures_by_category(digests: Digests) -> dict[str, Figures]:
    """The same for each category on its own, by name."""
    names = sorted({one.category for one in digests})
    return {name: figures_of([one for one in digests if one.category == name]) for name in names}


def _all(digests: Digests, name: str) -> Doubles:
    """One array of all prompts, joined; those that have none are left out."""
    found = [array for one in digests if (array := getattr(one, name)) is not None]
    return np.concatenate(found).astype(np.float64) if found else np.zeros(0)


def _mean(values: Iterable[float] | Doubles) -> float | None:
    """The mean of what was measured."""
    known = np.asarray(list(values), np.float64)
    known = known[~np.isnan(known)]
    return float(known.mean()) if len(known) else None


def _mean_of(name: str) -> Callable[[Digests], Figure]:
    return lambda digests: _mean(_all(digests, name))


def _agreement_dense(digests: Digests) -> Figure:
    return _mean(equal for one in digests if one.dense_argmax_equal is not None for equal in one.dense_argmax_equal[1:])


def _exit_precision(digests: Digests) -> Figure:
    return _mean(_all(digests, "agrees")[_all(digests, "early").astype(bool)])


def _perplexity(name: str) -> Callable[[Digests], Figure]:
    def figure(digests: Digests) -> Figure:
        mean = _mean(_all(digests, name))
        return None if mean is None else math.exp(-mean)

    return figure


def _refusal_rate(digests: Digests) -> Figure:
    checks = _all(digests, "checks").sum()
    return float(_all(digests, "refused").sum() / checks) if checks else None


def _rings(digests: Digests) -> list[tuple[float, bool]]:
    found = []
    for one in digests:
        if one.free_layers is not None:
            rule = one.scheduler
            found += ring_sets(one.free_layers, one.depth, rule.window, rule.radius, rule.distinct)
    return found


def _hit_rate(digests: Digests) -> Figure:
    """Share of early exits that the ring alone would have watched, exits taken from runs with every predictor on."""
    return _mean(hit for _, hit in _rings(digests))


def _chance(digests: Digests) -> Figure:
    """Share of the layers in the ring's sets: what a set of that size would hit by chance."""
    return _mean(share for share, _ in _rings(digests))


def _hit_rate_curve(digests: Digests) -> Figure:
    """Both over N, at the r of the run."""
    free = [one for one in digests if one.free_layers is not None]
    if not free:
        return None
    answers = [one.free_layers for one in free if one.free_layers is not None]
    return hit_rate_curve(answers, free[0].depth, free[0].scheduler.radius, WINDOWS)


def _predictor_share(digests: Digests) -> Figure:
    """Predictors' share of the time that the token itself took, recording left out."""
    total = np.nansum(_all(digests, "seconds"))
    return float(np.nansum(_all(digests, "predictor_seconds")) / total) if total > 0 else None


def _drafter_top(k: int) -> Callable[[Digests], Figure]:
    def figure(digests: Digests) -> Figure:
        ranks = _all(digests, "ranks")
        return _mean(ranks[~np.isnan(ranks)] < k)

    return figure


def _predictor(field: str) -> Callable[[Digests], Figure]:
    """A quality of the predictors for the label `argmax = final ∧ ∈ S`, averaged over the late half of the layers."""

    def figure(digests: Digests) -> Figure:
        judged = [one for one in digests if len(one.scores)]
        if not judged:
            return None
        scores, labels = (np.concatenate([getattr(one, name) for one in judged]) for name in ("scores", "labels"))
        late = range(scores.shape[1] // 2, scores.shape[1] - 1)
        return _mean(getattr(predictor_quality(scores[:, layer], labels[:, layer]), field) for layer in late)

    return figure


def _acceptance_length(digests: Digests) -> Figure:
    """τ, tokens emitted a target pass. Without draft trees each pass emits its bonus token alone."""
    passes = sum(one.passes for one in digests)
    return sum(len(one.exit_layers) for one in digests) / passes if passes else None


def _rho(digests: Digests) -> Figure:
    """ρ_τ, the acceptance length of drafted chains through the low-rank head over that through the full one."""
    trials = [one.heads for one in digests if one.heads]
    chains = sum(trial.chains for trial in trials)
    if not chains:
        return None
    return (chains + sum(t.accepted_slim for t in trials)) / (chains + sum(t.accepted_full for t in trials))


def _nu(digests: Digests) -> Figure:
    """ν, the low-rank head's time over the full one's."""
    trials = [one.heads for one in digests if one.heads]
    return min(t.head_seconds[1] for t in trials) / min(t.head_seconds[0] for t in trials) if trials else None


def _kappa(digests: Digests) -> Figure:
    """κ, the time of the rest of a pass over that of its full drafting heads."""
    trials = [one.heads for one in digests if one.heads]
    if not trials:
        return None
    return min(t.other_seconds for t in trials) / min(t.depth * t.head_seconds[0] for t in trials)


FIGURES: dict[str, Callable[[Digests], Figure]] = {
    "agreement": _mean_of("agrees"),
    "agreement_dense": _agreement_dense,
    "exit_precision": _exit_precision,
    "perplexity_dense": _perplexity("dense_log_probabilities"),
    "perplexity": _perplexity("log_probabilities"),
    "mean_exit_layer": _mean_of("exit_layers"),
    "exit_share": _mean_of("early"),
    "refusal_rate": _refusal_rate,
    "verifications_per_token": _mean_of("checks"),
    "shortlist_miss_rate": _mean_of("shortlist_checks"),
    "scheduler_hit_rate": _hit_rate,
    "scheduler_chance": _chance,
    "hit_rate_curve": _hit_rate_curve,
    "active_layers_mean": _mean_of("active"),
    "predictor_time_share": _predictor_share,
    "drafter_top1": _drafter_top(1),
    "drafter_top4": _drafter_top(4),
    "predictor_accuracy": _predictor("accuracy"),
    "predictor_auc": _predictor("auc"),
    "predictor_ece": _predictor("ece"),
    "acceptance_length": _acceptance_length,
    "slimspec_rho": _rho,
    "slimspec_nu": _nu,
    "slimspec_kappa": _kappa,
}
