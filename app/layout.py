"""Where the panels lie at first, and where the user left them."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow

from app.settings import LAYOUT_VERSION, Preferences

SIZE = (1520, 940)
LEFT_WIDTH = 292
HEIGHTS = (190, 270, 300)
"""Shares of the right side's rows: tokens, charts, curves."""
LEFT_HEIGHTS = (210, 550)


def arrange(window: QMainWindow, docks: Mapping[str, QDockWidget]) -> None:
    """Put every panel back in its first place and show it."""
    left, right = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
    for dock in docks.values():
        dock.setFloating(False)
        window.removeDockWidget(dock)
    window.addDockWidget(left, docks["prompt"])
    window.splitDockWidget(docks["prompt"], docks["settings"], Qt.Orientation.Vertical)
    window.addDockWidget(right, docks["tokens"])
    window.splitDockWidget(docks["tokens"], docks["exits"], Qt.Orientation.Vertical)
    window.splitDockWidget(docks["exits"], docks["candidates"], Qt.Orientation.Vertical)
    window.splitDockWidget(docks["exits"], docks["scheduler"], Qt.Orientation.Horizontal)
    window.splitDockWidget(docks["candidates"], docks["why"], Qt.Orientation.Horizontal)
    for dock in docks.values():
        dock.show()
    share(window, docks)


def share(window: QMainWindow, docks: Mapping[str, QDockWidget]) -> None:
    """Give the panels of the first layout their first sizes."""
    width = max(window.width(), 900)
    right_width = width - LEFT_WIDTH
    horizontal, vertical = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
    window.resizeDocks([docks["prompt"], docks["tokens"]], [LEFT_WIDTH, right_width], horizontal)
    window.resizeDocks([docks["prompt"], docks["settings"]], list(LEFT_HEIGHTS), vertical)
    window.resizeDocks([docks["tokens"], docks["exits"], docks["candidates"]], list(HEIGHTS), vertical)
    window.resizeDocks([docks["exits"], docks["scheduler"]], [right_width // 2, right_width // 2], horizontal)
    window.resizeDocks([docks["candidates"], docks["why"]], [right_width // 2, right_width // 2], horizontal)


def restore(window: QMainWindow, preferences: Preferences) -> bool:
    """Put window and panels where they were left; False where nothing usable is remembered."""
    geometry, layout = preferences.geometry, preferences.layout
    if geometry.isEmpty() or not window.restoreGeometry(geometry):
        window.resize(*SIZE)
    return not layout.isEmpty() and window.restoreState(layout, LAYOUT_VERSION)


def remember(window: QMainWindow, preferences: Preferences) -> None:
    """Keep where window and panels are."""
    preferences.geometry = window.saveGeometry()
    preferences.layout = window.saveState(LAYOUT_VERSION)
