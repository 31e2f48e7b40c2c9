"""What the scores of one path are painted with: threshold, the curves of its nodes, the merged score, the checks."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF

from core.analysis.tree_figure import TreeFigure
from widgets.palette import DARK, Theme, exit_colour
from widgets.plot_items import PixelItem, Pixels, draw_threshold, points
from widgets.plot_marks import draw_refusals
from widgets.theme import mixed


class PathItem(PixelItem):
    """An item that paints one path of a figure."""

    def __init__(self) -> None:
        super().__init__()
        self.figure: TreeFigure | None = None
        self.path = 0
        self.font = QFont()
        self.theme: Theme = DARK

    def set_path(self, figure: TreeFigure | None, path: int) -> None:
        self.figure, self.path = figure, path
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        self.theme = theme
        self.update()

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        if self.figure is not None:
            self.paint_path(painter, pixels, self.figure)

    # What subclasses say. Qt's metaclass leaves no room for ABC's; the type checker refuses to make what lacks one.

    @abstractmethod
    def paint_path(self, painter: QPainter, pixels: Pixels, figure: TreeFigure) -> None:
        """Paint the chosen path; called where there is a tree."""


class PathGround(PathItem):
    """A shade over the layers that did not run, faint levels, and the threshold."""

    def paint_path(self, painter: QPainter, pixels: Pixels, figure: TreeFigure) -> None:
        theme = self.theme
        if 0 < figure.exit_layer < figure.depth:
            left = float(np.round(pixels.x(figure.exit_layer))) + 1
            shade = QRectF(left, pixels.area.top(), pixels.area.right() - left, pixels.area.height())
            painter.fillRect(shade, QColor(mixed(theme.surface, theme.window, 0.65)))
        painter.setPen(QPen(QColor(mixed(theme.line, theme.surface, 0.3)), 1))
        for value in (0.0, 0.5, 1.0):
            y = float(np.round(pixels.y(value))) + 0.5
            painter.drawLine(QLineF(pixels.area.left(), y, pixels.area.right(), y))
        draw_threshold(painter, pixels, figure.layers, figure.thresholds, QColor(theme.muted))


class NodeCurves(PathItem):
    """A thin line a node, with a dot in the exit layer's colour where it first crossed the threshold."""

    def paint_path(self, painter: QPainter, pixels: Pixels, figure: TreeFigure) -> None:
        nodes = figure.paths.nodes[self.path]
        x = pixels.x(figure.layers + 1)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for index, node in enumerate(nodes.tolist()):
            scores = figure.nodes.scores[node]
            if np.isnan(scores).all():
                continue
            painter.setPen(self._pen(index, len(nodes)))
            painter.drawPolyline(_line(x, pixels.y(scores)))
            self._draw_crossing(painter, pixels, figure, node)

    def _pen(self, index: int, count: int) -> QPen:
        """Nodes nearer to the leaf are paler and more broken."""
        paler = 0.12 + 0.4 * index / max(count - 1, 1)
        pen = QPen(QColor(mixed(self.theme.muted, self.theme.surface, paler)), 1.2)
        if index:
            pen.setDashPattern([max(7.0 - index, 1.5), 2.0])
        return pen

    def _draw_crossing(self, painter: QPainter, pixels: Pixels, figure: TreeFigure, node: int) -> None:
        exit_layer = int(figure.nodes.exits[node])
        at = np.flatnonzero(figure.layers == exit_layer - 1)
        if not len(at):
            return
        score = float(figure.nodes.scores[node, at[0]])
        place = QPointF(float(pixels.x(exit_layer)), float(pixels.y(score)))
        painter.setPen(QPen(QColor(self.theme.surface), 1))
        painter.setBrush(exit_colour(exit_layer, figure.depth))
        painter.drawEllipse(place, 3, 3)


class MergedCurve(PathItem):
    """The score of the path as a whole: a thick line, its dots filled where the path is proposed."""

    def paint_path(self, painter: QPainter, pixels: Pixels, figure: TreeFigure) -> None:
        scores = figure.paths.scores[self.path]
        if np.isnan(scores).all():
            return
        x, y = pixels.x(figure.layers + 1), pixels.y(scores)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        accent = QColor(self.theme.accent)
        painter.setPen(QPen(accent, 2.6, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
        painter.drawPolyline(_line(x, y))
        proposed = figure.paths.proposed[self.path]
        for point, filled in zip(points(x, y), proposed.tolist(), strict=True):
            painter.setPen(QPen(accent, 1.6))
            painter.setBrush(accent if filled else QColor(self.theme.surface))
            painter.drawEllipse(point, 3.4, 3.4)


class CheckMarks(PathItem):
    """⊘ over the layers at which a walk was refused, and a line where the pass ended, labelled where there is room."""

    def paint_path(self, painter: QPainter, pixels: Pixels, figure: TreeFigure) -> None:
        top = pixels.area.top() + 8
        refused = [walk.layer for walk in figure.walks if not walk.accepted]
        at = [QPointF(float(np.round(pixels.x(layer + 1))), top) for layer in refused]
        draw_refusals(painter, at, 9, QColor(self.theme.caution))
        if not figure.exit_layer:
            return
        x = float(np.round(pixels.x(figure.exit_layer)))
        painter.fillRect(QRectF(x - 1, top - 4, 2, float(pixels.y(0.0)) - top + 4), QColor(self.theme.text))
        metrics, text = QFontMetricsF(self.font), f"exit {figure.exit_layer}"
        width = metrics.horizontalAdvance(text)
        left = x - width - 6 if x + width + 8 > pixels.area.right() else x + 5
        taken = [point.x() for point in at if left - 8 < point.x() < left + width + 8]
        if not taken:
            painter.setFont(self.font)
            painter.setPen(QColor(self.theme.text))
            painter.drawText(QPointF(left, pixels.area.top() + metrics.ascent() + 1), text)


def _line(x: NDArray[np.float64], y: NDArray[np.float64]) -> QPolygonF:
    """The points that have values."""
    known = ~np.isnan(y)
    return QPolygonF(points(x[known], y[known]))
