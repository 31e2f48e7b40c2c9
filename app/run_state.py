"""What the session is doing, as one word; apart from the run's control, so that the first window needs no engine."""

from __future__ import annotations

from enum import StrEnum


class RunState(StrEnum):
    """What the session is doing; the window draws one look for each."""

    NO_MODEL = "no model"
    """Nothing is loaded, and nothing is on its way."""
    LOADING = "loading"
    """A model is being fetched or loaded; an older one may still be there, and its trace is still on show."""
    READY = "ready"
    """A model is loaded and waits for a prompt."""
    RUNNING = "running"
    PAUSED = "paused"
    """A run is held between two events; a step that takes only a moment does not leave this state."""
    FINISHED = "finished"
    """The last run ended or was stopped; its trace is on show."""
    FAILED = "failed"
    """The last run broke off, or no model could be loaded; what had been shown before is kept."""
