"""What the exit chart is painted with: the bars, their running mean, and a mark for how each pass ended."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from core.analysis.summaries import ExitSeries, Outcome
from widgets.palette import Theme, exit_colours
from widgets.pixel_image import PixelImage, argb, rgb
from widgets.plot_items import PixelItem, Pixels, points
from widgets.plot_marks import draw_corners, draw_refusals, draw_unequals
from widgets.theme import mixed

_CAP = 2
"""Pixels of a bar's end."""


class Bars(PixelImage):
    """The bars as one image of whole pixels, made for the visible part only.

    Where a pixel column holds several tokens it shows their mean, so that zooming out drops none.
    """

    def __init__(self) -> None:
        super().__init__()
        self._layers = np.zeros(0, np.int64)
        self._depth = 1
        self._colours = self._caps = np.zeros(2, np.uint32)
        self._line = QColor()
        self._theme: Theme | None = None

    def set_series(self, series: ExitSeries, first: int) -> None:
        """Tokens before the 0-based `first` are as they were."""
        self._layers = series.exit_layers
        if series.depth != self._depth and self._theme is not None:
            self._depth, first = series.depth, 0
            self._make_colours(self._theme)
        self.spoil(first)

    def apply_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._line = QColor(theme.muted)
        self._make_colours(theme)
        self.spoil(0)

    def _make_colours(self, theme: Theme) -> None:
        layers = exit_colours(np.arange(self._depth + 1), self._depth)
        ground, ink = rgb(theme.surface), rgb(theme.text)
        dark = theme.name == "dark"
        # Bodies step back so that the ends speak; on white the ends are darkened, for yellow would be lost there.
        self._colours = argb(layers + (ground - layers) * (0.3 if dark else 0.12))
        self._caps = argb(layers if dark else layers + (ink - layers) * 0.45)

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        if len(self._layers):
            self.draw_image(painter, pixels)
        y = float(np.round(pixels.y(self._depth))) + 0.5
        pen = QPen(self._line, 1)
        pen.setDashPattern([4, 4])
        painter.setPen(pen)
        painter.drawLine(QLineF(round(pixels.area.left()), y - 1, round(pixels.area.right()), y - 1))

    def count(self) -> int:
        return len(self._layers)

    def renew(self, cells: NDArray[np.uint32], left: int, pixels: Pixels) -> None:
        height, width = cells.shape
        means, inside = self._columns(left, left + width, pixels)
        level = np.clip(np.round(means), 0, self._depth).astype(int)
        tops = np.round((pixels.y(means) - pixels.area.top()) * pixels.ratio).astype(int)
        tops = np.where(inside, tops, height)
        cells[:] = np.where(np.arange(height)[:, None] >= tops, self._colours[level], np.uint32(0))
        for row in range(math.ceil(_CAP * pixels.ratio)):  # a few thin rows: cheaper than asking every pixel
            at = np.flatnonzero((tops + row >= 0) & (tops + row < height))
            cells[tops[at] + row, at] = self._caps[level[at]]

    def _columns(self, left: int, right: int, pixels: Pixels) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """For each of these pixel columns the mean exit layer there, and whether it is part of a bar, not of a gap."""
        edges = pixels.area.left() + np.arange(left, right + 1) / pixels.ratio
        place = (edges - pixels.x_zero) / pixels.x_scale - 0.5
        token = np.floor(place + 1e-6).astype(int)
        count = len(self._layers)
        first = np.clip(token[:-1], 0, count)
        last = np.clip(np.maximum(token[1:], token[:-1] + 1), 0, count)
        sizes = last - first
        start = int(first[0])  # sums over what is in view only
        totals = np.concatenate([[0.0], np.cumsum(self._layers[start : int(last[-1])], dtype=float)])
        means = (totals[last - start] - totals[first - start]) / np.maximum(sizes, 1)
        gap = _gap(pixels.x_scale) * pixels.ratio
        later = np.minimum(np.arange(right - left) + round(gap), right - left)
        inside = (sizes > 0) & (token[:-1] >= 0) & ((gap == 0) | (token[later] == token[:-1]))
        return means, inside


def _gap(token_width: float) -> int:
    """Pixels between bars of this width."""
    return 0 if token_width < 3.3 else 1 if token_width < 14 else 2


class MeanLine(PixelItem):
    """The running mean over the visible tokens, set off from the bars by a rim in the ground's colour."""

    def __init__(self) -> None:
        super().__init__()
        self._means = np.zeros(0, np.float32)
        self._pens = (QPen(), QPen())

    def set_series(self, series: ExitSeries, first: int) -> None:
        """Tokens before the 0-based `first` are as they were."""
        before, self._means = len(self._means), series.running_mean
        self.update_from(first, max(before, len(self._means)))

    def apply_theme(self, theme: Theme) -> None:
        join, cap = Qt.PenJoinStyle.BevelJoin, Qt.PenCapStyle.FlatCap
        solid = Qt.PenStyle.SolidLine
        self._pens = QPen(QColor(theme.surface), 4.5, solid, cap, join), QPen(QColor(theme.text), 1.8, solid, cap, join)
        self.update()

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        stride = max(round(1 / pixels.x_scale), 1)  # no more points than pixels
        # All of them where it leaves some out: which ones must not depend on what is exposed.
        first, last = pixels.tokens(len(self._means), self.exposed if stride == 1 else None)
        tokens = np.arange(first, last, stride)
        tokens = tokens[np.isfinite(self._means[tokens])]
        if not len(tokens):
            return
        line = points(pixels.x(tokens + 1), pixels.y(self._means[tokens]))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rim, pen = (QPen(p) for p in self._pens)
        if stride == 1:
            painter.setPen(rim)
            painter.drawPolyline(QPolygonF(line))
        else:  # crowded: a rim, or a thick line, would hide the bars
            pen.setWidthF(1.0)
        painter.setPen(pen)
        painter.drawPolyline(QPolygonF(line))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


