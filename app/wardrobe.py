"""The stylesheet of a window, worn by its parts: each gets another one in its turn, and the window goes on answering.

Exchanging one that the application wears took 0.5 to 1.5 s in one stretch. Qt then styles every widget again for each
widget that it lies in; of a part, twice.
"""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QElapsedTimer, QObject, Slot
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from app.main_window import MainWindow
from app.panel import Panel
from widgets.throttle import Throttle

TURN_MS = 12
"""After so much time in a frame the next part has to wait for the next frame."""


class Wardrobe(QObject):
    """Dresses menus, bars, panels and dialogs: those in sight in frames of their own, panels out of sight when seen.

    The window shows itself as it was until all that is in sight is dressed, and then changes as a whole.
    """

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._host = window, window.host
        self._sheet = ""
        self._waiting: list[QWidget] = []
        self._in_sight: set[QWidget] = {one for one in window.panels.values() if not one.visibleRegion().isEmpty()}
        self._stale: set[QWidget] = set()
        """Panels that wear an older sheet, and are out of sight."""
        self._throttle = Throttle(self)
        for holder in (self._window, self._host):
            holder.child_polished.connect(self._take)
        for panel in window.panels.values():
            panel.visibilityChanged.connect(partial(self._see, panel))

    def hold(self) -> None:
        """Keep the picture of the window, whatever changes now; the next `dress` lets it go."""
        if self._window.isVisible():
            self._window.setUpdatesEnabled(False)

    def dress(self, sheet: str) -> None:
        """Have every part wear this: before the window is shown at once, else in the next frames."""
        self._sheet = sheet
        shown, panels = self._window.isVisible(), self._window.panels.values()
        self._stale = {one for one in panels if (one not in self._in_sight if shown else one.view is None)}
        self._waiting = [part for part in self._parts() if part not in self._stale]
        if not shown:
            while self._waiting:
                self._put_on(self._waiting.pop())
            return
        # The last is the next: windows of their own first, as only this one keeps its picture.
        self._waiting.sort(key=lambda part: (part.isVisible(), part.isWindow()))
        self._throttle.request("parts", self._step)

    def flush(self) -> None:
        """Dress now what waits for its frame."""
        while not self._throttle.idle:
            self._throttle.flush()

    @Slot(object)
    def _take(self, part: QWidget) -> None:
        """A dialog, a menu or a row of tabs that is new is dressed before it is seen first."""
        if part in self._parts():
            self._put_on(part)

    def _parts(self) -> list[QWidget]:
        """What wears the sheet, with all that it holds; what was never polished is dressed as it is."""
        inner = self._window.centralWidget()
        loose = [child for child in self._window.children() if isinstance(child, QWidget) and child is not inner]
        return [*loose, *(child for child in self._host.children() if isinstance(child, QWidget))]

    def _step(self) -> None:
        timer = QElapsedTimer()
        timer.start()
        while self._waiting:
            part = self._waiting.pop()
            if isValid(part):  # a dialog may have been closed since
                self._put_on(part)
            if timer.elapsed() >= TURN_MS:
                break
        self._throttle.request("parts", self._step if self._waiting else self._fit)

    def _fit(self) -> None:
        self._window.fit_form()
        self._throttle.request("parts", self._show)

    def _show(self) -> None:
        """Paint all of it: where painting was asked for just before it was held, Qt waits for that for ever."""
        self._window.setUpdatesEnabled(True)
        self._window.repaint()

    def _put_on(self, part: QWidget) -> None:
        self._stale.discard(part)
        if self._sheet and part.styleSheet() != self._sheet:
            part.setStyleSheet(self._sheet)

    def _see(self, panel: Panel, visible: bool) -> None:
        (self._in_sight.add if visible else self._in_sight.discard)(panel)
        if visible and panel in self._stale and panel.isVisible():  # one that opens behind others is told of, too
            self._put_on(panel)
