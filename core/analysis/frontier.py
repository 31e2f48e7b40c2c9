"""Agreement against mean exit layer, over thresholds: what boldness costs, decided anew from one audited run."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.analysis import summaries
from core.analysis.what_if import Decisions, Redecider
from core.analysis.wording import bold
from core.config import RunSettings
from core.trace.reading import ReadableTrace

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99)
WANTED = 0.99
"""The agreement that a recommended threshold must reach."""


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """One threshold, over the tokens after the first."""

    threshold: float
    mean_exit_layer: float
    """Layers run, 1…L."""
    agreement: float
    """Share of tokens that full depth would have given too."""
    early: float
    """Share of tokens that leave before the last layer."""
    verifications: float
    """Checks against the full vocabulary a token, the last layer's left out."""
    exact_tokens: int
    """How many of the tokens are decided as a run would decide them; the others are an estimate."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """All points, by rising threshold."""

    points: tuple[FrontierPoint, ...]
    tokens: int
    """How many tokens each point is made of."""

    @property
    def recommended(self) -> FrontierPoint | None:
        """The boldest threshold from which on every one reaches `WANTED`; None where the highest does not."""
        best = None
        for point in reversed(self.points):
            if point.agreement < WANTED:
                break
            best = point
        return best


def frontier(redecider: Redecider, settings: RunSettings, thresholds: Sequence[float] = THRESHOLDS) -> Frontier:
    """Decide the run anew for each threshold, `settings` giving all else; thresholds of single layers are dropped.

    Raises:
        UserError: as `Redecider.decide` says.
    """
    asked = [dataclasses.replace(settings, threshold=one, layer_thresholds=()) for one in sorted(thresholds)]
    if len(redecider.columns) < 2:
        return Frontier((), 0)
    return Frontier(tuple(point_of(redecider.decide(one)) for one in asked), len(redecider.columns) - 1)


def point_of(decided: Decisions) -> FrontierPoint:
    """What decisions come to; at least one token after the first must be there, and only audited ones count."""
    known = decided.final_ids >= 0
    known[0] = False
    counted = known if known.any() else np.arange(len(known)) > 0
    return FrontierPoint(
        threshold=decided.settings.threshold,
        mean_exit_layer=float(decided.exit_layers[counted].mean()),
        agreement=float(1 - decided.wrong[known].mean()) if known.any() else float("nan"),
        early=float(decided.early[counted].mean()),
        verifications=float(decided.proposed[counted].sum(1).mean()),
        exact_tokens=min(decided.estimate_from, len(decided.changed)) - 1,
    )


def live_point(trace: ReadableTrace) -> tuple[float, float] | None:
    """Where a run stands by itself: mean exit layer and agreement; None without audited tokens after the first."""
    mean, agreement = summaries.mean_exit_layer(trace), summaries.agreement(trace)
    return None if mean is None or agreement is None else (mean, agreement)


def advice(found: Frontier, current: float) -> str:
    """What the frontier says of the current threshold, as a sentence (minimal HTML); "" where it says nothing."""
    best = found.recommended
    if not found.points:
        return ""
    if best is None:
        return f"No threshold reaches {WANTED:.0%} agreement with full depth on these {bold(found.tokens)} tokens."
    bolder = "bolder than" if current < best.threshold else "more careful than" if current > best.threshold else "at"
    reached = f"a threshold of {bold(f'{best.threshold:g}')} (mean exit layer {bold(f'{best.mean_exit_layer:.2f}')})"
    tokens = f"On these {bold(found.tokens)} tokens"
    return f"{tokens} {WANTED:.0%} agreement takes {reached}; {bold(f'{current:g}')} is {bolder} that."


def on_frontier(found: Frontier) -> list[bool]:
    """Whether no other point both runs fewer layers and agrees at least as often, or the reverse."""
    layers = np.array([point.mean_exit_layer for point in found.points])
    agrees = np.array([point.agreement for point in found.points])
    no_worse = (layers[None] <= layers[:, None]) & (agrees[None] >= agrees[:, None])
    better = no_worse & ((layers[None] < layers[:, None]) | (agrees[None] > agrees[:, None]))
    return [not row.any() for row in better]
