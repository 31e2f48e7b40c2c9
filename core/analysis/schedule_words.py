"""Why a layer's predictor was, was not or will be asked: the two-level scheduler T2 in words (SpecEE §5.3)."""

from __future__ import annotations

import numpy as np

from core.analysis.summaries import online_sources
from core.analysis.wording import bold, counted, joined, listed
from core.choices import Policy
from core.config import RunSettings
from core.trace.events import ScheduleChosen
from core.trace.trace import TokenRecord

SOURCES_NAMED = 3
"""How many past exits a sentence names before it only counts the rest."""


def active_set(record: TokenRecord, settings: RunSettings) -> str:
    """How many predictors were active for this token and where they came from; "" where no schedule is known."""
    schedule = record.schedule
    if schedule is None or not settings.policy.needs_parts:
        return ""
    most = bold(record.depth - 1)
    if settings.policy is Policy.SPECEE_T1:
        return f"T1 watches every layer but the last: {most} predictors."
    active, offline = int(schedule.active.sum()), int((schedule.active & schedule.offline).sum())
    return f"{bold(active)} of {most} predictors are active: {bold(offline)} offline{_around(schedule, settings)}."


def _around(schedule: ScheduleChosen, settings: RunSettings) -> str:
    ring, radius = len(schedule.ring_layers), settings.scheduler.radius
    if not ring:
        return "; no past exit has entered the ring yet"
    added = int((schedule.active & ~schedule.offline).sum())
    exits = "the last exit" if ring == 1 else f"the last {bold(ring)} exits"
    return f" and {bold(added)} more within {_within(radius)} of {exits}"


def why_watched(record: TokenRecord, layer: int, settings: RunSettings) -> str:
    """What made the predictor of this active layer active; "" where the trace does not say."""
    schedule = record.schedule
    if schedule is None or not settings.policy.needs_parts or not schedule.active[layer]:
        return ""
    if settings.policy is Policy.SPECEE_T1:
        return "Its predictor is active because T1 watches every layer but the last."
    reasons = []
    if schedule.offline[layer]:
        reasons.append(f"it is one of the {counted(int(schedule.offline.sum()), 'offline layer')}")
    radius = settings.scheduler.radius
    if sources := online_sources(record, layer, radius):
        reasons.append(f"{_named(sources)}, within {_within(radius)} of it")
    return f"Its predictor is active because {' and because '.join(reasons)}." if reasons else ""


def why_not(record: TokenRecord, layer: int, settings: RunSettings) -> str:
    """What kept the predictor of this layer from being active, as the end of a sentence; "" where not known.

    Only T1 and T2 are explained: a policy of the user's own makes its active sets by rules of its own.
    """
    schedule = record.schedule
    if schedule is None or not settings.policy.needs_parts or schedule.active[layer]:
        return ""
    count = int(schedule.offline.sum())
    offline = "it is not the offline layer" if count == 1 else f"it is none of the {bold(count)} offline layers"
    return f": {offline if count else 'no layer is offline'}, and {_nothing_near(schedule, layer, settings)}"


def _nothing_near(schedule: ScheduleChosen, layer: int, settings: RunSettings) -> str:
    if not len(schedule.ring_layers):
        return "no past exit has entered the ring yet"
    nearest = int(np.argmin(np.abs(schedule.ring_layers - layer)))
    token, at = int(schedule.ring_tokens[nearest]), int(schedule.ring_layers[nearest])
    return (
        f"no past exit in the ring lies within {_within(settings.scheduler.radius)} of it "
        f"(the nearest: {_left_at(token, at + 1)})"
    )


def will_be_watched(record: TokenRecord, layer: int, settings: RunSettings) -> str:
    """What is decided about a layer that the pass has not reached; "" where nothing is decided yet."""
    if not settings.policy.needs_parts:
        return ""
    if layer == record.depth - 1:
        return "It is the last: it needs no predictor and always ends the pass."
    if record.schedule is None:
        return ""
    if not record.schedule.active[layer]:
        return f"Its predictor will not be asked{why_not(record, layer, settings)}."
    return joined("Its predictor will be asked if the pass gets there.", why_watched(record, layer, settings))


def _named(sources: list[tuple[int, int]]) -> str:
    named = [_left_at(token, exit_layer) for token, exit_layer in sources[:SOURCES_NAMED]]
    rest = len(sources) - len(named)
    return listed(named + ([counted(rest, "more exit")] if rest else []))


def _left_at(token: int, exit_layer: int) -> str:
    return f"token {bold(token + 1)} left at layer {bold(exit_layer)}"


def _within(radius: int) -> str:
    return bold(f"±{radius}")
