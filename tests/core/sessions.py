"""Session files for tests, written as the program writes them."""

from __future__ import annotations

import shutil
import tempfile
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
    """A session file as a killed process leaves it, with what SQLite keeps beside it."""
    with tempfile.TemporaryDirectory() as folder:
        writer = SessionWriter(Path(folder) / path.name)
        for event in events:
            writer.take(event)
        for name in (path.name, f"{path.name}-wal"):
            shutil.copyfile(Path(folder) / name, path.with_name(name))
        writer.abandon()
    return path
