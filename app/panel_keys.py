"""A panel's key brings it into sight, with the focus; only one that has the focus already is hidden by its key."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Slot
from PySide6.QtWidgets import QApplication, QTabBar, QWidget

if TYPE_CHECKING:
    from app.panel import Panel


class PanelKeys(QObject):
    """Follows the panels' own actions, which to Qt only mean open or closed."""

    def __init__(self, panels: Mapping[str, Panel], parent: QObject) -> None:
        super().__init__(parent)
        self._panels = panels
        self._behind: set[str] = set()
        self._awaited: tuple[str, QWidget | None] = "", None
        """The panel that gets the focus once it has something to show, and what has it until then."""
        for key, panel in panels.items():
            panel.visibilityChanged.connect(self._see)
            panel.filled.connect(partial(self._fill, key))
            panel.toggleViewAction().triggered.connect(self._toggle)
            panel.toggleViewAction().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The key of a panel that is in sight without the focus gives it the focus, and hides nothing."""
        if event.type() is QEvent.Type.Shortcut:
            key = watched.objectName().removeprefix("panel_")
            panel, focus = self._panels[key], QApplication.focusWidget()
            in_sight = key not in self._behind and not panel.isHidden()
            if in_sight and not (focus is not None and panel.isAncestorOf(focus)) and focus_in(panel):
                return True
        return super().eventFilter(watched, event)

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
            QTimer.singleShot(0, panel, partial(self._focus, key))  # its view may be made only now

    def _focus(self, key: str) -> None:
        panel = self._panels[key]
        self._awaited = (key, QApplication.focusWidget()) if panel.view is None or panel.is_empty else ("", None)
        focus_in(panel)

    def _fill(self, key: str) -> None:
        """Give the focus that was wanted when there was nothing to give it to, unless it has gone elsewhere."""
        awaited, before = self._awaited
        focus = QApplication.focusWidget()
        if awaited == key and (focus is before or focus is None or isinstance(focus, QTabBar)):
            self._awaited = "", None
            focus_in(self._panels[key])


def focus_in(panel: Panel) -> bool:
    """Give the focus to the first part of a panel that takes it; False where none does."""
    if panel.view is None or panel.is_empty:
        return False
    inside = (panel.view, *panel.view.findChildren(QWidget))
    takers = (one for one in inside if one.focusPolicy() & Qt.FocusPolicy.TabFocus and one.isVisible())
    if (taker := next(takers, None)) is None:
        return False
    taker.setFocus(Qt.FocusReason.ShortcutFocusReason)
    return True
