"""Exit layers over tokens as a what-if has them, beside the recorded ones; beyond the exact part they are hatched."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen, QPixmap, QPolygonF
from PySide6.QtWidgets import QWidget

from core.analysis.summaries import ExitSeries
from core.analysis.what_if_changes import Comparison
from core.trace.events import IntArray
from widgets.exit_items import Bars
from widgets.layer_columns import Border, LayerColumns
from widgets.palette import Theme
from widgets.plot_items import PixelItem, Pixels, points

NOTHING = "What the settings above would change appears here."
_TILE = 6
"""Pixels between two lines of the hatching."""


class Hatch(PixelItem):
    """Hatches the bars of the estimate, and marks where it begins."""

    def __init__(self) -> None:
        super().__init__()
        self._from = 0
        self._count = 0
        self._brush = QBrush()
        self._border = Border("exact", "estimate", (3, 3))

    def place(self, estimate_from: int, count: int) -> None:
        """The estimate begins with this 0-based token of so many."""
        self._from, self._count = estimate_from, count
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        self._border.apply_theme(theme, theme.accent)
        tile = QPixmap(_TILE, _TILE)
        tile.fill(Qt.GlobalColor.transparent)
        painter = QPainter(tile)
        painter.setPen(QPen(QColor(theme.surface), 2.2))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for shift in (-_TILE, 0, _TILE):  # so that lines go on across the tiles' edges
            painter.drawLine(QPointF(shift, _TILE), QPointF(shift + _TILE, 0))
        painter.end()
        self._brush = QBrush(tile)
        self.update()

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        if self._from >= self._count:
            return
        x = float(np.round(pixels.x(self._from + 0.5)))
        rest = QRectF(x, pixels.area.top(), max(pixels.area.right() - x, 0), pixels.area.height())
        painter.fillRect(rest.intersected(pixels.area), self._brush)
        self._border.draw(painter, pixels, x)


class Recorded(PixelItem):
    """The recorded exit layers: a stroke a token, or a line through them where tokens are thinner than a stroke."""

    def __init__(self) -> None:
        super().__init__()
        self._layers: IntArray = np.zeros(0, np.int64)
        self._pens = (QPen(), QPen())

    def set_layers(self, layers: IntArray) -> None:
        """Shape [n], 1…L."""
        self._layers = layers
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        flat = Qt.PenCapStyle.FlatCap
        self._pens = (
            QPen(QColor(theme.surface), 4, Qt.PenStyle.SolidLine, flat),
            QPen(QColor(theme.text), 2, Qt.PenStyle.SolidLine, flat),
        )
        self.update()

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        first, last = pixels.tokens(len(self._layers))
        if last <= first:
            return
        stride = max(round(2 / pixels.x_scale), 1)
        tokens = np.arange(first, last, stride)
        y = np.round(pixels.y(self._layers[tokens])) + 1
        if pixels.x_scale >= 3:
            left, right = np.round(pixels.x(tokens + 0.5)), np.round(pixels.x(tokens + 1.5))
            lines = [QLineF(a, b, c, b) for a, b, c in zip(left.tolist(), y.tolist(), right.tolist(), strict=True)]
            for pen in self._pens:
                painter.setPen(pen)
                painter.drawLines(lines)
            return
        pen = QPen(self._pens[1])
        pen.setWidth(1)
        painter.setPen(pen)
        painter.drawPolyline(QPolygonF(points(pixels.x(tokens + 1), y)))


class WhatIfPlot(LayerColumns):
    """Bars where each token would leave, strokes where it did."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("What-if exit layers over tokens", "layer", parent)
        self.compared: Comparison | None = None
        self.bars, self.hatch, self.recorded = Bars(), Hatch(), Recorded()
        for depth, item in enumerate((self.bars, self.hatch, self.recorded)):
            self.add(item, depth)
        self.apply_theme(self.theme)
        self.show_comparison(None)

    @staticmethod
    def legend_html(theme: Theme) -> str:
        """What the marks mean."""
        return f'bar = what-if &nbsp;<span style="color:{theme.text}">━</span> recorded &nbsp;▨ estimate'

    def show_comparison(self, compared: Comparison | None) -> None:
        """Show this; None shows nothing."""
        other_depth = compared is not None and (self.compared is None or self.compared.depth != compared.depth)
        self.compared = compared
        self.set_message(NOTHING if compared is None else None)
        asked = compared.asked if compared else np.zeros(0, np.int64)
        depth = compared.depth if compared else 1
        if other_depth:
            self.set_depth(depth)
        blank = np.zeros(len(asked))
        self.bars.set_series(ExitSeries(asked, blank.astype(np.uint8), blank.astype(np.float32), depth), 0)
        self.recorded.set_layers(compared.recorded if compared else asked)
        self.hatch.place(compared.estimate_from if compared else 0, len(asked))
        self.set_count(len(asked))
        self.refresh_hover()
        if compared is not None:
            self.describe(summary(compared))

    def readout(self, x: float, y: float) -> str | None:
        token = self.token_at(x)
        if token is None or self.compared is None:
            return None
        compared = self.compared
        before, after = int(compared.recorded[token]), int(compared.asked[token])
        least = "" if compared.known[token] else "at least "
        moved = (
            f"exit layer {before} → {least}<b>{after}</b>" if after != before else f"exit layer {before}, as recorded"
        )
        sure = "exact" if token < compared.estimate_from else "estimate"
        return f"<b>token {token + 1}</b> · {sure}<br>{moved}"


def summary(compared: Comparison) -> str:
    """The plot in a sentence."""
    count, moved = len(compared.asked), len(compared.changes)
    if not moved:
        return f"{count} tokens; each leaves where it left in the recording."
    return (
        f"{count} tokens; {moved} decisions change, the first at token {compared.changes[0].token + 1}; exact through "
        f"token {min(compared.estimate_from, count)}, an estimate beyond."
    )
