"""What plots share in which a token is a column of layers: exit chart, what-if and comparison."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QPointF, QRectF
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from widgets.palette import Theme
from widgets.plot_items import Pixels, whole_ticks
from widgets.selection import Selection
from widgets.theme import SMALL
from widgets.token_plot import TokenPlot

TOP_ROOM = 20
"""Pixels above the deepest layer, for marks and words."""
_GAP, _SPARE = 6, 12
"""Pixels between a border and its words, and how many must be left over beside them."""


class LayerColumns(TokenPlot):
    """y is layers run, 1…L. A whole column is its token, so that no layer is selected with it."""

    def set_depth(self, depth: int) -> None:
        """Layers of the model; the axis names the last one always."""
        self.y_axis.set_ticks(whole_ticks(24, always=(depth,)))
        self.set_y_range(0.0, max(depth, 1) + 0.5, TOP_ROOM)

    def pick(self, x: float, y: float) -> Selection | None:
        token = self.token_at(x)
        return None if token is None else Selection(token)

    def show_selection(self) -> None:
        super().show_selection()
        token = self.selection.token
        # The frame's cell is a map's matter; here the whole column is the token.
        self.frame.place(None if token is None or token >= self.count else token + 1.0)


class Border:
    """A dashed line before a token, with words on either side where there is room."""

    def __init__(self, before: str, beyond: str, dashes: tuple[float, float]) -> None:
        self._words, self._dashes = (before, beyond), dashes
        self._line, self._ink = QColor(), QColor()
        self._font = QFont()

    def apply_theme(self, theme: Theme, line: str) -> None:
        """`line` is the colour of the line; words are muted."""
        self._line, self._ink = QColor(line), QColor(theme.muted)
        self._font.setPointSizeF(QFont().pointSizeF() * SMALL)

    def draw(self, painter: QPainter, pixels: Pixels, x: float) -> None:
        """At this pixel; outside the plot nothing is drawn."""
        area = pixels.area
        if not area.left() <= x <= area.right():
            return
        pen = QPen(self._line, 1)
        pen.setDashPattern(list(self._dashes))
        painter.setPen(pen)
        painter.drawLine(QLineF(x + 0.5, area.top(), x + 0.5, area.bottom()))
        self._label(painter, area, x)

    def _label(self, painter: QPainter, area: QRectF, x: float) -> None:
        metrics, (before, beyond) = QFontMetricsF(self._font), self._words
        y = area.top() + 2 + metrics.ascent()
        painter.setFont(self._font)
        painter.setPen(self._ink)
        if x - area.left() > metrics.horizontalAdvance(before) + _SPARE:
            painter.drawText(QPointF(x - _GAP - metrics.horizontalAdvance(before), y), before)
        if area.right() - x > metrics.horizontalAdvance(beyond) + _SPARE:
            painter.drawText(QPointF(x + _GAP + 1, y), beyond)
