"""The cells of the scheduler map: which layers were watched for each token, and which had their predictor evaluated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QPainter

from core.trace.overview import CellState
from widgets.palette import Theme
from widgets.pixel_image import PixelImage, argb, rgb
from widgets.plot_items import Pixels
from widgets.theme import mixed

# As bytes: with the enum itself NumPy would widen every array to eight bytes a cell.
WATCHED = np.uint8(CellState.OFFLINE | CellState.ONLINE)
EVALUATED, REFUSED = np.uint8(CellState.EVALUATED), np.uint8(CellState.REFUSED)
EXITED, WRONG = np.uint8(CellState.EXITED), np.uint8(CellState.WRONG)


class Cells(PixelImage):
    """A cell a token and layer, each of two halves with colours of their own."""

    def __init__(self) -> None:
        super().__init__()
        self._states = np.zeros((0, 1), np.uint8)
        self._tints = np.zeros((2, _KINDS), np.uint32)

    def set_states(self, states: NDArray[np.uint8], first: int) -> None:
        """Flags of `CellState`, shape [n, L]; tokens before the 0-based `first` are as they were."""
        first = 0 if states.shape[1] != self._states.shape[1] else min(first, len(self._states))
        self._states = states
        self.spoil(first)

    def apply_theme(self, theme: Theme) -> None:
        self._tints = np.stack([argb(half) for half in tints(theme)])
        self._tints[:, 0] = 0  # clear: the selection's band lies below
        self.spoil(0)

    def count(self) -> int:
        return len(self._states)

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        self.draw_image(painter, pixels)

    def renew(self, cells: NDArray[np.uint32], left: int, pixels: Pixels) -> None:
        height, width = cells.shape
        x = pixels.area.left() + (np.arange(left, left + width) + 0.5) / pixels.ratio
        y = pixels.area.top() + (np.arange(height) + 0.5) / pixels.ratio
        token = np.floor((x - pixels.x_zero) / pixels.x_scale - 0.5).astype(int)
        half = np.floor(((y - pixels.y_zero) / pixels.y_scale - 0.5) * 2).astype(int)
        columns = np.flatnonzero((token >= 0) & (token < len(self._states)))
        rows = np.flatnonzero((half >= 0) & (half < 2 * self._states.shape[1]))
        if len(columns) and len(rows):  # each a stretch without gaps
            shown = token[columns] - token[columns[0]]
            halves = self._halves(int(token[columns[0]]), int(token[columns[-1]]) + 1)
            within = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
            cells[within] = halves[half[rows]].take(shown, axis=1)

    def _halves(self, first: int, last: int) -> NDArray[np.uint32]:
        """The colours of these tokens' half cells, from the lowest up. Shape [2 L, n]."""
        kinds = np.repeat(cell_kinds(self._states[first:last]).T, 2, axis=0)
        return np.asarray(self._tints[(np.arange(len(kinds)) % 2)[:, None], kinds])


_KINDS = 9
"""Nothing, then offline, online and both; not evaluated in 1…3, evaluated in 5…7; 8 is evaluated without a set."""


def cell_kinds(states: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Which tint each cell takes. Shape [n, L]."""
    evaluated = (states & EVALUATED) > 0
    watched = states & WATCHED
    kinds = np.where(evaluated, watched + np.uint8(4), watched)
    return np.where(evaluated & (watched == 0), 8, kinds).astype(np.uint8)


def tints(theme: Theme) -> NDArray[np.int64]:
    """Red, green and blue of a cell's lower and upper half, by kind but for the first, which is clear.

    Shape [2, 9, 3].
    """
    offline, online = offline_colour(theme), online_colour(theme)
    table = np.zeros((2, _KINDS, 3), np.int64)
    for flag, upper, lower in ((1, offline, offline), (2, online, online), (3, offline, online)):
        for base, dim in ((0, _DIM), (4, 0.0)):
            table[0, base + flag] = rgb(mixed(lower, theme.surface, dim))
            table[1, base + flag] = rgb(mixed(upper, theme.surface, dim))
    # Without T2 every layer is evaluated and belongs to neither set.
    table[:, 8] = rgb(mixed(theme.muted, theme.surface, 0.35))
    return table


_DIM = 0.66
"""How far the tint of a layer that was not reached lies towards the ground."""


def offline_colour(theme: Theme) -> str:
    """The offline set: deep blue, the darker of the two."""
    return mixed(theme.accent, theme.surface, 0.42 if theme.name == "dark" else 0.12)


def online_colour(theme: Theme) -> str:
    """The online set: pale green, the lighter of the two."""
    return mixed(theme.right, theme.surface, 0.12) if theme.name == "dark" else mixed(theme.right, theme.surface, 0.48)
