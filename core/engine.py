"""The engine: a model with its trained parts, whose runs are generators of events.

It prints nothing and knows no Qt; the window, the command line, the tests and the trainer all consume what it yields.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import torch

from core.decoding import Decoding, RunRequest
from core.exits.parts import TrainedParts
from core.model.loading import LoadedModel
from core.stopwatch import Clock
from core.trace.events import Event

__all__ = ["Engine", "RunRequest"]


class Engine:
    """A loaded model with its trained parts, ready to run prompts one at a time."""

    def __init__(self, model: LoadedModel, parts: TrainedParts | None = None) -> None:
        self.model, self.parts = model, parts

    @torch.inference_mode()
    def run(self, request: RunRequest, stop: threading.Event, clock: Clock = time.perf_counter) -> Iterator[Event]:
        """Generate, yielding every event as it happens, from `RunStarted` to `RunEnded`.

        Args:
            request: the prompt and its settings.
            stop: looked at between layers; once set, the run ends with `EndReason.STOPPED`.
            clock: times the stages; one that stands still during a pause keeps pauses out of `StageTimes`.

        Raises:
            UserError: before the first event, where the request cannot be run on this model.
        """
        yield from Decoding(self.model, self.parts, request, stop, clock).events()
