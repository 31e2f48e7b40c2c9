"""What follows the first paint: slow imports in a thread of their own, the views one by one, then the model.

The window is there half a second earlier so, and answers all the while.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6 import QtCore, QtGui, QtWidgets
from PySide6.QtCore import QObject, QThread, QTimer, Signal, Slot

from app.calm import calm_collector
from app.loader import Loader, load_engine
from app.main_window import MainWindow

if TYPE_CHECKING:
    from app.workbench import Workbench

SLOW = ("numpy", "pyqtgraph", "app.workbench")
"""Imported after the first paint; the last one brings all others of ours with it."""

CLASSES_AT_ONCE = 24
"""Classes of Qt's that are made in one turn of the window, some milliseconds of work."""


def make_classes() -> Iterator[None]:
    """Have PySide make all its classes and enums, some a step, in the thread that paints.

    It makes each when it is first asked for, and not safely: pyqtgraph asks for all of them when it is imported, and
    while another thread did so, a launch ended now and then in a segmentation fault of the painting one.
    """
    for module in (QtCore, QtGui, QtWidgets):
        for at, name in enumerate(dir(module)):
            getattr(module, name)
            if at % CLASSES_AT_ONCE == 0:
                yield


class Importer(QThread):
    """Imports what the workbench needs, and keeps what went wrong."""

    error: Exception | None = None

    def run(self) -> None:
        try:
            for name in SLOW:
                importlib.import_module(name)
        except Exception as error:  # told where the thread ends; anything less would leave the window waiting
            self.error = error


class Opening(QObject):
    """Brings a window that has been painted to life. Call `close` once the application has ended."""

    ready = Signal(object)
    """The `Workbench`, built; the model is loaded next."""
    failed = Signal()
    """The window cannot come to life; `error` tells why."""

    def __init__(
        self, window: MainWindow, model: str | None, loader: Loader = load_engine, file: Path | None = None
    ) -> None:
        """`model` is the name, folder, file or hub id to open, and `file` a session; None opens none."""
        super().__init__()
        self.window = window
        self._loader = loader
        self.workbench: Workbench | None = None
        self.error: Exception | None = None
        self._model = model
        self._file = file
        self._calm = ExitStack()
        self._steps: Iterator[None] = iter(())
        self._then: Callable[[], None] | None = None
        """What follows the last step; not kept beyond it, or it would keep this."""
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._step)
        self._closed = False
        self._importer = Importer(self)
        self._importer.finished.connect(self._imported)
        window.shown.connect(self._begin)
        window.closed.connect(self.close)
        window.status.progress.cancelled.connect(self._cancel)

    @Slot()
    def close(self) -> None:
        """End what is under way, and the session; at any time, and more than once."""
        self._closed = True
        self._timer.stop()
        self._then = None
        self._importer.wait()
        self._calm.close()
        if self.workbench is not None:
            self.workbench.close()

    @Slot()
    def _begin(self) -> None:
        self._calm.enter_context(calm_collector())
        self._take_steps(make_classes(), self._importer.start)

    @Slot()
    def _cancel(self) -> None:
        """The user does not want the model that would be opened; later the session is what takes this."""
        self._model = None

    @Slot()
    def _imported(self) -> None:
        if self._closed:
            return
        if self._importer.error is not None:
            self._fail(self._importer.error)
            return
        from app.recorder import Recorder
        from app.session import Session
        from app.workbench import Workbench

        self.workbench = Workbench(Session(self._loader, Recorder()), self.window)
        self._take_steps(chain(self.workbench.build(), self.workbench.views.warm_up()), self._finish)

    def _take_steps(self, steps: Iterator[None], then: Callable[[], None]) -> None:
        self._steps, self._then = steps, then
        self._timer.start(0)

    @Slot()
    def _step(self) -> None:
        """One step, after which the window may paint and answer."""
        try:
            next(self._steps)
        except StopIteration:
            self._timer.stop()
            then, self._then = self._then, None
            if then is not None:
                then()
        except Exception as error:  # half a window is no use to anyone
            self._fail(error)

    def _finish(self) -> None:
        self._calm.close()
        assert self.workbench is not None, "it was built step by step"
        self.ready.emit(self.workbench)
        if self._file is not None:
            self.workbench.files.open(self._file)
        self.workbench.recovery.look()
        self.workbench.tour.offer()
        if self._model is not None:
            self.workbench.flow.open(self._model)

    def _fail(self, error: Exception) -> None:
        self._timer.stop()
        self._then = None
        self.error = error
        self.failed.emit()
