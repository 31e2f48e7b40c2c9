"""Default settings made to fit a shallow model."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from core.config import RunSettings

DEPTH_BOUND = ("radius", "offline_layers")
"""r and M: no larger than the number of layers with predictors."""


def shrink(settings: RunSettings, depth: int, names: Iterable[str] = DEPTH_BOUND) -> RunSettings:
    """The same settings with these scheduler values no larger than a model of `depth` layers takes."""
    smaller = {name: min(getattr(settings.scheduler, name), depth - 1) for name in names}
    return dataclasses.replace(settings, scheduler=dataclasses.replace(settings.scheduler, **smaller))
