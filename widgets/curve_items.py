"""What the probability curves are painted with: the ground, the curves, the score strip and the exit line."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPixmap, QPolygonF

from core.analysis.summaries import CandidateCurves
from widgets.candidate_legend import STYLES, paint_marker
from widgets.made_before import MadeBefore, blank, paint_on
from widgets.painting import guarded
from widgets.palette import DARK, Theme
from widgets.plot_items import PixelItem, Pixels, draw_threshold, points
from widgets.theme import mixed

STRIP = (-0.52, -0.17)
"""Where the scores 0…1 lie on the y axis, below the probabilities: one x axis serves both."""
STRIP_TEXTS = ("predictor score · exit proposed above {}", "score · exit above {}", "score")
"""What the strip shows, in words for much, little and hardly any room."""


def strip_y(score: ArrayLike) -> NDArray[np.float64]:
    """The y of predictor scores in the strip."""
    return np.asarray(STRIP[0] + (STRIP[1] - STRIP[0]) * np.asarray(score, float))


class CurveItem(PixelItem):
    """An item that paints the curves of one token."""

    def __init__(self) -> None:
        super().__init__()
        self.data: CandidateCurves | None = None
        self.show_score, self.full = True, False
        self.font = QFont()
        self.theme: Theme = DARK

    def set_data(self, data: CandidateCurves | None, show_score: bool, full: bool) -> None:
        """`full` asks for probabilities in the whole vocabulary, which only audited tokens have."""
        self.data, self.show_score, self.full = data, show_score, full
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        self.theme = theme
        self.update()


class Ground(CurveItem):
    """Faint lines at quarters, the strip's frame, the threshold, and a shade over the layers that never ran."""

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        if self.data is None:
            return
        if self.data.early:
            left = pixels.whole_x(self.data.exit_layer) + 1
            shade = QRectF(left, pixels.area.top(), pixels.area.right() - left, pixels.area.height())
            painter.fillRect(shade, QColor(mixed(self.theme.surface, self.theme.window, 0.65)))
        faint = QColor(mixed(self.theme.line, self.theme.surface, 0.3))
        for value in (0.0, 0.25, 0.5, 0.75, 1.0):
            _level(painter, pixels, value, QPen(faint, 1))
        if not self.show_score:
            return
        for value in STRIP:
            _level(painter, pixels, value, QPen(faint, 1))
        layers, heights = np.arange(self.data.depth), strip_y(self.data.thresholds)
        draw_threshold(painter, pixels, layers, heights, QColor(self.theme.muted))


def shown_curves(data: CandidateCurves, full: bool) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The layers that have values, shape [n], and the values, shape [n, k]: all L layers where there was an audit."""
    if data.audit is None:
        return data.layers, data.probabilities
    return np.arange(data.depth), data.audit.full if full else data.audit.local


class Curves(CurveItem):
    """A curve a candidate, markers at the evaluated layers only; the emitted one thicker and on top.

    What an audit adds steps back: thin where the predictors of the layers were not asked, dotted beyond the exit.
    """

    def __init__(self) -> None:
        super().__init__()
        self._signs: dict[tuple[int, bool, float], QPixmap] = {}
        """By candidate, whether it was emitted, and pixels of the screen a pixel."""

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._signs.clear()

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        data = self.data
        if data is None:
            return
        layers, values = shown_curves(data, self.full)
        if not len(layers):
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        order = sorted(range(values.shape[1]), key=lambda i: (i == data.emitted_candidate, -i))
        x = pixels.x(layers + 1)
        stretches = runs(layers.tolist(), set(data.layers.tolist()), data.exit_layer)
        for i in order:
            line = dict(zip(layers.tolist(), points(x, pixels.y(values[:, i])), strict=True))
            self._draw_one(painter, i, line, stretches)

    def _draw_one(
        self, painter: QPainter, index: int, line: dict[int, QPointF], stretches: list[tuple[str, list[int]]]
    ) -> None:
        """`line` holds a point for each layer; `stretches` are those of `runs`."""
        assert self.data is not None
        emitted = index == self.data.emitted_candidate
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for kind, run in stretches:
            painter.setPen(self._pen(kind, index, emitted))
            painter.drawPolyline(QPolygonF([line[layer] for layer in run]))
        sign = self._sign(index, emitted, painter.device().devicePixelRatioF())
        middle = QPointF(_ROOM / 2, _ROOM / 2)
        for layer in self.data.layers.tolist():
            painter.drawPixmap(line[layer] - middle, sign)

    def _sign(self, index: int, emitted: bool, ratio: float) -> QPixmap:
        """A candidate's marker with a rim, painted once: there are dozens of it."""
        key = (index % 4, emitted, ratio)
        if key not in self._signs:
            sign = self._signs[key] = QPixmap(math.ceil(_ROOM * ratio), math.ceil(_ROOM * ratio))
            sign.setDevicePixelRatio(ratio)
            sign.fill(Qt.GlobalColor.transparent)
            marker, size, at = STYLES[index % 4][1], 8 if emitted else 6.5, QPointF(_ROOM / 2, _ROOM / 2)
            painter = QPainter(sign)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            paint_marker(painter, marker, at, size + 2, QColor(self.theme.surface))
            paint_marker(painter, marker, at, size, QColor(self.theme.candidates[index % 4]))
            painter.end()
        return self._signs[key]

    def _pen(self, kind: str, index: int, emitted: bool) -> QPen:
        colour, style = self.theme.candidates[index % 4], STYLES[index % 4][0]
        cap, join = Qt.PenCapStyle.FlatCap, Qt.PenJoinStyle.RoundJoin
        if kind == SOLID:
            return QPen(QColor(colour), 3 if emitted else 1.5, style, cap, join)
        paler = QColor(mixed(colour, self.theme.surface, 0.25 if emitted else 0.4))
        if kind == THIN:
            return QPen(paler, 1.6 if emitted else 1, style, cap, join)
        pen = QPen(paler, 2.2 if emitted else 1.5, style, Qt.PenCapStyle.RoundCap, join)
        pen.setDashPattern([0.1, 2.4])
        return pen


