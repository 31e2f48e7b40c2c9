"""How one chip of the token strip looks: text, exit layer with its outcome mark, and a bar."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QFontMetrics,
    QPaintEngine,
    QPainter,
    QPainterPath,
    QPen,
    QPixmap,
    QStaticText,
    QTextOption,
    QTransform,
)

from core.analysis.summaries import Outcome
from widgets.highlight import paint_corner
from widgets.palette import Theme, exit_colours
from widgets.plot_marks import draw_corners, draw_unequals
from widgets.theme import SMALL, mixed

PADDING = 7
BAR = 4
RADIUS = 5.0
LONGEST = 22
"""Width of the widest chip's text, in letters; the middle of a longer token is left out."""

BODIES = 512
"""Chips without their texts that are kept as pictures, some 10 KB each."""
WORDS = 2048
"""Texts that are kept laid out."""


@dataclass(frozen=True, slots=True)
class ChipState:
    """Everything about a chip but its place."""

    text: str
    number: str
    share: float
    """How much of the bar is filled, 0…1."""
    colour: QColor
    mark: Outcome | None
    selected: bool = False
    hovered: bool = False
    in_flight: bool = False
    highlighted: bool = False
    """Whether it belongs to the tokens that are highlighted everywhere."""
    bookmarked: bool = False


class ChipPainter:
    """Measures and paints chips in one font and theme."""

    def __init__(self, font: QFont, theme: Theme) -> None:
        self.theme = theme
        self.font = fixed(font)
        self.small = QFont(font)
        self.small.setPointSizeF(font.pointSizeF() * SMALL)
        # Between the panel and what stands out from it: chips are many, and each is set off by its outline already.
        self.fill = mixed(theme.raised, theme.surface, 0.5)
        self._metrics, self._small_metrics = QFontMetrics(self.font), QFontMetrics(self.small)
        # Fonts that stand in for missing letters are often taller than the one asked for.
        self._text_height = math.ceil(self._metrics.height() * 1.15)
        self.height = 3 + self._text_height + self._small_metrics.height() + 3 + BAR
        self.longest = self._metrics.horizontalAdvance("x" * LONGEST)
        self._sizes: dict[str, tuple[str, int]] = {}
        self._least: dict[int, int] = {}
        self._colours: list[QColor] = []
        self._bodies: dict[Hashable, QPixmap] = {}
        self._words: dict[str, tuple[QStaticText, QSizeF]] = {}

    def width(self, text: str, depth: int) -> int:
        """Width of a chip in pixels, wide enough for its text (or what is left of it) and its number."""
        if depth not in self._least:
            self._least[depth] = self._small_metrics.horizontalAdvance(str(depth)) + self._mark_size() + 5
        return max(self._fitted(text)[1], self._least[depth]) + 2 * PADDING

    def colour(self, exit_layer: int, depth: int) -> QColor:
        """Cividis for this exit layer."""
        if len(self._colours) != depth:
            self._colours = [QColor(*map(int, rgb)) for rgb in exit_colours(np.arange(1, depth + 1), depth)]
        return self._colours[min(max(exit_layer, 1), depth) - 1]

    def paint(self, painter: QPainter, rect: QRect, chip: ChipState) -> None:
        """Paint a chip on the theme's surface. All but the text of a plain one is painted once and copied from then on:
        of these there are few, while a page has a hundred chips."""
        ratio = painter.device().devicePixelRatioF()
        plain = not (chip.hovered or chip.in_flight)
        # A copy that began within a screen's pixel would be blurred, and an SVG has no pixels.
        if plain and ratio == int(ratio) and painter.paintEngine().type() is QPaintEngine.Type.Raster:
            painter.drawPixmap(rect.topLeft(), self._body(rect.size(), chip, ratio))
        else:
            self._paint_body(painter, rect, chip)
        self._paint_text(painter, rect, chip)

    def _body(self, size: QSize, chip: ChipState, ratio: float) -> QPixmap:
        flags = chip.selected, chip.highlighted, chip.bookmarked
        looks = chip.number, chip.share, chip.colour.rgba(), chip.mark, *flags
        key = (size.width(), ratio, *looks)
        if key not in self._bodies:
            if len(self._bodies) >= BODIES:
                self._bodies.clear()
            body = QPixmap(size * ratio)
            body.setDevicePixelRatio(ratio)
            body.fill(self.theme.surface)
            painter = QPainter(body)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            self._paint_body(painter, QRect(QPoint(), size), chip)
            painter.end()
            self._bodies[key] = body.copy()  # without what painted it, which Qt keeps: 8 KB
        return self._bodies[key]

    def _paint_body(self, painter: QPainter, rect: QRect, chip: ChipState) -> None:
        shape, half = QPainterPath(), self._outline(chip).widthF() / 2  # all of the outline lies within
        shape.addRoundedRect(QRectF(rect).adjusted(half, half, -half, -half), RADIUS, RADIUS)
        painter.fillPath(shape, QColor(self.theme.selection if chip.selected else self.fill))
        painter.save()
        painter.setClipPath(shape, Qt.ClipOperation.IntersectClip)
        self._paint_bar(painter, rect, chip)
        self._paint_number(painter, rect, chip)
        if chip.highlighted:
            paint_corner(painter, rect, self.theme)
        if chip.bookmarked:
            paint_corner(painter, rect, self.theme, right=True)
        painter.restore()
        painter.setPen(self._outline(chip))
        painter.drawPath(shape)

    def _outline(self, chip: ChipState) -> QPen:
        theme = self.theme
        if chip.selected:
            return QPen(QColor(theme.accent), 2)
        if chip.in_flight:
            return QPen(QColor(theme.muted), 1, Qt.PenStyle.DashLine)
        return QPen(QColor(theme.muted if chip.hovered else mixed(theme.line, theme.muted, 0.2)), 1)

    def _paint_bar(self, painter: QPainter, rect: QRect, chip: ChipState) -> None:
        bar = QRect(rect.left(), rect.bottom() + 1 - BAR, rect.width(), BAR)
        painter.fillRect(bar, QColor(self.theme.line))
        bar.setWidth(round(rect.width() * chip.share))
        painter.fillRect(bar, chip.colour)

    def _paint_text(self, painter: QPainter, rect: QRect, chip: ChipState) -> None:
        room = rect.width() - 2 * PADDING
        text, width = self._fitted(chip.text)
        if width > room:
            text = self._metrics.elidedText(chip.text, Qt.TextElideMode.ElideMiddle, room)
        painter.setFont(self.font)
        painter.setPen(QColor(self.theme.muted if chip.in_flight else self.theme.text))
        words, size = self._laid_out(text, painter.layoutDirection())
        # To whole pixels as Qt places a text that it lays out anew.
        top = rect.top() + 3 + math.ceil((self._text_height - size.height()) / 2)
        painter.drawStaticText(QPointF(rect.left() + (rect.width() - size.width()) / 2, top), words)

    def _laid_out(self, text: str, direction: Qt.LayoutDirection) -> tuple[QStaticText, QSizeF]:
        if text not in self._words:
            if len(self._words) >= WORDS:
                self._words.clear()
            words, option = QStaticText(text), QTextOption()
            option.setTextDirection(direction)
            words.setTextFormat(Qt.TextFormat.PlainText)
            words.setTextOption(option)
            words.prepare(QTransform(), self.font)
            self._words[text] = words, words.size()
        return self._words[text]

    def _paint_number(self, painter: QPainter, rect: QRect, chip: ChipState) -> None:
        size = self._mark_size()
        mark_width = size + 4 if chip.mark in _MARKED else 0
        width = self._small_metrics.horizontalAdvance(chip.number) + mark_width
        left = rect.left() + (rect.width() - width) // 2
        top = rect.top() + 3 + self._text_height
        colour = QColor(self._number_colour(chip))
        if chip.mark in _MARKED:
            centre = QPointF(left + size / 2, top + self._small_metrics.height() / 2 + 0.5)
            paint_mark(painter, centre, size, chip.mark, colour)
        painter.setFont(self.small)
        painter.setPen(colour)
        place = QRect(left + mark_width, top, width, self._small_metrics.height())
        painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, chip.number)

    def _number_colour(self, chip: ChipState) -> str:
        if chip.mark is Outcome.WRONG_EXIT:
            return self.theme.wrong
        if chip.mark is Outcome.REFUSED:
            return self.theme.caution
        return self.theme.text if chip.selected else self.theme.muted

    def _mark_size(self) -> int:
        return round(self._small_metrics.ascent() * 0.7)

    def _fitted(self, text: str) -> tuple[str, int]:
        """The text, without its middle where it is very long, and its width in pixels."""
        if text not in self._sizes:
            width = self._metrics.horizontalAdvance(text)
            if width > self.longest:
                self._sizes[text] = self._elided(text)
            else:
                self._sizes[text] = text, width
        return self._sizes[text]

    def _elided(self, text: str) -> tuple[str, int]:
        short = self._metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, self.longest)
        return short, self._metrics.horizontalAdvance(short)


