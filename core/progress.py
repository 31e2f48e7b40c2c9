"""Progress of long work, told to whoever asked for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from core.errors import UserError


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a piece of long work has come."""

    message: str
    """What is being done, for the user: "Downloading the default model"."""
    done: int = 0
    total: int = 0
    """Same unit as `done`; 0 where the end is not known."""
    unit: str = ""
    """What is counted: "bytes", "layers", "steps"; "" for none."""
    part: str = ""
    """Which part of longer work this is, such as a stage of training; "" where the work is one."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Measured values by name, for curves: training tells its "step", its "loss", and on prompts held out the shares
    "top1" and "top4", each only where it has been measured anew."""


Report = Callable[[Progress], None]
"""Takes each `Progress`; may be called from any thread that does the work."""


class Cancelled(UserError):
    """The user asked to stop; nothing half-made is left behind."""


def quiet(_: Progress) -> None:
    """A `Report` for those who do not watch."""


def check(cancel: threading.Event | None) -> None:
    """Raise `Cancelled` once `cancel` is set."""
    if cancel is not None and cancel.is_set():
        raise Cancelled("Cancelled; nothing was changed.")
