"""Training in a thread of its own: reports come out at the window's pace, the outcome once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QThread, Signal, Slot

from app.failure import Failure, describe
from core.progress import Cancelled, Progress, Report
from core.training.options import TrainOptions

Trainer = Callable[[TrainOptions, Report, threading.Event], Path]
"""Trains, tells how far it is, and returns the parts' folder; raises as `core.training.recipe.train`."""


def train_parts(options: TrainOptions, report: Report, cancel: threading.Event) -> Path:
    """The default `Trainer`."""
    from core.training.recipe import train

    return train(options, report, cancel)


class TrainingThread(QThread):
    """One training run. It is not the engine's thread, since decoding switches gradients off in there for good."""

    told = Signal()
    """There are reports to `take`; not repeated until they are taken."""
    over = Signal(object)
    """The parts' folder, a `Failure`, or None where it was stopped."""

    def __init__(self, trainer: Trainer, options: TrainOptions, parent: QObject) -> None:
        super().__init__(parent)
        self.setObjectName("training")
        self._trainer, self._options = trainer, options
        self._cancel = threading.Event()
        self._lock = threading.Lock()
        self._waiting: list[Progress] = []
        self._outcome: Path | Failure | None = None
        self.finished.connect(self._tell)

    def stop(self) -> None:
        """End soon; what is done stays for another run to go on from."""
        self._cancel.set()

    def take(self) -> list[Progress]:
        """The reports since the last time, in order; of those without figures only the newest of a row."""
        with self._lock:
            taken, self._waiting = self._waiting, []
        return taken

    def run(self) -> None:
        try:
            self._outcome = self._trainer(self._options, self._put, self._cancel)
        except Cancelled:
            self._outcome = None
        except BaseException as error:  # whatever it is, the window has to learn of it
            self._outcome = describe(error)

    def _put(self, progress: Progress) -> None:
        with self._lock:
            first = not self._waiting
            if self._waiting and not self._waiting[-1].figures:
                self._waiting.pop()
            self._waiting.append(progress)
        if first:
            self.told.emit()

    @Slot()
    def _tell(self) -> None:
        outcome, self._outcome = self._outcome, None
        self.over.emit(outcome)
        self.deleteLater()