_ROOM = 14
"""Pixels of a marker's picture, rim included."""

SOLID, THIN, DOTTED = "solid", "thin", "dotted"


def runs(layers: list[int], evaluated: set[int], exit_layer: int) -> list[tuple[str, list[int]]]:
    """Stretches of ascending 0-based `layers` that are drawn alike; each starts where the one before ends.

    Solid between evaluated layers, thin to and from others, dotted beyond the exit, which is none where `exit_layer`
    is 0.
    """
    made: list[tuple[str, list[int]]] = []
    for low, high in pairwise(layers):
        beyond = exit_layer > 0 and low >= exit_layer - 1
        kind = DOTTED if beyond else SOLID if {low, high} <= evaluated else THIN
        if made and made[-1][0] == kind:
            made[-1][1].append(high)
        else:
            made.append((kind, [low, high]))
    return made


class Scores(CurveItem):
    """The predictor's score at each evaluated layer: a stalk with a head, filled where it proposes an exit.

    What predictors that were not asked would have scored, where an audit tells: a small dim ring without a stalk.
    """

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        data = self.data
        if data is None or not self.show_score:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._draw_silent(painter, pixels, data)
        floor = pixels.whole_y(STRIP[0]) + 0.5
        places = points(np.round(pixels.x(data.layers + 1)) + 0.5, pixels.y(strip_y(data.scores)))
        asked, fired = QColor(self.theme.muted), QColor(self.theme.text)
        surface = QColor(self.theme.surface)
        fires = (data.scores > data.thresholds[data.layers]).tolist()
        for proposed, colour, width, fill in ((False, asked, 1, surface), (True, fired, 2, fired)):
            heads = [at for at, fire in zip(places, fires, strict=True) if fire is proposed]
            painter.setPen(QPen(colour, width))
            painter.drawLines([QLineF(at.x(), floor, at.x(), at.y()) for at in heads])
            painter.setPen(QPen(colour, 1.3))
            painter.setBrush(fill)
            for at in heads:
                painter.drawEllipse(at, 3.2, 3.2)
        self._label(painter, pixels)

    def _draw_silent(self, painter: QPainter, pixels: Pixels, data: CandidateCurves) -> None:
        if data.audit is None:
            return
        silent = np.setdiff1d(np.flatnonzero(~np.isnan(data.audit.scores)), data.layers)
        painter.setPen(QPen(QColor(mixed(self.theme.muted, self.theme.surface, 0.35)), 1))
        painter.setBrush(QColor(self.theme.surface))
        for point in points(pixels.x(silent + 1), pixels.y(strip_y(data.audit.scores[silent]))):
            painter.drawEllipse(point, 2.2, 2.2)

    def _label(self, painter: QPainter, pixels: Pixels) -> None:
        """What the strip shows, in the gap between the two plots, where no data can be."""
        assert self.data is not None
        metrics = QFontMetricsF(self.font)
        if -STRIP[1] * -pixels.y_scale < metrics.height():
            return
        painter.setFont(self.font)
        painter.setPen(QColor(self.theme.muted))
        room, top = pixels.area.width() - 8, float(pixels.y(STRIP[1] / 2)) - metrics.height() / 2 + 1
        gap = QRectF(pixels.area.left() + 4, top, room, metrics.height())
        own = ", or the layer’s own" if (self.data.thresholds != self.data.threshold).any() else ""
        texts = [text.format(f"{self.data.threshold:g}{own}") for text in STRIP_TEXTS]
        text = next((text for text in texts if metrics.horizontalAdvance(text) <= room), texts[-1])
        painter.drawText(gap, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)


