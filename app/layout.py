"""Where the panels lie at first, and where the user left them."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QByteArray, QEvent, Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QStyle, QVBoxLayout, QWidget

from app.places import TOOLS
from app.settings import LAYOUT_VERSION, Preferences

SIZE = (1520, 940)
MARGIN = 8
LEFT_WIDTH = 288
PROMPT_LEAST = 150
"""Height in pixels that the prompt keeps in a low window."""
ROWS = (0.20, 0.36, 0.44)
"""Shares of the right side's height: tokens, charts, curves and words."""
HORIZONTAL, VERTICAL = Qt.Orientation.Horizontal, Qt.Orientation.Vertical


class DockHost(QMainWindow):
    """Holds the panels. A main window inside the main window, because only so can there be room around the docks."""

    def __init__(self, docks: Mapping[str, QDockWidget]) -> None:
        super().__init__()
        self.setWindowFlags(Qt.WindowType.Widget)
        self.setDockNestingEnabled(True)
        self._docks = docks
        self._untouched = True
        self.arrange()
        for dock in docks.values():
            dock.topLevelChanged.connect(self._touch)

    def arrange(self) -> None:
        """Put every panel back in its first place and show it."""
        docks = self._docks
        for dock in docks.values():
            dock.setFloating(False)
            self.removeDockWidget(dock)
        self.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, docks["prompt"])
        self.splitDockWidget(docks["prompt"], docks["settings"], VERTICAL)
        self.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, docks["tokens"])
        self.splitDockWidget(docks["tokens"], docks["exits"], VERTICAL)
        self.splitDockWidget(docks["exits"], docks["candidates"], VERTICAL)
        self.splitDockWidget(docks["exits"], docks["scheduler"], HORIZONTAL)
        self.splitDockWidget(docks["candidates"], docks["why"], HORIZONTAL)
        self.tabifyDockWidget(docks["candidates"], docks["tree"])
        for place in TOOLS:
            self.tabifyDockWidget(docks[place.behind or "why"], docks[place.key])
        for dock in docks.values():
            dock.show()
        for place in TOOLS:
            docks[place.key].setVisible(bool(place.behind))
        for front in ("settings", "candidates", "scheduler", "why"):
            docks[front].raise_()
        self._untouched = True
        self._share()

    def restore(self, state: QByteArray) -> None:
        """Put the panels where they were; where that cannot be read, in their first place."""
        self._untouched = False
        if not self.restoreState(state, LAYOUT_VERSION):
            self.arrange()

    def event(self, event: QEvent) -> bool:
        """A press that reaches the host itself is on a line between panels: from now on the sizes are the user's."""
        if event.type() is QEvent.Type.MouseButtonPress:
            self._touch()
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Sizes given before the window has its own are lost; they are given again until the user sees them."""
        super().resizeEvent(event)
        self.settle()

    @Slot()
    def settle(self) -> None:
        """Share the room anew, unless the user has moved something before."""
        if self._untouched:
            self._share()

    @Slot()
    def _touch(self) -> None:
        self._untouched = False

    def _share(self) -> None:
        docks, width, height = self._docks, self.width() - LEFT_WIDTH, self.height()
        gap = self.style().pixelMetric(QStyle.PixelMetric.PM_DockWidgetSeparatorExtent, None, self)
        heights = [round(share * (height - (len(ROWS) - 1) * gap)) for share in ROWS]
        # As high as the tokens beside it, so that the panels' edges line up; the engine's many inputs get the rest.
        prompt = max(PROMPT_LEAST, heights[0])
        settings = height - prompt - gap
        self.resizeDocks([docks["prompt"], docks["tokens"]], [LEFT_WIDTH, width], HORIZONTAL)
        self.resizeDocks([docks["prompt"], docks["settings"]], [prompt, settings], VERTICAL)
        rows = [docks["tokens"], docks["exits"], docks["candidates"]]
        self.resizeDocks(rows, heights, VERTICAL)
        for left, right in (("exits", "scheduler"), ("candidates", "why")):
            self.resizeDocks([docks[left], docks[right]], [width // 2, width // 2], HORIZONTAL)


def framed(host: DockHost) -> QWidget:
    """The host with room around it."""
    frame = QWidget()
    column = QVBoxLayout(frame)
    column.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
    column.addWidget(host)
    return frame


def restore(window: QMainWindow, host: DockHost, preferences: Preferences) -> None:
    """Put window and panels where they were left; where nothing usable is remembered, where they were made."""
    geometry, layout = preferences.geometry, preferences.layout
    if geometry.isEmpty() or not window.restoreGeometry(geometry):
        window.resize(*SIZE)
    if not layout.isEmpty():
        host.restore(layout)


def remember(window: QMainWindow, host: DockHost, preferences: Preferences) -> None:
    """Keep where window and panels are."""
    preferences.geometry = window.saveGeometry()
    preferences.layout = host.saveState(LAYOUT_VERSION)
