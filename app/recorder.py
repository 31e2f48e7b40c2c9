"""Records every run of the window into this process's recovery file, while it happens. No Qt.

The engine's thread writes, one token after the other, before the window is told of it: whatever was on screen is on
its way to the disk. The window's thread sets marks and takes the file away.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from app.recovery import ORIGIN, RecoveryFile
from app.state_folder import recovery_folder
from core.errors import UserError
from core.trace.events import Event, FloatArray, RunEnded, RunStarted
from core.trace.marks import Mark
from core.trace.session_writer import SessionWriter


class Recorder:
    """This process's recovery file, made when there is something to record. Any thread may use it."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` is for tests; by default the user's own folder for such files."""
        self._folder = folder
        self._lock = threading.Lock()
        self._held: RecoveryFile | None = None
        self._writer: SessionWriter | None = None
        self._origin: Path | None = None
        self._retired: list[RecoveryFile] = []
        """Earlier files, which could not be written any further."""
        self._places: dict[int, Path] = {}
        """By its number, the file that has a run from its first event to its last one so far."""
        self._running: int | None = None

    def file_of(self, run: int) -> Path | None:
        """The file that has all of a run so far; None where none has. Never waits for the thread that writes."""
        return self._places.get(run)

    def take(self, event: Event, weights: Mapping[str, FloatArray] | None = None) -> None:
        """Record the next event of a run; `weights` as `SessionWriter.take` has them.

        Raises:
            UserError: it cannot be written. What follows of this run is not recorded, and the next run is tried anew.
        """
        with self._lock:
            if isinstance(event, RunStarted):
                self._running = event.run
            elif event.run not in self._places:
                return
            self._write(event, weights)
            if isinstance(event, RunEnded):
                self._running = None

    def put_mark(self, mark: Mark) -> None:
        """Record a bookmark or note; raises `UserError`."""
        with self._lock:
            self._open().put_mark(mark)

    def remove_mark(self, mark: Mark) -> None:
        """Record that a mark was taken away; raises `UserError`."""
        with self._lock:
            if self._writer is not None:
                self._writer.remove_mark(mark)

    def note_origin(self, path: Path | None) -> None:
        """Which session is open, beside which runs are recorded from now on."""
        with self._lock:
            self._origin = path
            if self._writer is not None:
                self._writer.note_fact(ORIGIN, str(path or ""))

    def start_over(self) -> bool:
        """Take the file away, as all of it has been saved; False, and all stays, where a run is being recorded."""
        with self._lock:
            if self._running is not None:
                return False
            self._let_go(keep=False)
            return True

    def close(self, *, keep: bool) -> None:
        """The last thing: take the file away, or keep it for the next launch to offer."""
        with self._lock:
            self._let_go(keep=keep)

    def _write(self, event: Event, weights: Mapping[str, FloatArray] | None) -> None:
        try:
            self._open().take(event, weights)
        except UserError:
            self._places.pop(event.run, None)
            self._retire()
            raise
        if isinstance(event, RunStarted) and self._held is not None:
            self._places[event.run] = self._held.path

    def _open(self) -> SessionWriter:
        if self._writer is None:
            self._held = RecoveryFile.new(self._folder or recovery_folder())
            self._writer = SessionWriter(self._held.path)
            if self._origin is not None:
                self._writer.note_fact(ORIGIN, str(self._origin))
        return self._writer

    def _retire(self) -> None:
        """Write no more into the present file; what it holds can still be read."""
        if self._writer is not None:
            self._writer.abandon()
        if self._held is not None:
            self._retired.append(self._held)
        self._writer = self._held = None

    def _let_go(self, *, keep: bool) -> None:
        self._retire()
        for held in self._retired:
            held.release() if keep else held.remove()
        self._retired.clear()
        self._places.clear()
