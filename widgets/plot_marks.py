"""The marks that plots and chips are drawn with."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF


def draw_dots(
    painter: QPainter, at: list[QPointF], size: float, fill: QColor, halo: QColor, square: bool = False
) -> None:
    """Round or square marks with a dark or light rim, so that they stand out from any colour below."""
    if not at:
        return
    cap = Qt.PenCapStyle.SquareCap if square else Qt.PenCapStyle.RoundCap
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, not square)
    for width, colour in ((size + 2, halo), (size, fill)):
        painter.setPen(QPen(colour, width, Qt.PenStyle.SolidLine, cap))
        painter.drawPoints(QPolygonF(at))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def draw_triangles(painter: QPainter, at: list[QPointF], size: float, fill: QColor, halo: QColor) -> None:
    """Upward triangles with a rim."""
    if not at:
        return
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setPen(QPen(halo, 1))
    painter.setBrush(fill)
    half = size / 2
    for point in at:
        x, y = point.x(), point.y()
        corners = (QPointF(x - half, y + half * 0.8), QPointF(x + half, y + half * 0.8), QPointF(x, y - half))
        painter.drawPolygon(QPolygonF(corners))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def draw_crosses(painter: QPainter, at: list[QPointF], size: float, colour: QColor, halo: QColor) -> None:
    """✕ with a rim."""
    if not at:
        return
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    reach = size / 2
    for width, ink in ((4.2, halo), (2.0, colour)):
        painter.setPen(QPen(ink, width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        for point in at:
            x, y = point.x(), point.y()
            painter.drawLine(QLineF(x - reach, y - reach, x + reach, y + reach))
            painter.drawLine(QLineF(x - reach, y + reach, x + reach, y - reach))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def draw_unequals(painter: QPainter, at: list[QPointF], size: float, colour: QColor) -> None:
    """≠: two bars and a slash."""
    if not at:
        return
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setPen(QPen(colour, 1.4))
    half, gap = size / 2, size * 0.2
    for point in at:
        x, y = point.x(), point.y()
        painter.drawLine(QLineF(x - half, y - gap, x + half, y - gap))
        painter.drawLine(QLineF(x - half, y + gap, x + half, y + gap))
        painter.drawLine(QLineF(x - half * 0.5, y + half, x + half * 0.5, y - half))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def draw_refusals(painter: QPainter, at: list[QPointF], size: float, colour: QColor) -> None:
    """⊘: a circle with a slash, which no other mark resembles even where colours fail."""
    if not at:
        return
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setPen(QPen(colour, 1.4))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    reach, slash = size / 2, size / 2 * 0.7
    for point in at:
        painter.drawEllipse(point, reach, reach)
        painter.drawLine(QLineF(point.x() - slash, point.y() + slash, point.x() + slash, point.y() - slash))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def draw_corners(painter: QPainter, at: list[QPointF], size: float, colour: QColor) -> None:
    """↳: an arrow round a corner, for what came from somewhere else."""
    if not at:
        return
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setPen(QPen(colour, 1.2))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    reach, head = size / 2, size / 4
    for point in at:
        left, foot, tip = point.x() - reach, point.y() + reach / 2, point.x() + reach
        painter.drawPolyline(
            [
                QPointF(left, point.y() - reach),
                QPointF(left, foot),
                QPointF(tip, foot),
                QPointF(tip - head, foot - head),
            ]
        )
        painter.drawLine(QPointF(tip, foot), QPointF(tip - head, foot + head))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
