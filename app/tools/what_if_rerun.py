"""What is kept of a re-run that shall tell the truth about a what-if."""

from __future__ import annotations

from dataclasses import dataclass

from core.analysis.what_if import Decisions
from core.analysis.what_if_trees import TreeDecisions
from core.config import RunSettings


@dataclass(frozen=True, slots=True)
class Rerun:
    """A run that shall tell the truth about a what-if."""

    settings: RunSettings
    prompt: str
    decided: Decisions | TreeDecisions
    of: int
    """The number of the run that was decided anew."""
    run: int | None = None
    """Its own number, once it has begun."""
    words: str = ""
    """What it said, once it is over."""
