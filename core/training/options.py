"""What the user may choose about a training run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from core.errors import UserError


class Stage(StrEnum):
    """The steps of the recipe, see `BUILDS_ON`."""

    DATA = "data"
    """Answers of the target."""
    DRAFTER = "drafter"
    HEAD = "head"
    """The drafter's low-rank LM head."""
    LENS = "lens"
    """The correction of each layer's state before the LM head."""
    PREDICTORS = "predictors"
    PROFILE = "profile"
    """How often tokens exit at each layer."""
    ADAINFER = "adainfer"
    """The baseline's classifiers, added to parts that are there; nothing else depends on them."""
    TUNE = "tune"
    """The operating point."""
    ALL = "all"
    """All of them in this order."""
    ABLATIONS = "ablations"
    """What the predictors' inputs and size are worth: a table for people, no part of the recipe."""


TUNED = "tune.json"
"""Of the last stage: there once a run has come to its end."""

STEPS = tuple(stage for stage in Stage if stage not in (Stage.ALL, Stage.ABLATIONS))

BUILDS_ON: dict[Stage, tuple[Stage, ...]] = {
    Stage.DATA: (),
    Stage.DRAFTER: (Stage.DATA,),
    Stage.HEAD: (Stage.DRAFTER,),
    Stage.LENS: (Stage.DATA,),
    Stage.PREDICTORS: (Stage.DRAFTER, Stage.LENS),
    Stage.PROFILE: (Stage.PREDICTORS,),
    Stage.ADAINFER: (Stage.DATA,),
    Stage.TUNE: (Stage.HEAD, Stage.PROFILE),
}
"""What each stage takes directly from others."""


def outdated_by(stages: Iterable[Stage]) -> tuple[Stage, ...]:
    """These stages and all that build on them, in order: what is worth nothing once these are run anew."""
    found = set(stages)
    for stage in STEPS:
        if found.intersection(BUILDS_ON[stage]):
            found.add(stage)
    return tuple(stage for stage in Stage if stage in found)


MINUTES = {
    Stage.DATA: 50,
    Stage.DRAFTER: 60,
    Stage.HEAD: 6,
    Stage.LENS: 12,
    Stage.PREDICTORS: 5,
    Stage.PROFILE: 4,
    Stage.ADAINFER: 4,
    Stage.TUNE: 9,
}
"""What each stage takes of the whole recipe as the default model's parts are made."""

SHARES = {stage: minutes / sum(MINUTES.values()) for stage, minutes in MINUTES.items()}
"""Each stage's part of the budget."""


def workplace(out: Path) -> Path:
    """Where a run that makes the parts in `out` keeps what its stages have made."""
    return out.with_name(out.name + ".training")


def is_unfinished(out: Path) -> bool:
    """Whether a run over all stages was broken off there, so that another one may go on from it."""
    place = workplace(out)
    return any((place / stage.value).is_dir() for stage in STEPS) and not (place / Stage.TUNE.value / TUNED).is_file()


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
    """About how long all stages may take together; what they reach depends on it."""
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
        """The stage's part of the budget; a stage that is no part of the recipe has all of it."""
        return 60 * self.budget_minutes * SHARES.get(stage, 1.0)
