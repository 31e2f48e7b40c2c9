"""The marks on the scheduler map: where passes ended and how, and where exits were refused."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from widgets.palette import Theme
from widgets.plot_items import PixelItem, Pixels, points
from widgets.plot_marks import draw_crosses, draw_dots, draw_triangles
from widgets.scheduler_cells import EVALUATED, EXITED, REFUSED, WRONG


class CellMarks(PixelItem):
    """● where a pass ended early, ✕ where that was wrong, ■ at full depth, ▲ where an exit was refused, and the column
    in flight."""

    def __init__(self) -> None:
        super().__init__()
        self._states = np.zeros((0, 1), np.uint8)
        self._colours: dict[str, QColor] = {}

    def set_states(self, states: NDArray[np.uint8], first: int = 0) -> None:
        """Tokens before the 0-based `first` are as they were, but for the line up the one that was in flight."""
        before, self._states = len(self._states), states
        self.update_from(min(first, max(before - 1, 0)), max(before, len(states)))

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
        if not len(self._states):
            return
        # Crowded marks lose their rims, which would hide the map.
        crowded = pixels.x_scale < 2
        colours = self._colours | ({"halo": QColor(Qt.GlobalColor.transparent)} if crowded else {})
        size = min(max(min(pixels.x_scale, -pixels.y_scale) * 0.9, 2.0), 7.0)
        self._draw_dots(painter, pixels, size, colours)
        exposed = pixels.tokens(len(self._states), self.exposed)
        refused = _places(self._states, exposed, REFUSED, pixels)
        draw_triangles(painter, points(*refused), size + (1 if crowded else 3), colours["refused"], colours["halo"])
        wrong = _places(self._states, exposed, WRONG, pixels)
        draw_crosses(painter, points(*wrong), size + (0 if crowded else 1), colours["wrong"], colours["halo"])
        self._draw_in_flight(painter, pixels)

    def _draw_dots(self, painter: QPainter, pixels: Pixels, size: float, colours: dict[str, QColor]) -> None:
        first, last = pixels.tokens(len(self._states))
        shown = self._states[first:last]
        tokens, layers = np.nonzero(shown & EXITED)
        full = layers == shown.shape[1] - 1
        right = ~full & ((shown[tokens, layers] & WRONG) == 0)
        tokens += first
        exposed = pixels.tokens(len(self._states), self.exposed)
        for kind, side, name in ((full, max(size - 2, 2), "full"), (right, size, "exit")):
            among = _joined(tokens[kind], exposed)
            at = points(*_centres(tokens[kind][among], layers[kind][among], pixels))
            draw_dots(painter, at, side, colours[name], colours["halo"], square=kind is full)

    def _draw_in_flight(self, painter: QPainter, pixels: Pixels) -> None:
        """A dotted line up the column of the token that has not left yet, from its last evaluated layer on."""
        if (self._states[-1] & EXITED).any():
            return
        reached = np.flatnonzero(self._states[-1] & EVALUATED)
        x = float(np.floor(pixels.x(len(self._states)))) + 0.5
        y = pixels.whole_y(float(reached[-1]) + 1.5 if len(reached) else 0.5)
        painter.setPen(QPen(self._colours["exit"], 1, Qt.PenStyle.DotLine))
        painter.drawLine(QLineF(x, round(pixels.area.top()), x, y))


def _places(
    states: NDArray[np.uint8], tokens: tuple[int, int], flag: np.uint8, pixels: Pixels
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The middles of the cells with this flag, of tokens from the first up to the second."""
    first, last = tokens
    flagged = states[first:last] & flag
    if not flagged.any():
        return _NONE, _NONE
    token, layer = np.nonzero(flagged)
    return _centres(token + first, layer, pixels)


def _joined(tokens: NDArray[np.intp], exposed: tuple[int, int]) -> slice:
    """Which of the ascending tokens' dots to draw. Qt joins every sixteen to one shape, whose rims run into each other,
    so a part begins with such a shape, as the whole does."""
    first, last = np.searchsorted(tokens, exposed).tolist()
    return slice(first // 16 * 16, last)


def _centres(
    tokens: NDArray[np.intp], layers: NDArray[np.intp], pixels: Pixels
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.floor(pixels.x(tokens + 1)) + 0.5, np.floor(pixels.y(layers + 1)) + 0.5


_NONE = np.zeros(0)
