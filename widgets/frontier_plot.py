"""Agreement against mean exit layer over thresholds: the frontier, where the run stands, and the point advised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from core.analysis.frontier import WANTED, Frontier, FrontierPoint, on_frontier
from widgets.palette import Theme
from widgets.plot_base import PlotView
from widgets.plot_items import PixelItem, Pixels
from widgets.rows_table import Column, Row
from widgets.selection import Selection
from widgets.theme import SMALL

NOTHING = "The frontier appears here once a run in audit depth is on show."
NEAR = 14.0
"""Pixels within which a point is meant."""
COLUMNS = (
    Column("", "◉ advised, ◆ what-if, ○ another is better in both", 2),
    Column("Threshold", "Of all layers", 8, number=True),
    Column("Mean exit layer", "Layers run a token", 12, number=True),
    Column("Agreement", "Share of tokens that full depth gives, too", 9, number=True),
    Column("Early", "Share of tokens that leave before the last layer", 6, number=True),
    Column("Checks", "Checks against the vocabulary a token", 6, number=True),
    Column("Exact", "Tokens that are decided as a run would; the others are an estimate", 8, number=True),
)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where two runs stand, as (mean exit layer, agreement); None where it is not known."""

    recorded: tuple[float, float] | None = None
    asked: tuple[float, float] | None = None
    threshold: float | None = None
    """Of what is asked."""


class FrontierItem(PixelItem):
    """The points with the line through the best of them, and the marks."""

    def __init__(self) -> None:
        super().__init__()
        self.found = Frontier((), 0)
        self.standing = Standing()
        self.hovered: int | None = None
        self._theme: Theme | None = None
        self._font = QFont()

    def apply_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._font.setPointSizeF(QFont().pointSizeF() * SMALL)
        self.update()

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        known = not any(np.isnan(point.agreement) for point in self.found.points)
        if self._theme is None or not self.found.points or not known:
            return  # without any audited token there is no height to draw at; the table tells the rest
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        places = [place(pixels, p.mean_exit_layer, p.agreement) for p in self.found.points]
        best = on_frontier(self.found)
        self._draw_wanted(painter, pixels, self._theme)
        painter.setPen(QPen(QColor(self._theme.accent), 1.5))
        painter.drawPolyline(QPolygonF([at for at, good in zip(places, best, strict=True) if good]))
        self._draw_points(painter, places, best, self._theme)
        self._draw_standing(painter, pixels, self._theme)
        self._draw_labels(painter, pixels, places, self._theme)

    def _draw_wanted(self, painter: QPainter, pixels: Pixels, theme: Theme) -> None:
        """The agreement that a recommended threshold must reach."""
        y = float(pixels.y(WANTED))
        pen = QPen(QColor(theme.muted), 1)
        pen.setDashPattern([4, 4])
        painter.setPen(pen)
        painter.drawLine(QPointF(pixels.area.left(), y), QPointF(pixels.area.right(), y))

    def _draw_points(self, painter: QPainter, places: list[QPointF], best: list[bool], theme: Theme) -> None:
        advised = self.found.recommended
        for at, (where, good) in enumerate(zip(places, best, strict=True)):
            size = 4.5 if at == self.hovered else 3.2
            painter.setPen(QPen(QColor(theme.accent), 1.5))
            painter.setBrush(QColor(theme.accent if good else theme.surface))
            painter.drawEllipse(where, size, size)
            if self.found.points[at] is advised:
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.setPen(QPen(QColor(theme.right), 2))
                painter.drawEllipse(where, 7.5, 7.5)

    def _draw_standing(self, painter: QPainter, pixels: Pixels, theme: Theme) -> None:
        if self.standing.recorded and not np.isnan(self.standing.recorded).any():
            where = place(pixels, *self.standing.recorded)
            painter.setPen(QPen(QColor(theme.surface), 1))
            painter.setBrush(QColor(theme.text))
            painter.drawRect(QRectF(where.x() - 4, where.y() - 4, 8, 8))
        if self.standing.asked:
            where = place(pixels, *self.standing.asked)
            painter.setPen(QPen(QColor(theme.surface), 1))
            painter.setBrush(QColor(theme.caution))
            corners = [(0.0, -6.5), (6.5, 0.0), (0.0, 6.5), (-6.5, 0.0)]
            painter.drawPolygon(QPolygonF([where + QPointF(x, y) for x, y in corners]))

    def _draw_labels(self, painter: QPainter, pixels: Pixels, places: list[QPointF], theme: Theme) -> None:
        """Thresholds beside their points, the advised one first, as far as none lies over another."""
        metrics, taken = QFontMetricsF(self._font), list[QRectF]()
        painter.setFont(self._font)
        advised = self.found.recommended
        order = sorted(range(len(places)), key=lambda at: (self.found.points[at] is not advised, -at))
        for at in order:
            text = f"{self.found.points[at].threshold:g}"
            room = QRectF(0, 0, metrics.horizontalAdvance(text), metrics.height())
            room.moveTopLeft(places[at] + QPointF(8, 3))
            if room.right() > pixels.area.right():
                room.moveRight(places[at].x() - 8)
            if room.bottom() > pixels.area.bottom() or any(room.intersects(one) for one in taken):
                continue
            taken.append(room.adjusted(-3, -1, 3, 1))
            painter.setPen(QColor(theme.text if self.found.points[at] is advised else theme.muted))
            painter.drawText(QPointF(room.left(), room.top() + metrics.ascent()), text)


