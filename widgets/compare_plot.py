"""Exit layers over tokens of two runs: two lines that differ in colour, style and marker, and where the texts part."""

from __future__ import annotations

import html

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from core.analysis.compare_rows import Aligned, AlignedRow, Cell
from core.trace.events import IntArray
from widgets.compare_table import elided, signed
from widgets.layer_columns import Border, LayerColumns
from widgets.palette import Theme
from widgets.plot_items import PixelItem, Pixels, points
from widgets.plot_marks import draw_dots
from widgets.theme import mixed

NOTHING = "Choose a run above, and both runs’ exit layers appear here."
_MARKED_FROM = 6
"""Pixels a token from which on each has a marker; closer together they would hide the lines."""
_LONGEST = 60


class RunLine(PixelItem):
    """One run's exit layers: a solid line with round markers, or a dashed one with squares."""

    def __init__(self, role: str, *, dashed: bool) -> None:
        super().__init__()
        self._role, self._dashed = role, dashed
        self._layers: IntArray = np.zeros(0, np.int64)
        self._colour, self._ground = QColor(), QColor()

    def set_layers(self, layers: IntArray) -> None:
        """Shape [n], 1…L."""
        self._layers = layers
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        self._colour, self._ground = QColor(getattr(theme, self._role)), QColor(theme.surface)
        self.update()

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        first, last = pixels.tokens(len(self._layers))
        if last <= first:
            return
        at = points(*self._places(first, last, pixels))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(self._pen(crowded=pixels.x_scale < _MARKED_FROM))
        painter.drawPolyline(QPolygonF(at))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        if pixels.x_scale >= _MARKED_FROM:
            draw_dots(painter, at, 5.0, self._colour, self._ground, square=self._dashed)

    def _places(self, first: int, last: int, pixels: Pixels) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A point a token or, where pixels hold several, their mean."""
        stride = max(round(2 / pixels.x_scale), 1)
        begins = np.arange(first, last, stride)
        sizes = np.diff(np.append(begins, last))
        means = np.add.reduceat(self._layers[:last].astype(float), begins) / sizes
        return pixels.x(begins + (sizes + 1) / 2), pixels.y(means)

    def _pen(self, *, crowded: bool) -> QPen:
        pen = QPen(self._colour, 1.0 if crowded else 1.6)
        if self._dashed:
            pen.setDashPattern([5, 3])
        return pen


class Beyond(PixelItem):
    """Shades what lies beyond the place where the texts part: there the contexts differ, too."""

    moving = True
    """It lies below the selection's band: in the picture of what stays it would lift lines and words to below it."""

    def __init__(self) -> None:
        super().__init__()
        self._at: int | None = None
        self._shade = QColor()

    def place(self, token: int | None) -> None:
        """The runs part at this 0-based token; None says they do not."""
        self._at = token
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        self._shade = QColor(mixed(theme.surface, theme.muted, 0.08))
        self.update()

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        if self._at is None:
            return
        area = QRectF(pixels.area)
        area.setLeft(max(float(np.round(pixels.x(self._at + 0.5))), area.left()))
        if area.width() > 0:
            painter.fillRect(area, self._shade)


class Parting(PixelItem):
    """A dotted line where the texts part, with words on either side."""

    def __init__(self) -> None:
        super().__init__()
        self._at: int | None = None
        self._border = Border("same text", "▶ texts part", (2, 3))

    def place(self, token: int | None) -> None:
        """The runs part at this 0-based token; None says they do not."""
        self._at = token
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        self._border.apply_theme(theme, theme.muted)
        self.update()

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        if self._at is not None:
            self._border.draw(painter, pixels, float(np.round(pixels.x(self._at + 0.5))))


class ComparePlot(LayerColumns):
    """A solid line with round markers is A, a dashed one with squares B."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Exit layers of both runs over tokens", "layer", parent)
        self.aligned: Aligned | None = None
        self._deepest = 0
        self.beyond, self.parting = Beyond(), Parting()
        self.lines = (RunLine("accent", dashed=False), RunLine("caution", dashed=True))
        self.add(self.beyond, -12)
        self.add(self.parting, 5)
        for depth, item in enumerate(self.lines):  # where they agree, A shows between B's dashes
            self.add(item, depth)
        self.apply_theme(self.theme)
        self.show_aligned(None)

    @staticmethod
    def legend_html(theme: Theme, names: tuple[str, str]) -> str:
        """Both lines with what they stand for."""
        a, b = map(html.escape, names)
        return (
            f'<span style="color:{theme.accent}">━●</span> A {a} &nbsp;'
            f'<span style="color:{theme.caution}">┅■</span> B {b}'
        )

    def show_aligned(self, aligned: Aligned | None) -> None:
        """Show these runs; None says how to get there."""
        self.aligned = aligned
        self.set_message(NOTHING if aligned is None else None)
        deepest = max(aligned.depths) if aligned else 1
        if deepest != self._deepest:
            self._deepest = deepest
            self.set_depth(deepest)
        for run, line in enumerate(self.lines):
            line.set_layers(aligned.found.exit_layers[run][: aligned.counts[run]] if aligned else np.zeros(0, np.int64))
        for item in (self.beyond, self.parting):
            item.place(aligned.found.first_divergence if aligned else None)
        self.set_count(len(aligned) if aligned else 0)
        self.refresh_hover()
        if aligned is not None:
            self.describe(summary(aligned))

    def readout(self, x: float, y: float) -> str | None:
        token = self.token_at(x)
        if token is None or self.aligned is None:
            return None
        return row_html(self.aligned.row(token))


def row_html(row: AlignedRow) -> str:
    """What both runs did at a token, for the hover."""
    same = "same text" if row.same else "the texts part here" if row.first else "other text"
    delta = f" · Δ {signed(row.layers_delta)}" if row.layers_delta is not None else ""
    told = [_cell_html(name, cell) for name, cell in zip("AB", row.cells, strict=True)]
    return f"<b>token {row.token + 1}</b> · {same}{delta}<br>{'<br>'.join(told)}"


def _cell_html(name: str, cell: Cell | None) -> str:
    if cell is None:
        return f"{name} has ended"
    return f"{name} <b>{cell.exit_layer}</b> &nbsp;‘{html.escape(elided(cell.text, _LONGEST))}’"


def summary(aligned: Aligned) -> str:
    """The plot in a sentence."""
    found, at = aligned.found, aligned.found.first_divergence
    parted = f"the texts part at token {at + 1}" if at is not None else "the texts are the same"
    other = int((found.exit_delta != 0).sum())
    return f"{aligned.counts[0]} tokens in A, {aligned.counts[1]} in B; {parted}; {other} exit layers differ."
