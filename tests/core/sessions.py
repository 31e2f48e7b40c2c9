"""Session files for tests, written as the program writes them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from core.trace.events import Event, FloatArray
from core.trace.session_writer import SessionWriter

WEIGHTS: dict[str, FloatArray] = {"w1": np.arange(24, dtype=np.float32).reshape(2, 3, 4), "b2": np.ones(2, np.float32)}


def written(path: Path, *runs: Iterable[Event]) -> Path:
    """A session file at rest that holds these runs."""
    writer = SessionWriter(path)
    for run in runs:
        for event in run:
            writer.take(event)
    writer.close()
    return path


def left_open(path: Path, events: Iterable[Event]) -> Path:
    """A session file as a killed process leaves it."""
    writer = SessionWriter(path)
    for event in events:
        writer.take(event)
    writer.abandon()
    return path