class FrontierPlot(PlotView):
    """A click or an arrow key asks for a point's threshold."""

    threshold_wanted = Signal(float)

    def __init__(self, parent: QWidget | None = None) -> None:
        captions = ("layers", "agrees")
        super().__init__("Frontier: agreement against mean exit layer", captions, (_layers, _shares), parent)
        self.item = FrontierItem()
        self.add(self.item, 1)
        self.apply_theme(self.theme)
        self.show_frontier(Frontier((), 0), Standing(), 1)

    @staticmethod
    def legend_html(theme: Theme) -> str:
        """What the marks mean."""
        return (
            f'<span style="color:{theme.caution}">◆</span> what-if &nbsp;<span style="color:{theme.text}">■</span> '
            f'recorded &nbsp;<span style="color:{theme.right}">◉</span> advised &nbsp;'
            f'<span style="color:{theme.accent}">●</span> a threshold &nbsp;╌ {WANTED:.0%}'
        )

    @property
    def found(self) -> Frontier:
        return self.item.found

    def show_frontier(self, found: Frontier, standing: Standing, depth: int, why_empty: str = NOTHING) -> None:
        """Show these points, of a model of `depth` layers; a sentence where there are none."""
        self.item.found, self.item.standing = found, standing
        self.set_message(None if found.points else why_empty)
        if found.points:
            self._fit_to(found, standing, depth)
            self.describe(summary(found))
        self.item.update()

    def readout(self, x: float, y: float) -> str | None:
        at = self._nearest(x, y)
        return None if at is None else point_words(self.found, self.found.points[at])

    def hover(self, x: float | None, y: float | None) -> None:
        at = None if x is None or y is None else self._nearest(x, y)
        if at != self.item.hovered:
            self.item.hovered = at
            self.item.update()

    def pick(self, x: float, y: float) -> Selection | None:
        at = self._nearest(x, y)
        if at is not None:
            self.threshold_wanted.emit(self.found.points[at].threshold)
        return None

    def step(self, key: Qt.Key) -> Selection | None:
        thresholds = [point.threshold for point in self.found.points]
        target = _target(key, thresholds, self.item.standing.threshold)
        if target is not None:
            self.threshold_wanted.emit(target)
        return None

    def show_selection(self) -> None:
        """A point is no token."""

    def _nearest(self, x: float, y: float) -> int | None:
        """The point that a pointer here means; None where none is near."""
        if not self.found.points:
            return None
        wide, high = self.view.viewPixelSize()
        gaps = [np.hypot((p.mean_exit_layer - x) / wide, (p.agreement - y) / high) for p in self.found.points]
        at = int(np.nanargmin(gaps)) if not np.isnan(gaps).all() else None
        return at if at is not None and gaps[at] <= NEAR else None

    def _fit_to(self, found: Frontier, standing: Standing, depth: int) -> None:
        spots = [(p.mean_exit_layer, p.agreement) for p in found.points]
        spots += [spot for spot in (standing.recorded, standing.asked) if spot]
        layers, shares = np.array(spots).T
        low, high = float(np.nanmin(layers)), float(np.nanmax(layers))
        margin = max(0.06 * (high - low), 0.25)
        self.view.setXRange(max(low - margin, 0.5), min(high + margin, depth + 0.6), padding=0)
        least = min(float(np.nanmin(shares)), WANTED) if not np.isnan(shares).all() else 0.0
        self.set_y_range(least - 0.06 * (1.02 - least), 1.0 + 0.04 * (1.02 - least), 16)