class OutcomeMarks(PixelItem):
    """▪ over a pass that ran to full depth, ▫ over the prompt's, ⊘ over one that did so after a refused exit; ≠ over a
    wrong exit, ↳ over a token that was given to a branch."""

    def __init__(self) -> None:
        super().__init__()
        self._outcomes = np.zeros(0, np.uint8)
        self._depth = 1
        self._colours: dict[str, QColor] = {}

    def set_series(self, series: ExitSeries, first: int) -> None:
        """Tokens before the 0-based `first` are as they were."""
        before = len(self._outcomes)
        self._outcomes, self._depth = series.outcomes, series.depth
        self.update_from(first, max(before, len(self._outcomes)))

    def apply_theme(self, theme: Theme) -> None:
        self._colours = {
            "mark": QColor(mixed(theme.muted, theme.surface, 0.15)),
            "refused": QColor(theme.caution),
            "wrong": QColor(theme.wrong),
            "ground": QColor(theme.surface),
        }
        self.update()

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        y = float(np.round(pixels.y(self._depth))) - 8
        size = min(max(pixels.x_scale * 0.5, 2.0), 5.0)
        sign = min(max(pixels.x_scale * 0.75, 5.5), 7.5)
        if pixels.x_scale >= 3:  # closer together they would run into a line; bar and dashed line tell it then
            for outcome in (Outcome.FULL_DEPTH, Outcome.PREFILL):
                x = self._exposed(self._places(outcome, pixels), size)
                draw_squares(painter, x, y, size, self._colours["mark"], hollow=outcome is Outcome.PREFILL)
            given = self._exposed(self._places(Outcome.GIVEN, pixels), size)
            draw_corners(painter, points(given, np.full(len(given), y)), size + 1, self._colours["mark"])
        # Where they crowd, the graver mark stays: bar and hover tell the others.
        wrong = apart(self._places(Outcome.WRONG_EXIT, pixels), sign + 1.5)
        refused = apart(clear_of(self._places(Outcome.REFUSED, pixels), wrong, sign + 1), sign + 1.5)
        wrong, refused = self._exposed(wrong, sign), self._exposed(refused, sign)
        draw_refusals(painter, points(refused, np.full(len(refused), y)), sign, self._colours["refused"])
        draw_unequals(painter, points(wrong, np.full(len(wrong), y)), sign, self._colours["wrong"])

    def _places(self, outcome: Outcome, pixels: Pixels) -> NDArray[np.float64]:
        """The middles of all visible columns with this outcome, ascending."""
        first, last = pixels.tokens(len(self._outcomes))
        seen = self._outcomes[first:last]
        if outcome not in seen.tobytes():  # as most are not, most of the time
            return np.zeros(0)
        tokens = np.flatnonzero(seen == outcome) + first
        return np.floor(pixels.x(tokens + 1) - _gap(pixels.x_scale) / 2) + 0.5

    def _exposed(self, x: NDArray[np.float64], size: float) -> NDArray[np.float64]:
        """Those of which something is to be painted. Only now: which ones keep clear depends on all of them."""
        if not len(x):
            return x
        return x[(x > self.exposed.left() - size) & (x < self.exposed.right() + size)]


def clear_of(places: NDArray[np.float64], taken: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """Those of `places` that keep `least` pixels from every one of the ascending `taken`."""
    if not len(taken):
        return places
    after = np.searchsorted(taken, places).clip(0, len(taken) - 1)
    nearest = np.minimum(np.abs(taken[after] - places), np.abs(taken[np.maximum(after - 1, 0)] - places))
    return np.asarray(places[nearest >= least])


def apart(places: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """Those of the ascending `places` that keep `least` pixels from the one before: crowded marks tell no more."""
    kept: list[float] = []
    for place in places.tolist():
        if not kept or place - kept[-1] >= least:
            kept.append(place)
    return np.array(kept, float)


def draw_squares(
    painter: QPainter, x: NDArray[np.float64], y: float, size: float, colour: QColor, hollow: bool
) -> None:
    """Small squares centred on `x`, filled or as outlines, on whole pixels."""
    if not len(x):
        return
    side = max(round(size), 2)
    painter.setPen(QPen(colour, 1) if hollow else Qt.PenStyle.NoPen)
    painter.setBrush(Qt.BrushStyle.NoBrush if hollow else colour)
    room = side - 1 if hollow else side
    lefts, top = np.floor(x - side / 2 + 0.5).tolist(), math.floor(y - side / 2 + 0.5)
    painter.drawRects([QRectF(left, top, room, room) for left in lefts])
