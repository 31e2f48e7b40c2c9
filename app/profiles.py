"""Named settings of SpecEE: the paper's, and what was measured to be right for the model at hand."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from app.form_values import FOLLOW_MODEL
from core.choices import Head, Lens
from core.config import RunSettings, SchedulerSettings
from core.errors import UserError
from core.plain_values import from_plain

PAPER = "paper"
CUSTOM = "custom"
"""No profile: the values have been changed."""
DIGITS = 4
"""Decimals of thresholds and gates that a form shows."""


@dataclass(frozen=True, slots=True)
class Point:
    """Where SpecEE works: the fields of `RunSettings` that are tuned together. The defaults are the paper's values."""

    threshold: float = 0.5
    layer_thresholds: tuple[tuple[int, float], ...] = ()
    scheduler: SchedulerSettings = field(default_factory=SchedulerSettings)
    lens: Lens = Lens.IDENTITY
    gate: float = 0.0
    check: Head = Head.FULL
    draft_head: Head = Head.FULL

    @classmethod
    def of(cls, settings: RunSettings) -> Point:
        """The point that a run's settings are at."""
        return cls(**{name: getattr(settings, name) for name in POINT})

    @property
    def pieces(self) -> frozenset[str]:
        """The fields of `TrainedParts` that it needs beside drafter and predictors."""
        wants = {
            "lens": self.lens is Lens.TUNED,
            "slim": Head.SLIM in (self.check, self.draft_head),
            "trimmed": self.draft_head is Head.TRIMMED,
        }
        return frozenset(name for name, wanted in wants.items() if wanted)

    def values(self) -> dict[str, Any]:
        """Its fields by name."""
        return {name: getattr(self, name) for name in POINT}


POINT = tuple(one.name for one in fields(Point))
"""Names of a point's fields."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A point with a name."""

    key: str
    point: Point
    tip: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What one point did on prompts that nothing was learned from, with a predictor on every layer."""

    threshold: float
    agreement: float
    """Share of tokens that are the full-depth token."""
    mean_exit_layer: float
    """Layers run, 1…L."""
    early: float
    """Share of tokens that leave before the last layer."""
    verifications: float
    """Checks a token."""
    lens: Lens = Lens.IDENTITY
    gate: float = 0.0

    def is_at(self, point: Point) -> bool:
        """Whether this was measured there; schedulers and heads count for nothing."""
        same = self.lens is point.lens and not point.layer_thresholds
        return same and abs(self.threshold - point.threshold) < 1e-6 and abs(self.gate - point.gate) < 1e-6


_PAPER = Profile(
    PAPER,
    Point(),
    "The paper's values: threshold 0.5 (SpecEE §4.3.2), N 5, r 2 (SpecEE §5.3), M 8, no lens, no gate, full heads",
)


def profiles_of(card: Mapping[str, Any], pieces: Collection[str] = ()) -> tuple[Profile, ...]:
    """The profiles for a model with trained parts of this card, the one to begin with first.

    `pieces` names the fields of `TrainedParts` that are there beside drafter and predictors; a recommendation that
    wants others is none.
    """
    point = recommended(card)
    if point is None or not point.pieces <= frozenset(pieces):
        return (_PAPER,)
    tip = "What kept to the full-depth tokens and ran the fewest layers when the parts were made"
    return Profile(FOLLOW_MODEL, point, tip), _PAPER


def recommended(card: Mapping[str, Any]) -> Point | None:
    """The point that the card recommends; None where it does not, or not in a form that can be read.

    The card's entry "recommended" holds fields of `RunSettings`; those that are no part of a point are not looked at.
    Older cards have a number, "recommended_threshold".
    """
    given = card.get("recommended", {"threshold": card.get("recommended_threshold")})
    if not isinstance(given, Mapping):
        return None
    try:
        point = from_plain(Point, {name: given[name] for name in POINT if name in given}, required=["threshold"])
        RunSettings(**point.values())
    except (TypeError, ValueError, OverflowError, UserError):
        return None
    return replace(point, threshold=round(point.threshold, DIGITS), gate=round(point.gate, DIGITS))


def frontier_of(card: Mapping[str, Any]) -> tuple[Measured, ...]:
    """The card's measured points; those that are not whole are left out."""
    points = card.get("frontier")
    found = [_measured(point) for point in points] if isinstance(points, list) else []
    return tuple(point for point in found if point is not None)


def measured_at(frontier: tuple[Measured, ...], point: Point) -> Measured | None:
    """What was measured at exactly this point; None where nothing was."""
    return next((one for one in frontier if one.is_at(point)), None)


def _measured(point: object) -> Measured | None:
    if not isinstance(point, dict):
        return None
    known = {one.name for one in fields(Measured)}
    try:
        return from_plain(
            Measured,
            {name: value for name, value in point.items() if name in known},
            required=["threshold", "agreement", "mean_exit_layer", "early", "verifications"],
        )
    except (TypeError, ValueError, OverflowError):
        return None
