"""The window's bench on a very long session: opening it, scrubbing through it, stepping in it, and all of it again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

import psutil
from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QObject, Qt, QTimer, Signal
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from app.commands.window_long import write_long_session
from app.run_state import RunState
from core.config import RunSettings
from widgets.selection import Selection

if TYPE_CHECKING:
    from app.views import Views
    from app.workbench import Workbench

WARM_UP = 3
"""Rounds of which only the last counts when memory is watched."""
CYCLE_MOVES = 60
FRAME_PATIENCE_MS = 2000
"""A frame that has not come by then is not coming."""
KEY_MS = 33
"""Between two steps: a key that is held down comes again as often."""
CLOCK_MS = 1
PATIENCE_MS = 60_000
"""What takes longer than this will not come."""


class Frames(QObject):
    """Tells when one of some widgets is being painted."""

    painting = Signal()

    def __init__(self, *widgets: QWidget) -> None:
        super().__init__(widgets[0])
        self.count = 0
        for widget in widgets:
            widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Paint:
            self.count += 1
            self.painting.emit()
        return False

    def wait(self) -> None:
        """Until a frame is painted."""
        loop = QEventLoop()
        self.painting.connect(loop.quit)  # which ends it once the frame is done
        QTimer.singleShot(FRAME_PATIENCE_MS, loop, loop.quit)
        loop.exec()


class Watch:
    """Knows when every view in sight shows what the user chose."""

    def __init__(self, views: Views) -> None:
        self._views = views
        in_sight = [view for view in views.by_key.values() if not view.visibleRegion().isEmpty()]
        self._frames = [Frames(view, canvas_of(view)) for view in in_sight]
        self._before = [0] * len(in_sight)

    def begin(self) -> None:
        """Something is chosen now."""
        self._before = [frames.count for frames in self._frames]

    def wait(self) -> None:
        """Until all have been drawn and painted since, and nothing waits to be."""
        QCoreApplication.processEvents()
        until(self._is_done)
        QCoreApplication.processEvents()  # what was drawn last, such as a plot of which a legend was painted before

    def close(self) -> None:
        for frames in self._frames:
            frames.deleteLater()

    def _is_done(self) -> bool:
        pairs = zip(self._frames, self._before, strict=True)
        return self._views.is_idle and all(frames.count > before for frames, before in pairs)


def canvas_of(view: QWidget) -> QWidget:
    """What a view draws on; words in its place have the view itself painted.

    To listen to all its parts would take a twentieth of the time that is measured.
    """
    areas = [view] if isinstance(view, QAbstractScrollArea) else view.findChildren(QAbstractScrollArea)
    return next((area.viewport() for area in areas if area.isVisible()), view)


@dataclass(frozen=True, slots=True)
class Effort:
    """How long all of it takes."""

    tokens: int
    moves: int
    """Of the scrubber."""
    steps: int
    rounds: int
    """How often all of it is done to see whether memory grows."""


class LongSession:
    """Works through a window with a loaded model. Blocks, while the window goes on answering."""

    def __init__(self, work: Workbench, folder: Path, effort: Effort, prompt: str, settings: RunSettings) -> None:
        self._work, self._prompt, self._settings = work, prompt, settings
        self._path, self._effort, self._tokens = folder / "long.specee", effort, effort.tokens
        self._frames = Frames(work.views.tokens.viewport())

    def measure(self) -> dict[str, Any]:
        """The figures."""
        write_long_session(self._path, self._tokens)
        figures: dict[str, Any] = {"open_100k_s": self._open(), "long_tokens": self._tokens}
        figures["scrub_fps"] = self._scrub(self._effort.moves)
        figures["step_paint_ms"], figures["step_cpu_ms"] = self._step(self._effort.steps)
        return figures | self._cycle()

    def _open(self) -> float:
        """Seconds from the choice of the file to everything in sight being painted."""
        files, began = self._work.files, perf_counter()
        files.open(self._path)
        if files.dialog is not None:
            files.dialog.buttons["discard"].click()
        shown = self._work.session
        until(lambda: not files.is_busy and shown.trace is not None and len(shown.trace.records) == self._tokens)
        until(lambda: self._work.views.is_idle)
        self._frames_done()
        return perf_counter() - began

    def _scrub(self, moves: int) -> float:
        """Frames a second while the scrubber is drawn through the whole session and back, a move a frame, until every
        view has caught up."""
        slider, last = self._work.window.tools.scrubber.slider, self._tokens - 1
        slider.setValue(0)
        self._frames_done()
        watch = Watch(self._work.views)
        frames, began = 0, perf_counter()
        for move in range(1, moves + 1):
            share, before = 2 * move / moves, slider.value()
            wanted = round(last * (share if share <= 1 else 2 - share))
            if wanted != before:
                watch.begin()
                slider.setValue(wanted)
                self._frames.wait()
                frames += 1
        watch.wait()
        taken = perf_counter() - began
        watch.close()
        return frames / taken

    def _step(self, steps: int) -> tuple[float, float]:
        """Milliseconds from the key of a recorded step to every view in sight showing it, the 99th percentile; and what
        they took of a processor, which the machine's other users cannot lengthen by taking it away meanwhile."""
        from app.commands.window_probe import p99

        window = self._work.window
        self._work.session.select(Selection(self._tokens // 2))
        window.activateWindow()  # which has no keys otherwise
        self._frames_done()
        watch, taken, worked = Watch(self._work.views), [], []
        for _ in range(min(steps, self._tokens // 2 - 1)):
            before = self._work.session.selection.token
            watch.begin()
            began, spent = perf_counter(), thread_time()
            QTest.keyClick(window.windowHandle(), Qt.Key.Key_F10)
            if self._work.session.selection.token == before:
                raise RuntimeError("the key of a step did not step")
            watch.wait()
            worked.append((thread_time() - spent) * 1000)
            taken.append((perf_counter() - began) * 1000)
            QTest.qWait(KEY_MS)
        watch.close()
        return p99(taken), p99(worked)

    def _cycle(self) -> dict[str, Any]:
        """How memory grows while the session is opened, scrubbed and run in, again and again."""
        resident = []
        for _ in range(self._effort.rounds):
            self._open()
            self._scrub(min(CYCLE_MOVES, self._effort.moves))
            self._work.session.run(self._prompt, self._settings)
            until(lambda: self._work.session.state is RunState.FINISHED)
            until(lambda: self._work.views.is_idle)
            resident.append(psutil.Process().memory_info().rss / 2**20)
        return {"rss_growth": resident[-1] / resident[:WARM_UP][-1] - 1, "rss_mib": [round(one) for one in resident]}

    def _frames_done(self) -> None:
        """Paint what waits to be."""
        QCoreApplication.processEvents()


def idle_cpu(wait_ms: int) -> float:
    """The share of one processor's time that the process takes while nothing happens."""
    spent, began = time.process_time(), perf_counter()
    loop = QEventLoop()
    QTimer.singleShot(wait_ms, loop.quit)
    loop.exec()
    return (time.process_time() - spent) / (perf_counter() - began)


def until(condition: Callable[[], bool]) -> None:
    """Let the window work until something is so.

    Raises:
        RuntimeError: it is not so for far longer than it should take.
    """
    loop, clock = QEventLoop(), QTimer(interval=CLOCK_MS)
    clock.timeout.connect(lambda: loop.quit() if condition() else None)
    clock.start()
    QTimer.singleShot(PATIENCE_MS, loop, loop.quit)
    if not condition():
        loop.exec()
    if not condition():
        raise RuntimeError(f"the window was not done after {PATIENCE_MS / 1000:.0f} s")
