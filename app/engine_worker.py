"""The object that lives in the engine's thread: it loads models and runs prompts, and never touches a widget."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from app.failure import Failure, describe
from app.live_watch import LiveWatch
from app.loader import LoadedEngine, LoadedSummary, Loader, ModelMissing, ModelRequest
from app.mailbox import Item, LoadOver, Mailbox, Notice, RecordingStopped, RunMoved, RunOver
from app.recorder import Recorder
from app.run_control import RunControl
from app.run_state import RunState
from core.config import RunSettings
from core.errors import UserError
from core.progress import Cancelled
from core.trace.events import EndReason, Event, FloatArray, RunEnded, RunStarted
from core.trace.fork import Fork


@dataclass(frozen=True, slots=True)
class LoadOrder:
    """One request to load, and the way to call it off."""

    ticket: int
    request: ModelRequest
    cancel: threading.Event


@dataclass(frozen=True, slots=True)
class RunOrder:
    """One run, and the way to hold and stop it."""

    run: int
    prompt: str
    settings: RunSettings
    control: RunControl
    fork: Fork | None = None
    """The run that it branches off."""


def leave_a_core(request: ModelRequest) -> ModelRequest:
    """The request with its number of threads settled: where the user leaves it open, one core is the window's.

    With every core computing, drawing and decoding wait for each other: on two cores two threads decoded more slowly
    beside the window than one, and the window missed frames.
    """
    return replace(request, threads=request.threads or max(1, (os.cpu_count() or 1) - 1))


class EngineWorker(QObject):
    """Carries out orders one after the other and puts everything that comes of them into the mailbox.

    Nothing it does raises: whatever goes wrong arrives as a `Failure`, and the worker takes the next order.
    """

    events_ready = Signal()
    """The mailbox has something, after it had been found empty; not repeated until it is found empty again."""
    settled = Signal()
    """The mailbox has something that is worth looking at once: a held, released or ended run, a loaded model."""

    def __init__(
        self, loader: Loader, mailbox: Mailbox, recorder: Recorder | None = None, watch: LiveWatch | None = None
    ) -> None:
        super().__init__()
        self._watch = watch or LiveWatch()
        self._loader = loader
        self._mailbox = mailbox
        self._recorder = recorder
        self._engine: LoadedEngine | None = None

    @Slot(object)
    def load_model(self, order: LoadOrder) -> None:
        """Load a model; the one loaded before stays until the new one is there."""
        self._settle(LoadOver(order.ticket, self._load(order)))

    @Slot(object)
    def run(self, order: RunOrder) -> None:
        """Run a prompt to its end, held wherever the order's control says so."""
        self._settle(RunOver(order.run, self._run(order)))

    def _load(self, order: LoadOrder) -> LoadedSummary | ModelMissing | Failure | None:
        try:
            request = leave_a_core(order.request)
            engine = None if order.cancel.is_set() else self._loader(request, self._post, order.cancel)
        except Cancelled:
            return None
        except ModelMissing as missing:
            return ModelMissing(missing.ref, missing.size, missing.licence)  # without frames that may hold a model
        except Exception as error:
            return describe(error)
        if engine is None or order.cancel.is_set():
            return None
        self._engine = engine
        return engine.summary

    def _run(self, order: RunOrder) -> Failure | None:
        last: Event | None = None
        failure = None
        try:
            for last in self._events(order):
                self._tell(last)
                self._watch_for(last, order.control)
                order.control.gate(last, partial(self._announce, order.run))
        except BaseException as error:  # an exit policy of the user's own may raise even SystemExit
            failure = describe(error)
        if last is not None and not isinstance(last, RunEnded):
            self._tell(_end_of(order.run, failure))
        return failure

    def _tell(self, event: Event) -> None:
        """Record the event, then hand it on: what the window shows is on its way to the disk."""
        if self._recorder is not None:
            try:
                self._recorder.take(event, self._weights(event))
            except UserError as error:
                self._settle(RecordingStopped(event.run, describe(error)))
        self._post(event)

    def _watch_for(self, event: Event, control: RunControl) -> None:
        """Have the run held after an event that a breakpoint waits for."""
        if (halt := self._watch.look(event)) is not None and not control.stop_event.is_set():
            control.pause()
            self._mailbox.put(halt)

    def _weights(self, event: Event) -> Mapping[str, FloatArray] | None:
        if isinstance(event, RunStarted) and self._engine is not None:
            return self._engine.weights(event.settings)
        return None

    def _events(self, order: RunOrder) -> Iterator[Event]:
        if self._engine is None:
            raise UserError("No model is loaded; choose one first.")
        control = order.control
        return self._engine.run(order.prompt, order.settings, order.run, control.stop_event, control.clock, order.fork)

    def _announce(self, run: int, held: bool) -> None:
        self._settle(RunMoved(run, RunState.PAUSED if held else RunState.RUNNING))

    def _post(self, item: Item) -> None:
        if self._mailbox.put(item):
            self.events_ready.emit()

    def _settle(self, notice: Notice) -> None:
        self._mailbox.put(notice)
        self.settled.emit()


def _end_of(run: int, failure: Failure | None) -> RunEnded:
    """The end of a run whose engine could not tell it, so that every trace that began has one."""
    if failure is None:
        return RunEnded(run, EndReason.STOPPED, "Stopped.")
    return RunEnded(run, EndReason.FAILED, failure.sentence)
