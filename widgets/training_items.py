"""What the training curves are painted with: faint levels, the loss, and the hit rates with their marks."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise

from PySide6.QtCore import QLineF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from core.analysis.training_curves import TrainingCurves
from widgets.palette import DARK, Theme
from widgets.plot_items import PixelItem, Pixels, points
from widgets.plot_marks import draw_dots, draw_triangles

LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of both axes: 1 is the greatest loss that the axis shows, and a hit rate of 100 %."""


def loss_top(losses: list[float]) -> float:
    """The loss at the upper end of the axis: 1, 2, 4 or 8 times a power of ten that none exceeds."""
    greatest, power = max(losses, default=1.0), 1e-4
    while True:
        for factor in (1, 2, 4, 8):
            if factor * power >= greatest:
                return factor * power
        power *= 10


class CourseItem(PixelItem):
    """An item that paints one stage's curves; y is 0…1 for both axes."""

    def __init__(self) -> None:
        super().__init__()
        self.curves = TrainingCurves()
        self.theme: Theme = DARK

    def set_curves(self, curves: TrainingCurves) -> None:
        self.curves = curves
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        self.theme = theme
        self.update()


class Levels(CourseItem):
    """Faint lines at quarters."""

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        painter.setPen(QPen(QColor(self.theme.line), 1))
        for level in LEVELS:
            y = round(float(pixels.y(level))) + 0.5
            painter.drawLine(QLineF(pixels.area.left(), y, pixels.area.right(), y))


class LossLine(CourseItem):
    """The loss as a line that is broken where something new begins to be trained."""

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        curves, top = self.curves, loss_top(self.curves.losses)
        line = points(pixels.x(curves.steps), pixels.y([min(loss / top, 1.0) for loss in curves.losses]))
        cuts = [0, *(bisect_left(curves.steps, start) for start in curves.starts), len(line)]
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self.theme.accent), 1.6, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
        for first, last in pairwise(cuts):
            if last - first > 1:
                painter.drawPolyline(QPolygonF(line[first:last]))
            elif last > first:
                draw_dots(painter, line[first:last], 3.0, QColor(self.theme.accent), QColor(self.theme.surface))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


class HitLines(CourseItem):
    """Top-1 with round marks and a solid line, top-4 with triangles and a dashed one."""

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        looks = (
            ("top1", self.theme.right, Qt.PenStyle.SolidLine, draw_dots, 6.0),
            ("top4", self.theme.caution, Qt.PenStyle.DashLine, draw_triangles, 8.0),
        )
        for name, colour, style, mark, size in looks:
            steps = [step for step, _ in self.curves.hits[name]]
            at = points(pixels.x(steps), pixels.y([share for _, share in self.curves.hits[name]]))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(colour), 1.6, style, Qt.PenCapStyle.FlatCap))
            painter.drawPolyline(QPolygonF(at))
            mark(painter, at, size, QColor(colour), QColor(self.theme.surface))
