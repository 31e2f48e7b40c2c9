"""What the user may choose about a training run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from core.errors import UserError


class Stage(StrEnum):
    """The steps of the recipe, each built on the one before."""

    DATA = "data"
    DRAFTER = "drafter"
    PREDICTORS = "predictors"
    PROFILE = "profile"
    ALL = "all"
    """The four above."""
    ADAINFER = "adainfer"
    """The baseline's classifiers, added to parts that are there; the drafter and predictors do not depend on them."""


STEPS = (Stage.DATA, Stage.DRAFTER, Stage.PREDICTORS, Stage.PROFILE)

SHARES = {Stage.DATA: 0.26, Stage.DRAFTER: 0.38, Stage.PREDICTORS: 0.30, Stage.PROFILE: 0.06}
"""Each stage's part of the budget."""


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """One training run."""

    model: str
    """As `core.model.store.ModelStore.resolve` takes it."""
    prompts: tuple[Path, ...]
    """JSON Lines files."""
    out: Path | None = None
    """Folder for the parts; None is a folder of the model's name among the user's parts."""
    budget_minutes: float = 12.0
    """About how long the four stages may take together; what they reach depends on it."""
    seed: int = 0
    resume: bool = False
    """Go on from what an interrupted run left beside `out`; otherwise that is thrown away."""
    stage: Stage = Stage.ALL

    def __post_init__(self) -> None:
        if not self.budget_minutes > 0:
            raise UserError(f"The budget is {self.budget_minutes:g} minutes; it must be above 0.")
        if not self.prompts:
            raise UserError("Training needs prompt files; name at least one.")

    @property
    def steps(self) -> tuple[Stage, ...]:
        """The stages to run."""
        return STEPS if self.stage == Stage.ALL else (Stage(self.stage),)

    def seconds(self, stage: Stage) -> float:
        """The stage's part of the budget."""
        return 60 * self.budget_minutes * SHARES[stage]
