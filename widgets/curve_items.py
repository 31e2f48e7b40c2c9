"""What the probability curves are painted with: the ground, the curves, the score strip and the exit line."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF

from core.analysis.summaries import CandidateCurves
from widgets.candidate_legend import STYLES, paint_marker
from widgets.palette import DARK, Theme
from widgets.plot_items import PixelItem, Pixels, points
from widgets.theme import mixed

STRIP = (-0.52, -0.17)
"""Where the scores 0…1 lie on the y axis, below the probabilities: one x axis serves both."""


def strip_y(score: float) -> float:
    """The y of a predictor score in the strip."""
    return STRIP[0] + (STRIP[1] - STRIP[0]) * score


class CurveItem(PixelItem):
    """An item that paints the curves of one token."""

    def __init__(self) -> None:
        super().__init__()
        self.data: CandidateCurves | None = None
        self.show_score = True
        self.font = QFont()
        self.theme: Theme = DARK

    def set_data(self, data: CandidateCurves | None, show_score: bool) -> None:
        self.data, self.show_score = data, show_score
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        self.theme = theme
        self.update()


class Ground(CurveItem):
    """Faint lines at whole fifths, the strip's frame and the threshold."""

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        if self.data is None:
            return
        faint = QColor(mixed(self.theme.line, self.theme.surface, 0.3))
        for value in (0.0, 0.25, 0.5, 0.75, 1.0):
            _level(painter, pixels, value, QPen(faint, 1))
        if not self.show_score:
            return
        for value in STRIP:
            _level(painter, pixels, value, QPen(faint, 1))
        pen = QPen(QColor(self.theme.muted), 1)
        pen.setDashPattern([5, 4])
        _level(painter, pixels, strip_y(self.data.threshold), pen)


class Curves(CurveItem):
    """A curve a candidate, markers at the evaluated layers only; the emitted one thicker and on top."""

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        data = self.data
        if data is None or not len(data.layers):
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        order = sorted(range(data.probabilities.shape[1]), key=lambda i: (i == data.emitted_candidate, -i))
        x = pixels.x(data.layers + 1)
        for i in order:
            self._draw_one(painter, i, points(x, pixels.y(data.probabilities[:, i])), i == data.emitted_candidate)

    def _draw_one(self, painter: QPainter, index: int, line: list[QPointF], emitted: bool) -> None:
        colour = QColor(self.theme.candidates[index % 4])
        style, marker = STYLES[index % 4]
        painter.setPen(QPen(colour, 3 if emitted else 1.5, style, Qt.PenCapStyle.FlatCap, Qt.PenJoinStyle.RoundJoin))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(QPolygonF(line))
        for point in line:
            paint_marker(painter, marker, point, 10 if emitted else 8.5, QColor(self.theme.surface))
            paint_marker(painter, marker, point, 8 if emitted else 6.5, colour)


class Scores(CurveItem):
    """The predictor's score at each evaluated layer: a stalk with a head, filled where it proposes an exit."""

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        data = self.data
        if data is None or not self.show_score:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        floor = float(np.round(pixels.y(STRIP[0]))) + 0.5
        for layer, score in zip(data.layers.tolist(), data.scores.tolist(), strict=True):
            proposed = score > data.threshold
            colour = QColor(self.theme.text if proposed else self.theme.muted)
            x, y = float(np.round(pixels.x(layer + 1))) + 0.5, float(pixels.y(strip_y(score)))
            painter.setPen(QPen(colour, 2 if proposed else 1))
            painter.drawLine(QLineF(x, floor, x, y))
            painter.setPen(QPen(colour, 1.3))
            painter.setBrush(colour if proposed else QColor(self.theme.surface))
            painter.drawEllipse(QPointF(x, y), 3.2, 3.2)
        self._label(painter, pixels)

    def _label(self, painter: QPainter, pixels: Pixels) -> None:
        """What the strip shows, in the gap between the two plots, where no data can be."""
        assert self.data is not None
        metrics = QFontMetricsF(self.font)
        if -STRIP[1] * -pixels.y_scale < metrics.height():
            return
        painter.setFont(self.font)
        painter.setPen(QColor(self.theme.muted))
        gap = QRectF(
            pixels.area.left() + 4, float(pixels.y(STRIP[1] / 2)) - metrics.height() / 2 + 1, 400, metrics.height()
        )
        text = f"predictor score · exit proposed above {self.data.threshold:g}"
        painter.drawText(gap, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)


class ExitLine(CurveItem):
    """The layer at which the token left, labelled in the free lane above the curves."""

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        data = self.data
        if data is None or data.exit_layer == 0:
            return
        x = float(np.round(pixels.x(data.exit_layer)))
        colour = QColor(self.theme.text)
        top = pixels.area.top()
        painter.fillRect(QRectF(x - 1, top + 3, 2, float(pixels.y(0.0)) - top - 2), colour)
        if self.show_score:  # the gap between the two plots stays free for the strip's label
            low, high = (float(pixels.y(v)) for v in STRIP)
            painter.fillRect(QRectF(x - 1, high, 2, low - high), colour)
        metrics = QFontMetricsF(self.font)
        text = exit_label(data)
        width = metrics.horizontalAdvance(text)
        left = x - width - 7 if x + width + 8 > pixels.area.right() else x + 6
        painter.setFont(self.font)
        painter.setPen(colour)
        painter.drawText(QPointF(left, top + metrics.ascent() + 2), text)


def exit_label(data: CandidateCurves) -> str:
    """The exit line's label, layers counted from 1."""
    return f"exit {data.exit_layer}" if data.early else f"exit {data.exit_layer}, full depth"


def _level(painter: QPainter, pixels: Pixels, value: float, pen: QPen) -> None:
    y = float(np.round(pixels.y(value))) + 0.5
    painter.setPen(pen)
    painter.drawLine(QLineF(pixels.area.left(), y, pixels.area.right(), y))
