"""A panel's key brings it into sight: one that is closed or lies behind others comes to the front, with the focus."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Slot
from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from app.panel import Panel


class PanelKeys(QObject):
    """Follows the panels' own actions, which to Qt only mean open or closed."""

    def __init__(self, panels: Mapping[str, Panel], parent: QObject) -> None:
        super().__init__(parent)
        self._panels = panels
        self._behind: set[str] = set()
        for panel in panels.values():
            panel.visibilityChanged.connect(self._see)
            panel.toggleViewAction().triggered.connect(self._toggle)

    @Slot(bool)
    def _see(self, visible: bool) -> None:
        panel = self.sender()
        if visible:
            self._behind.discard(panel.objectName())
        elif not self._panels[panel.objectName()].isHidden():  # to Qt, a closed panel is behind no other
            self._behind.add(panel.objectName())

    @Slot(bool)
    def _toggle(self, opened: bool) -> None:
        """Qt has just opened or closed it."""
        key = self.sender().objectName().removeprefix("panel_")
        if opened or key in self._behind:
            self._behind.discard(key)
            panel = self._panels[key]
            panel.show()
            panel.raise_()
            QTimer.singleShot(0, panel, partial(_focus, panel))  # its view may be made only now


def _focus(panel: Panel) -> None:
    if panel.view is None or panel.is_empty:
        return
    inside = (panel.view, *panel.view.findChildren(QWidget))
    takers = (one for one in inside if one.focusPolicy() & Qt.FocusPolicy.TabFocus and one.isVisible())
    if (taker := next(takers, None)) is not None:
        taker.setFocus(Qt.FocusReason.ShortcutFocusReason)