class ExitLine(CurveItem):
    """The layer at which the token left, labelled in the free lane above the curves."""

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        data = self.data
        if data is None or data.exit_layer == 0:
            return
        x = pixels.whole_x(data.exit_layer)
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


Shown = tuple[CandidateCurves | None, bool, bool]
"""The curves, whether scores are shown, and whether probabilities in the whole vocabulary are."""


class CurvesPicture(MadeBefore):
    """All of it above each other, made as the curves come: together with the rest of the plot it would take a frame
    too long."""

    def __init__(self) -> None:
        super().__init__()
        self.items: tuple[CurveItem, ...] = (Ground(), Scores(), ExitLine(), Curves())
        self._shown: Shown = (None, True, False)
        self._next: tuple[Shown, Pixels, QPixmap] | None = None
        """What is expected, and the picture made of it for this place."""
        self._coming: QPixmap | None = None
        """A picture of what is expected that is not finished."""
        self._spare: QPixmap | None = None
        """One that is not needed any more; a new one of this size takes a while."""

    def set_data(self, data: CandidateCurves | None, show_score: bool, full: bool) -> None:
        """As `CurveItem.set_data`."""
        self._tell((data, show_score, full))
        before = self._picture
        self.forget()
        if self._next is not None and self._next[0][0] is data and self._next[:2] == (self._shown, self._pixels):
            self._picture, self._spare = self._next[2], before
        self._forget_expected()
        self.make()

    def expect(self, data: CandidateCurves, show_score: bool, full: bool) -> Iterator[None]:
        """Make the picture of what will probably be shown next, in two turns. Nothing that is seen changes."""
        self._forget_expected()
        pixels, wanted = self._pixels, (data, show_score, full)
        if pixels is None:
            return
        picture = self._coming = blank(pixels, self._spare)
        self._spare = None
        self._add(picture, pixels, wanted, self.items[:-1])
        yield
        if self._coming is picture:
            self._add(picture, pixels, wanted, self.items[-1:])
            self._next, self._coming = (wanted, pixels, picture), None
            yield

    def _add(self, picture: QPixmap, pixels: Pixels, wanted: Shown, items: tuple[CurveItem, ...]) -> None:
        shown = self._shown
        self._tell(wanted)
        paint_on(picture, pixels, partial(_paint, items))
        self._tell(shown)

    def _forget_expected(self) -> None:
        """What was expected does not come, or looks different now."""
        self._next = self._coming = None

    def _tell(self, shown: Shown) -> None:
        self._shown = shown
        for item in self.items:
            item.set_data(*shown)

    def apply_theme(self, theme: Theme) -> None:
        for item in self.items:
            item.apply_theme(theme)
        self.forget()
        self._forget_expected()

    def set_font(self, font: QFont) -> None:
        """Write in this type."""
        for item in self.items:
            item.font = font
        self.forget()
        self._forget_expected()

    def paint_all(self, painter: QPainter, pixels: Pixels) -> None:
        _paint(self.items, painter, pixels)


def _paint(items: tuple[CurveItem, ...], painter: QPainter, pixels: Pixels) -> None:
    for item in items:
        with guarded(painter):
            item.draw(painter, pixels)


def exit_label(data: CandidateCurves) -> str:
    """The exit line's label, layers counted from 1."""
    return f"exit {data.exit_layer}" if data.early else f"exit {data.exit_layer}, full depth"


def _level(painter: QPainter, pixels: Pixels, value: float, pen: QPen) -> None:
    y = pixels.whole_y(value) + 0.5
    painter.setPen(pen)
    painter.drawLine(QLineF(pixels.area.left(), y, pixels.area.right(), y))
