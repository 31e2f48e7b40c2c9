"""A label whose text may change at every frame."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QWidget

from widgets.theme import RESTYLED

_STEP = 8


class _Label(QLabel):
    restyled = Signal()
    """A theme or a font has given the same text another size."""

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in RESTYLED:
            self.restyled.emit()


class QuietLabel(QWidget):
    """Holds a `QLabel` and tells the layout around it only where the room that it asks for changes.

    A plain label in a dock's title or in the status bar makes the main window lay all its docks out anew with every
    text, the same size or not. Widths are asked for in steps, so that figures of other digits fit, too.
    """

    def __init__(self, parent: QWidget | None = None, *, placed: bool = False, sticky: bool = False) -> None:
        """`placed` says that someone gives it its size, such as an overlay's owner: it never asks for room then.
        `sticky` keeps room once asked for, whatever the text becomes."""
        super().__init__(parent)
        self._placed, self._sticky = placed, sticky
        self.label = _Label(self)
        self._hint = QSize(0, 0)
        self.label.restyled.connect(self._measure_anew)

    def text(self) -> str:
        return self.label.text()

    def setText(self, text: str) -> None:
        """Show this, rich text or plain."""
        if text != self.label.text():
            self.label.setText(text)
            self.measure()

    def measure(self) -> None:
        """Ask for the room that the text needs now; a text that wraps takes what it is given."""
        if self._placed or self.label.wordWrap():
            return
        wanted = self.label.sizeHint()
        wanted.setWidth(-(-wanted.width() // _STEP) * _STEP)
        if self._sticky:
            wanted = wanted.expandedTo(self._hint)
        if wanted != self._hint:
            self._hint = wanted
            self.updateGeometry()

    def _measure_anew(self) -> None:
        """Room kept for other type is nobody's: after smaller type the window could not become as narrow as before."""
        if self._sticky:
            self._hint = QSize(0, 0)
        self.measure()

    def sizeHint(self) -> QSize:
        return self._hint

    def minimumSizeHint(self) -> QSize:
        return self._hint

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.label.resize(self.size())
