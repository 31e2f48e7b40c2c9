"""What the training dialog says: the stages' names, how far a run is, and how it ended."""

from __future__ import annotations

from app.commands.training_lines import duration
from core.progress import Progress
from core.training.options import MINUTES, SHARES, STEPS, Stage

NAMES = {
    Stage.DATA: "Target’s answers",
    Stage.DRAFTER: "Drafter",
    Stage.HEAD: "Low-rank head",
    Stage.LENS: "Exit lens",
    Stage.PREDICTORS: "Exit predictors",
    Stage.PROFILE: "Exit profile",
    Stage.ADAINFER: "AdaInfer’s classifiers",
    Stage.TUNE: "Operating point",
}
TIPS = {
    Stage.DATA: "The model answers the prompts, and prompts that it writes itself; everything else learns from that",
    Stage.DRAFTER: "The small network that guesses the next tokens: the longer, the more of its guesses are right",
    Stage.HEAD: "A cheaper last step for the drafter",
    Stage.LENS: "A correction that lets the head read the layers before the last one",
    Stage.PREDICTORS: "The small networks that say at each layer whether a token may leave",
    Stage.PROFILE: "Counts where tokens leave, for the offline half of the scheduler",
    Stage.ADAINFER: "A baseline to compare with; left out where its libraries are missing",
    Stage.TUNE: "Finds the threshold and the settings that runs take by default",
}
ABOUT = (
    "SpecEE needs a drafter and exit predictors that were trained for exactly this model. While they are being trained "
    "the engine cannot run prompts; a run that is under way ends. Stop keeps what is done for later."
)
NO_MODEL = "No model is open; open the one to train for, then come back."
BUDGET_NOTE = (
    "What the stages reach depends on the time they get; the default model’s parts are made with about "
    f"{sum(MINUTES.values())} minutes. Times are approximate."
)
RESUME = "Go on with the unfinished run in this folder"
THROWS_AWAY = "An unfinished run lies beside this folder; starting without going on from it throws it away."
STOPPED = f"Stopped. What is done is kept; with “{RESUME}” ticked, Start takes it up again."
CLOSING = (
    "Stop the training?",
    "Closing this stops the training. What is done is kept, and a later start can go on from it.",
)
NO_CURVES = {
    Stage.DATA: "Nothing is trained in this stage: the model writes the answers that the others learn from.",
    Stage.PROFILE: "Nothing is trained in this stage: it counts where tokens leave.",
    Stage.ADAINFER: "These classifiers are fitted at one go; there is no course to show.",
    Stage.TUNE: "Nothing is trained in this stage: it tries settings.",
}


def minutes(stage: Stage, budget: float) -> str:
    """About how long a stage takes of a budget in minutes."""
    return duration(60 * budget * SHARES[stage])


def stage_of(progress: Progress) -> Stage | None:
    """The stage that a report comes from; None before the first and for what is none of the recipe's."""
    return next((stage for stage in STEPS if stage.value == progress.part), None)


def share_done(progress: Progress) -> float:
    """How much of the whole budget lies behind, 0…1."""
    stage = stage_of(progress)
    if stage is None:
        return 0.0
    before = sum(SHARES[one] for one in STEPS[: STEPS.index(stage)])
    within = min(1.0, progress.done / progress.total) if progress.total else 0.0
    return before + SHARES[stage] * within


def rest(share: float, budget: float) -> str:
    """About how long the whole run may still take."""
    return f"{share:.0%} · about {duration(60 * budget * (1 - share))} left of {duration(60 * budget)}"


def trained(folder: str, loaded: bool) -> str:
    """Where the new parts are, and whether runs have them already."""
    return (
        f"Trained. The parts are in {folder}{'; the model runs with them now' if loaded else ' and are being loaded'}."
    )
