"""The engine's thread as the window sees it: orders go in, events come out at the window's pace.

A fast engine makes thousands of events a second. They wait in the mailbox and are handed on in portions, at most one
a frame, so that neither a fast engine nor a slow view can hold up the window. What the user waits for (a step, a
pause, an end) is handed on at once.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, QThread, QTimer, Signal, Slot

from app.engine_worker import EngineWorker, LoadOrder, RunOrder
from app.live_watch import Halt, LiveWatch
from app.loader import Loader
from app.mailbox import Mailbox, Notice
from app.recorder import Recorder
from core.progress import Progress

FRAME_MS = 16
"""Time between two portions while the engine runs freely: 60 a second."""
PORTION = 1000
"""Most events handed on at once: a few milliseconds of appending to a trace."""

_QUEUED = Qt.ConnectionType.QueuedConnection


class EngineThread(QObject):
    """Owns worker and thread. Lives in the GUI thread; call `close` before letting go of it."""

    arrived = Signal(object)
    """A list of events in order, never empty."""
    noticed = Signal(object)
    """A `Notice`, after all events that came before it."""
    progressed = Signal(object)
    """The newest `Progress`."""
    halted = Signal(object)
    """A `Halt`: what the run is being held for, after all events that came before it."""

    _load_ordered = Signal(object)
    _run_ordered = Signal(object)

    def __init__(self, loader: Loader, recorder: Recorder | None = None, parent: QObject | None = None) -> None:
        """`recorder` is given every event before it arrives."""
        super().__init__(parent)
        self.watch = LiveWatch()
        self._mailbox = Mailbox()
        self._closed = False
        self._frame = QTimer(self)
        self._frame.setSingleShot(True)
        self._frame.setTimerType(Qt.TimerType.PreciseTimer)
        self._frame.timeout.connect(self._deliver)
        self._thread = QThread(self)
        self._thread.setObjectName("engine")
        self._worker = EngineWorker(loader, self._mailbox, recorder, self.watch)
        self._worker.moveToThread(self._thread)
        self._load_ordered.connect(self._worker.load_model, _QUEUED)
        self._run_ordered.connect(self._worker.run, _QUEUED)
        self._worker.events_ready.connect(self._deliver_soon, _QUEUED)
        self._worker.settled.connect(self._deliver, _QUEUED)
        self._thread.start()

    def load(self, order: LoadOrder) -> None:
        """Queue a load behind what is under way."""
        self._load_ordered.emit(order)

    def run(self, order: RunOrder) -> None:
        """Queue a run behind what is under way."""
        self._run_ordered.emit(order)

    def close(self) -> None:
        """End the thread once its present order is done, which the caller has stopped; more than once is fine."""
        self._closed = True
        self._frame.stop()
        self._thread.quit()
        self._thread.wait()

    @Slot()
    def _deliver_soon(self) -> None:
        if not self._closed and not self._frame.isActive():
            self._frame.start(FRAME_MS)

    @Slot()
    def _deliver(self) -> None:
        """Hand on one portion. The next is arranged first: a receiver may open a dialog that runs its own loop."""
        items = [] if self._closed else self._mailbox.take(PORTION)
        if not items:
            return
        self._frame.start(0 if isinstance(items[-1], Notice) else FRAME_MS)
        events = [item for item in items if not isinstance(item, Notice | Progress)]
        if events:
            self.arrived.emit(events)
        for item in items:
            if isinstance(item, Progress):
                self.progressed.emit(item)
            elif isinstance(item, Halt):
                self.halted.emit(item)
            elif isinstance(item, Notice):
                self.noticed.emit(item)
