"""The marks on the scheduler map: where passes ended and how, and where exits were refused."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from core.analysis.summaries import CellState
from widgets.palette import Theme
from widgets.plot_items import PixelItem, Pixels, draw_crosses, draw_dots, draw_triangles, points

# As bytes: with the enum itself NumPy would widen every array to eight bytes a cell.
_EVALUATED, _REFUSED = np.uint8(CellState.EVALUATED), np.uint8(CellState.REFUSED)
_EXITED, _WRONG = np.uint8(CellState.EXITED), np.uint8(CellState.WRONG)


class CellMarks(PixelItem):
    """● where a pass ended early, ✕ where that was wrong, ■ at full depth, ▲ where an exit was refused, and the column
    in flight."""

    def __init__(self) -> None:
        super().__init__()
        self._states = np.zeros((0, 1), np.uint8)
        self._colours: dict[str, QColor] = {}

    def set_states(self, states: NDArray[np.uint8]) -> None:
        self._states = states
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        self._colours = {
            "exit": QColor(theme.text),
            "halo": QColor(theme.surface),
            "full": QColor(theme.muted),
            "refused": QColor(theme.caution),
            "wrong": QColor(theme.wrong),
        }
        self.update()

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        first, last = pixels.tokens(len(self._states))
        shown = self._states[first:last]
        if not len(shown):
            return
        # Crowded marks lose their rims, which would hide the map.
        crowded = pixels.x_scale < 2
        colours = self._colours | ({"halo": QColor(Qt.GlobalColor.transparent)} if crowded else {})
        size = float(np.clip(min(pixels.x_scale, -pixels.y_scale) * 0.9, 2, 7))
        tokens, layers = np.nonzero(shown & _EXITED)
        full = layers == shown.shape[1] - 1
        wrong = (shown[tokens, layers] & _WRONG) > 0

        def places(t: NDArray[np.intp], layer: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            return np.floor(pixels.x(t + first + 1)) + 0.5, np.floor(pixels.y(layer + 1)) + 0.5

        square = max(size - 2, 2)
        draw_dots(painter, points(*places(tokens[full], layers[full])), square, colours["full"], colours["halo"], True)
        right = ~full & ~wrong
        draw_dots(painter, points(*places(tokens[right], layers[right])), size, colours["exit"], colours["halo"])
        refused = points(*places(*np.nonzero(shown & _REFUSED)))
        draw_triangles(painter, refused, size + (1 if crowded else 3), colours["refused"], colours["halo"])
        crosses = points(*places(tokens[wrong], layers[wrong]))
        draw_crosses(painter, crosses, size + (0 if crowded else 1), colours["wrong"], colours["halo"])
        self._draw_in_flight(painter, pixels)

    def _draw_in_flight(self, painter: QPainter, pixels: Pixels) -> None:
        """A dotted line up the column of the token that has not left yet, from its last evaluated layer on."""
        if (self._states[-1] & _EXITED).any():
            return
        reached = np.flatnonzero(self._states[-1] & _EVALUATED)
        x = float(np.floor(pixels.x(len(self._states)))) + 0.5
        y = float(pixels.y(reached[-1] + 1.5 if len(reached) else 0.5))
        painter.setPen(QPen(self._colours["exit"], 1, Qt.PenStyle.DotLine))
        painter.drawLine(QLineF(x, pixels.area.top(), x, y))
