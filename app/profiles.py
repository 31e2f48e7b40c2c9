"""Named settings of SpecEE: the paper's, and what was measured to be right for the model at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.form_values import FOLLOW_MODEL
from core.config import SchedulerSettings

PAPER = "paper"
CUSTOM = "custom"
"""No profile: the values have been changed."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A threshold, and the scheduler that goes with it."""

    key: str
    threshold: float
    tip: str
    scheduler: SchedulerSettings = field(default_factory=SchedulerSettings)

    def fits(self, threshold: float, scheduler: SchedulerSettings) -> bool:
        """Whether these are its values."""
        return self.threshold == threshold and self.scheduler == scheduler


@dataclass(frozen=True, slots=True)
class Measured:
    """What one threshold did on prompts that nothing was learned from, with a predictor on every layer."""

    threshold: float
    agreement: float
    """Share of tokens that are the full-depth token."""
    mean_exit_layer: float
    """Layers run, 1…L."""
    early: float
    """Share of tokens that leave before the last layer."""
    verifications: float
    """Full-vocabulary checks a token."""


_PAPER = Profile(PAPER, 0.5, "The paper's values: threshold 0.5 (SpecEE §4.3), N 5, r 2, M 8 (SpecEE §5.3)")


def profiles_of(card: Mapping[str, Any]) -> tuple[Profile, ...]:
    """The profiles for a model with trained parts of this card, the one to begin with first."""
    threshold = card.get("recommended_threshold")
    if not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        return (_PAPER,)
    tip = "The lowest threshold that kept to the full-depth tokens when the parts were made, with the paper's N, r, M"
    return Profile(FOLLOW_MODEL, float(threshold), tip), _PAPER


def frontier_of(card: Mapping[str, Any]) -> tuple[Measured, ...]:
    """The card's measured thresholds; those that are not whole are left out."""
    points = card.get("frontier")
    found = [_measured(point) for point in points] if isinstance(points, list) else []
    return tuple(point for point in found if point is not None)


def measured_at(frontier: tuple[Measured, ...], threshold: float) -> Measured | None:
    """What was measured at exactly this threshold; None where nothing was."""
    return next((point for point in frontier if abs(point.threshold - threshold) < 1e-6), None)


def _measured(point: object) -> Measured | None:
    values = [point.get(name) for name in Measured.__slots__] if isinstance(point, dict) else [None]
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    return Measured(*numbers) if len(numbers) == len(Measured.__slots__) else None
