"""What a widget has painted, kept: shown again it is copied, and only what has changed is painted anew."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPaintEngine, QPainter, QPixmap, QRegion

from widgets.painting import guarded

Paint = Callable[[QPainter, QRect], None]
"""Paints what lies in this part, in the widget's coordinates; the ground below it is there already."""


class KeptPicture:
    """The picture of one widget in the screen's own pixels, so that a copy is as sharp as the painting.

    Whoever changes what is to be seen says so through `spoil`. Where the widget grows, the new part is spoiled.
    """

    def __init__(self, ground: str) -> None:
        """`ground` is the colour below everything; "transparent" leaves free what nothing is painted on."""
        self._ground = QColor(ground)
        self._pixmap = QPixmap()
        self._size, self._ratio = QSize(), 1.0
        self._direction = Qt.LayoutDirection.LeftToRight
        self._spoiled = QRegion()

    def spoil(self, part: QRect) -> None:
        """Paint this part anew before it is shown next."""
        self._spoiled += part

    def scroll(self, dy: int) -> None:
        """Move all that is painted down by `dy` pixels, up where it is negative; what comes into sight is spoiled."""
        area = QRect(0, 0, self._size.width(), self._size.height())
        moved = dy * self._ratio
        if moved != int(moved) or abs(dy) >= area.height():
            self.spoil(area)
            return
        self._pixmap.scroll(0, int(moved), self._pixmap.rect())
        self._spoiled.translate(0, dy)
        self.spoil(QRect(0, 0, area.width(), dy) if dy > 0 else area.adjusted(0, area.height() + dy, 0, 0))

    def show(self, painter: QPainter, size: QSize, paint: Paint) -> None:
        """Copy the picture to a painter of the widget, which Qt clips to what is exposed; spoiled parts go first."""
        if painter.paintEngine().type() is QPaintEngine.Type.SVG:  # a copy would be no text any more
            paint(painter, QRect(0, 0, size.width(), size.height()))
            return
        ratio = painter.device().devicePixelRatioF()
        self._direction = painter.layoutDirection()  # which a widget's own painter knows
        if (size, ratio) != (self._size, self._ratio):
            self._begin(size, ratio)
        self.renew(paint)
        painter.drawPixmap(0, 0, self._pixmap)

    def renew(self, paint: Paint) -> list[QRect]:
        """Paint spoiled parts now, so that the next `show` need not, and say which."""
        spoiled = self._spoiled & QRect(QPoint(), self._size)
        parts: list[QRect] = list(spoiled)  # type: ignore[call-overload]  # PySide's stubs do not know that it iterates
        self._spoiled = QRegion()
        self._paint(parts, paint, clear=True)
        return parts

    def add(self, parts: list[QRect], paint: Paint) -> None:
        """Paint these parts over what is there."""
        self._paint(parts, paint, clear=False)

    def _begin(self, size: QSize, ratio: float) -> None:
        """Take over what was painted in another size, from the upper left corner on; a ratio of its own takes none."""
        before, was, now = self._pixmap, QRect(QPoint(), self._size), QRect(QPoint(), size)
        self._pixmap = QPixmap(math.ceil(size.width() * ratio), math.ceil(size.height() * ratio))
        self._pixmap.setDevicePixelRatio(ratio)
        self._pixmap.fill(self._ground)
        if ratio == self._ratio and was.isValid():
            painter = QPainter(self._pixmap)
            painter.drawPixmap(0, 0, before)
            painter.end()
            self._spoiled += QRegion(now) - QRegion(was)
        else:
            self._spoiled = QRegion(now)
        self._size, self._ratio = QSize(size), ratio

    def _paint(self, parts: list[QRect], paint: Paint, *, clear: bool) -> None:
        if not parts:
            return
        painter = QPainter(self._pixmap)
        painter.setLayoutDirection(self._direction)
        try:
            for part in parts:
                with guarded(painter):
                    whole = self._whole_pixels(part)
                    painter.setClipRect(whole)
                    if clear:
                        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_Source)
                        painter.fillRect(whole, self._ground)
                        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceOver)
                    paint(painter, whole.toAlignedRect())
        finally:
            painter.end()

    def _whole_pixels(self, part: QRect) -> QRectF:
        """The least rectangle of whole screen pixels around `part`: a clip through the middle of some would blur."""
        left, top = math.floor(part.left() * self._ratio), math.floor(part.top() * self._ratio)
        right = math.ceil((part.left() + part.width()) * self._ratio)
        bottom = math.ceil((part.top() + part.height()) * self._ratio)
        edges = (value / self._ratio for value in (left, top, right - left, bottom - top))
        return QRectF(*edges)
