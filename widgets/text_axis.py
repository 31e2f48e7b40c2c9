"""The axis of every plot: numbers and a caption, nothing else."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from widgets.painting import guarded
from widgets.palette import Theme
from widgets.plot_items import Ticks

_GAP = 6
"""Pixels between the words and the plot beside them, and by which they may stand out at the right end."""
_ABOVE = 3
"""Pixels between the plot and the words below it."""
_CAPTION = 80
"""Pixels that the lower axis' caption may take, left of the plot."""


class TextAxis(pg.AxisItem):  # type: ignore[misc]  # pyqtgraph has no types
    """Numbers without a line or tick strokes, and the axis' caption written level at its end.

    A level caption reads faster than one on its side and leaves the plot that much wider.
    """

    def __init__(self, orientation: str, caption: str, ticks: Ticks) -> None:
        super().__init__(orientation)
        self.setFlag(self.GraphicsItemFlag.ItemUsesExtendedStyleOption)  # or Qt does not say what is exposed
        self.caption = caption
        self._ticks = ticks
        self._font = QFont()
        self._colour = QColor()

    def set_ticks(self, ticks: Ticks) -> None:
        self._ticks = ticks
        self.update()

    def apply_theme(self, theme: Theme, font: QFont) -> None:
        """Take over colours and font; the font decides the room that the axis takes."""
        self._font = font
        self._colour = QColor(theme.muted)
        metrics = QFontMetricsF(font)
        if self.orientation != "bottom":
            widest = "token" if self.orientation == "left" else self.caption
            self.setWidth(round(metrics.horizontalAdvance(widest)) + 12)
        else:
            self.setHeight(round(metrics.height()) + 4)
        self.update()

    def boundingRect(self) -> QRectF:
        """Where words can be, so that what changes in the plot beside them does not have them painted again."""
        size = self.size()
        if self.orientation == "bottom":
            return QRectF(-_CAPTION, 0, size.width() + _CAPTION + _GAP, size.height())
        return QRectF(0 if self.orientation == "left" else _GAP, 0, size.width() - _GAP, size.height())

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        if self.orientation == "bottom" and option.exposedRect.bottom() <= _ABOVE:
            return  # Qt takes an item's neighbours to reach two pixels into it; there are no words there
        with guarded(painter):
            painter.setFont(self._font)
            painter.setPen(self._colour)
            self._paint_bottom(painter) if self.orientation == "bottom" else self._paint_side(painter)

    def _paint_side(self, painter: QPainter) -> None:
        (low, high), size = self.range, self.size()
        height, left = QFontMetricsF(self._font).height(), self.orientation == "left"
        room = QRectF(0 if left else _GAP, 0, size.width() - _GAP, height)
        towards = Qt.AlignmentFlag.AlignRight if left else Qt.AlignmentFlag.AlignLeft
        aligned = towards | Qt.AlignmentFlag.AlignVCenter
        for value, text in self._ticks(low, high, size.height()):
            y = (high - value) / (high - low) * size.height()
            # The caption has the top to itself; a number half outside of the plot would be cut off.
            if (height * 1.3 if self.caption else height * 0.4) <= y <= size.height() - height * 0.3:
                painter.drawText(room.translated(0, y - height / 2), aligned, text)
        painter.drawText(room, aligned, self.caption)

    def _paint_bottom(self, painter: QPainter) -> None:
        (low, high), size = self.range, self.size()
        metrics = QFontMetricsF(self._font)
        baseline = metrics.ascent() + _ABOVE
        for value, text in self._ticks(low, high, size.width()):
            x = (value - low) / (high - low) * size.width()
            width = metrics.horizontalAdvance(text)
            painter.drawText(QPointF(min(max(x - width / 2, 0), size.width() - width + _GAP), baseline), text)
        # Under the other axis, where nothing else can be.
        painter.drawText(QPointF(-_GAP - metrics.horizontalAdvance(self.caption), baseline), self.caption)