def paint_ring(painter: QPainter, chip: QRect | None, area: QRect, theme: Theme) -> None:
    """The focus ring: around the chosen chip, or, where none is chosen, around the whole `area`."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(theme.accent), 1))
    if chip is None:
        painter.drawRoundedRect(area.adjusted(0, 0, -1, -1), RADIUS, RADIUS)
    else:
        painter.drawRoundedRect(chip.toRectF().adjusted(-2, -2, 2, 2), RADIUS + 2, RADIUS + 2)


def paint_mark(painter: QPainter, centre: QPointF, size: int, mark: Outcome, colour: QColor) -> None:
    """The outcome mark: a square for full depth, a struck circle for proposed and refused, a ring for prefill, a
    struck = for a wrong exit, an arrow round a corner for a token that was given to a branch."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    half = size / 2
    painter.setPen(QPen(colour, 1.2))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    if mark is Outcome.FULL_DEPTH:
        painter.fillRect(QRectF(centre.x() - half * 0.7, centre.y() - half * 0.7, size * 0.7, size * 0.7), colour)
    elif mark is Outcome.PREFILL:
        painter.drawEllipse(centre, half * 0.7, half * 0.7)
    elif mark is Outcome.REFUSED:
        painter.drawEllipse(centre, half, half)
        leg = half * math.sqrt(0.5)
        painter.drawLine(centre + QPointF(-leg, leg), centre + QPointF(leg, -leg))
    elif mark is Outcome.WRONG_EXIT:
        draw_unequals(painter, [centre], size, colour)
    elif mark is Outcome.GIVEN:
        draw_corners(painter, [centre], size, colour)
    painter.restore()


_MARKED = (Outcome.FULL_DEPTH, Outcome.REFUSED, Outcome.PREFILL, Outcome.WRONG_EXIT, Outcome.GIVEN)


def fixed(font: QFont) -> QFont:
    """The system's fixed-width font for token texts; letters that it lacks come from `font`."""
    made = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    made.setFamilies([*made.families(), *font.families()])
    made.setStyleHint(QFont.StyleHint.Monospace)
    made.setPointSizeF(font.pointSizeF() * 1.1)
    return made
