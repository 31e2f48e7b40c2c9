"""Settings made to fit a shallow model, or another policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from app.form_values import FormValues
from core.config import RunSettings

DEPTH_BOUND = ("radius", "offline_layers")
"""r and M: no larger than the number of layers with predictors."""


def shrink(settings: RunSettings, depth: int, names: Iterable[str] = DEPTH_BOUND) -> RunSettings:
    """The same settings with these scheduler values no larger than a model of `depth` layers takes."""
    smaller = {name: min(getattr(settings.scheduler, name), depth - 1) for name in names}
    return dataclasses.replace(settings, scheduler=dataclasses.replace(settings.scheduler, **smaller))


def with_policy(settings: RunSettings, policy: dict[str, Any]) -> RunSettings:
    """The same settings under another policy, without those that it does not use.

    `policy` holds the fields that `core.config.policy_from_text` gives.
    """
    values = dataclasses.replace(FormValues().taking(settings), confidence=settings.threshold)
    return dataclasses.replace(values, **policy).run_settings(settings.chat_template)