def place(pixels: Pixels, layer: float, share: float) -> QPointF:
    """Where a mean exit layer and an agreement lie."""
    return QPointF(float(pixels.x(layer)), float(pixels.y(share)))


def _target(key: Qt.Key, thresholds: Sequence[float], now: float | None) -> float | None:
    """Which threshold a key leads to; None where it leads nowhere."""
    if not thresholds:
        return None
    if key in (Qt.Key.Key_Home, Qt.Key.Key_End):
        return thresholds[0 if key is Qt.Key.Key_Home else -1]
    if now is None or key not in (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down):
        return None
    if key in (Qt.Key.Key_Right, Qt.Key.Key_Up):
        return next((one for one in thresholds if one > now + 1e-9), None)
    return next((one for one in reversed(thresholds) if one < now - 1e-9), None)


def rows_of(found: Frontier, standing: Standing) -> list[Row]:
    """The table twin, by `COLUMNS`."""
    best, advised = on_frontier(found), found.recommended
    pairs = zip(found.points, best, strict=True)
    return [_row(found, p, p is advised, p.threshold == standing.threshold, good) for p, good in pairs]


def _row(found: Frontier, point: FrontierPoint, advised: bool, asked: bool, good: bool) -> Row:
    mark = ("◆" if asked else "") + ("◉" if advised else "") or ("" if good else "○")
    cells = (
        mark,
        f"{point.threshold:g}",
        f"{point.mean_exit_layer:.2f}",
        "–" if np.isnan(point.agreement) else f"{point.agreement:.1%}",
        f"{point.early:.1%}",
        f"{point.verifications:.2f}",
        f"{point.exact_tokens} of {found.tokens}",
    )
    return Row(cells, ink="caution" if asked else "right" if advised else "text", tip="Enter tries this threshold")


def point_words(found: Frontier, point: FrontierPoint) -> str:
    """A point, for the hover."""
    advised = " · advised" if point is found.recommended else ""
    return (
        f"<b>threshold {point.threshold:g}</b>{advised}<br>mean exit layer {point.mean_exit_layer:.2f} · "
        f"{point.agreement:.1%} as full depth<br>{point.early:.1%} early · {point.verifications:.2f} checks a token<br>"
        f"{point.exact_tokens} of {found.tokens} tokens exact, the rest an estimate"
    )


def summary(found: Frontier) -> str:
    """The frontier in a sentence."""
    best, first, last = found.recommended, found.points[0], found.points[-1]
    advised = f" {WANTED:.0%} agreement takes a threshold of {best.threshold:g}." if best else ""
    return (
        f"{len(found.points)} thresholds from {first.threshold:g} (mean exit layer {first.mean_exit_layer:.1f}, "
        f"{first.agreement:.1%} as full depth) to {last.threshold:g} ({last.mean_exit_layer:.1f}, "
        f"{last.agreement:.1%}).{advised}"
    )


def _ticks(low: float, high: float, pixels: float, spacing: float, steps: Sequence[float]) -> list[float]:
    per_unit = pixels / max(high - low, 1e-9)
    step = next((one for one in steps if one * per_unit >= spacing), steps[-1])
    return [float(value) for value in np.arange(np.ceil(low / step) * step, high + 1e-9, step)]


def _layers(low: float, high: float, pixels: float) -> list[tuple[float, str]]:
    return [(one, f"{one:g}") for one in _ticks(low, high, pixels, 46, (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50))]


def _shares(low: float, high: float, pixels: float) -> list[tuple[float, str]]:
    found = _ticks(low, min(high, 1.0), pixels, 24, (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5))
    return [(one, f"{one:.1%}" if round(one * 1000) % 10 else f"{one:.0%}") for one in found]
