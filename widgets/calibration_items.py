"""What reliability diagram, ROC and precision-recall are painted with."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen, QPolygonF

from core.analysis.calibration import Share
from widgets.calibration_words import Quality, Tab, thinned
from widgets.palette import DARK, Theme
from widgets.plot_items import PixelItem, Pixels, points
from widgets.plot_marks import draw_dots
from widgets.theme import SMALL, mixed

MOST_POINTS = 600
"""Of a curve that are drawn; more share a pixel."""
COUNTS_FROM, COUNTS_HEIGHT = -0.26, 0.13
"""Where on the axis of what came true the counts' bars stand, below everything else, and how high they get."""


class QualityItem(PixelItem):
    """Paints one `Quality`."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Quality | None = None
        self.theme: Theme = DARK
        self.font = QFont()

    def show_quality(self, found: Quality | None) -> None:
        self.found = found
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        self.theme = theme
        self.update()

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        if self.found is not None:
            self.paint_quality(painter, pixels, self.found)

    # What subclasses say. Qt's metaclass leaves no room for ABC's; the type checker refuses to make what lacks one.

    @abstractmethod
    def paint_quality(self, painter: QPainter, pixels: Pixels, found: Quality) -> None:
        """Paint what there is; called where there is something."""

    def line(self, painter: QPainter, pixels: Pixels, ends: tuple[float, float, float, float]) -> None:
        """A dashed line of reference from (x, y) to (x, y)."""
        painter.setPen(QPen(QColor(self.theme.muted), 1, Qt.PenStyle.DashLine))
        x0, y0, x1, y1 = ends
        x, y = pixels.x([x0, x1]), pixels.y([y0, y1])
        painter.drawLine(QLineF(float(x[0]), float(y[0]), float(x[1]), float(y[1])))


class Reliability(QualityItem):
    """A dot a bin at its mean score and what came true, with its band; how many tokens it holds below and above."""

    def __init__(self) -> None:
        super().__init__()
        self.chosen: int | None = None

    def choose(self, at: int | None) -> None:
        """Mark a bin."""
        self.chosen = at
        self.update()

    def paint_quality(self, painter: QPainter, pixels: Pixels, found: Quality) -> None:
        self._paint_counts(painter, pixels, found)
        self.line(painter, pixels, (0, 0, 1, 1))
        shown = np.flatnonzero(found.calibration.counts)
        values = found.calibration.came_true
        x, y = pixels.x(found.calibration.mean_scores[shown]), pixels.y(values.values[shown])
        low, high = pixels.y(values.low[shown]), pixels.y(values.high[shown])
        painter.setPen(QPen(QColor(self.theme.accent), 1.6))
        for at, bottom, top in zip(x.tolist(), low.tolist(), high.tolist(), strict=True):
            painter.drawLine(QLineF(at, bottom, at, top))
            for end in (bottom, top):
                painter.drawLine(QLineF(at - 3, end, at + 3, end))
        draw_dots(painter, points(x, y), 6.0, QColor(self.theme.accent), QColor(self.theme.surface))

    def _paint_counts(self, painter: QPainter, pixels: Pixels, found: Quality) -> None:
        edges, counts, theme = found.calibration.edges, found.calibration.counts, self.theme
        most = max(int(counts.max()), 1)
        font = QFont(self.font)
        font.setPointSizeF(font.pointSizeF() * SMALL)
        painter.setFont(font)
        for at, count in enumerate(counts.tolist()):
            height = count / most * COUNTS_HEIGHT
            area = pixels.rect(edges[at], edges[at + 1], COUNTS_FROM, COUNTS_FROM + height).adjusted(1, 0, -1, 0)
            if at == self.chosen:
                painter.fillRect(pixels.rect(edges[at], edges[at + 1], COUNTS_FROM, 1), QColor(theme.selection))
            if count:
                painter.fillRect(area, QColor(mixed(theme.muted, theme.surface, 0.55)))
                painter.setPen(QColor(theme.muted))
                room = QRectF(area.left() - 10, area.top() - 16, area.width() + 20, 15)
                painter.drawText(room, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignBottom, f"{count}")


class QualityCurve(QualityItem):
    """ROC or precision against recall, with the band of its height, and where the run's own threshold lies."""

    def __init__(self) -> None:
        super().__init__()
        self.tab = Tab.ROC

    def paint_quality(self, painter: QPainter, pixels: Pixels, found: Quality) -> None:
        x, share = axes(found, self.tab)
        at = np.array(thinned(len(x), MOST_POINTS), int)
        at = at[~(np.isnan(x[at]) | np.isnan(share.values[at]))]
        if self.tab is Tab.ROC:
            self.line(painter, pixels, (0, 0, 1, 1))
        elif found.tokens:
            base = found.curves.positives / found.tokens
            self.line(painter, pixels, (0, base, 1, base))
        if len(at):
            across = pixels.x(x[at])
            edges = [points(across, pixels.y(one[at])) for one in (share.low, share.high)]
            self._paint_band(painter, *edges)
            self._paint_line(painter, points(across, pixels.y(share.values[at])))
        self._paint_place(painter, pixels, found)

    def _paint_band(self, painter: QPainter, low: list[QPointF], high: list[QPointF]) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(mixed(self.theme.accent, self.theme.surface, 0.78)))
        painter.drawPolygon(QPolygonF([*low, *reversed(high)]))

    def _paint_line(self, painter: QPainter, line: list[QPointF]) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self.theme.accent), 1.8))
        painter.drawPolyline(QPolygonF(line))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _paint_place(self, painter: QPainter, pixels: Pixels, found: Quality) -> None:
        x, share = axes(found, self.tab)
        if np.isnan(x[found.place]) or np.isnan(share.values[found.place]):
            return
        at = points(pixels.x([x[found.place]]), pixels.y([share.values[found.place]]))
        draw_dots(painter, at, 7.0, QColor(self.theme.caution), QColor(self.theme.surface), square=True)


def axes(found: Quality, tab: Tab) -> tuple[NDArray[np.float64], Share]:
    """A curve's x, shape [n], and its y with bands; NaN where there is nothing to share."""
    curves = found.curves
    if tab is Tab.ROC:
        return curves.false_rate.values, curves.recall
    return curves.recall.values, curves.precision
