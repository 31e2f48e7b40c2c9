"""Sets of tokens that are marked: highlighted in every view (a mark in the corner of a chip, a mark at the foot of a
bar), or bookmarked (a mark in a chip's other corner)."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRect, Qt
from PySide6.QtGui import QColor, QPainter, QPolygonF

from core.trace.events import IntArray
from widgets.exit_items import apart
from widgets.palette import Theme
from widgets.plot_items import PixelItem, Pixels

SIGN = "◤"
"""The mark, for legends."""
BOOKMARK = "◥"
"""That of bookmarks."""
_CORNER = 8
"""Pixels of a chip's corner."""
_WIDTH, _HEIGHT = 7.0, 6.0
"""Pixels of a mark at a bar's foot, at the most."""


def paint_corner(painter: QPainter, rect: QRect, theme: Theme, *, right: bool = False) -> None:
    """Mark the chip that lies in `rect`, within its own shape, at its upper left or right."""
    corner = QPointF(rect.right() + 1, rect.top()) if right else QPointF(rect.topLeft())
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.accent))
    painter.drawPolygon(
        QPolygonF([corner, corner + QPointF(-_CORNER if right else _CORNER, 0), corner + QPointF(0, _CORNER)])
    )


class FootMarks(PixelItem):
    """▲ at the foot of each highlighted token's bar; where they crowd, some stand for their neighbours."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens: IntArray = np.zeros(0, np.int64)
        """0-based, ascending."""
        self._colours = (QColor(), QColor())

    def set_tokens(self, tokens: IntArray) -> None:
        """Highlight these 0-based tokens, ascending, and no others."""
        if not np.array_equal(tokens, self.tokens):
            self.tokens = tokens
            self.update()

    def apply_theme(self, theme: Theme) -> None:
        self._colours = QColor(theme.accent), QColor(theme.surface)
        self.update()

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        if not len(self.tokens):
            return
        first, last = pixels.tokens(int(self.tokens[-1]) + 1)
        shown = self.tokens[np.searchsorted(self.tokens, first) : np.searchsorted(self.tokens, last)]
        half = min(_WIDTH, max(pixels.x_scale, 3.0)) / 2
        foot = pixels.area.bottom()
        painter.setPen(self._colours[1])
        painter.setBrush(self._colours[0])
        for x in apart(pixels.x(shown + 1), 2 * half):
            top = QPointF(x, foot - _HEIGHT - 1)
            painter.drawPolygon(QPolygonF([top, QPointF(x - half, foot - 1), QPointF(x + half, foot - 1)]))
