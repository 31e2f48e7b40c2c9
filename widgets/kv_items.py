"""The cells of the K/V map, painted pixel by pixel: what it costs follows from the plot's size, not from the run's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QImage, QPainter

from core.analysis.kv_map import KVState
from core.analysis.kv_reading import UNREAD, KVLook
from widgets.palette import Theme
from widgets.plot_items import PixelItem, Pixels
from widgets.theme import mixed

_SLOTS = (KVState.NONE, KVState.HELD, KVState.RECOMPUTED, KVState.PROPAGATED, UNREAD, KVState.SKIPPED)
"""Where many tokens share a pixel, the last of these that occurs is shown: what is missing must not be missed."""
_SLOT_OF = np.zeros(256, np.uint8)
for _place, _state in enumerate(_SLOTS):
    _SLOT_OF[_state] = _place
_NONE, _HELD, _RECOMPUTED, _PROPAGATED, _UNREAD, _SKIPPED = range(len(_SLOTS))
_GAP_FROM = 7.0
"""Pixels of a cell from which on a line of ground lies between it and the next."""


def state_colour(theme: Theme, state: KVState) -> str:
    """The colour of a state; its pattern and its mark say the same."""
    dark = theme.name == "dark"
    return {
        KVState.NONE: theme.surface,
        KVState.HELD: mixed(theme.accent, theme.surface, 0.42 if dark else 0.35),
        KVState.SKIPPED: theme.muted,
        KVState.PROPAGATED: mixed(theme.caution, theme.surface, 0.1 if dark else 0.25),
        KVState.RECOMPUTED: mixed(theme.right, theme.surface, 0.12 if dark else 0.48),
    }[state]


class KVCells(PixelItem):
    """Held is even, recomputed striped, propagated hatched, skipped a few dots on the ground, unread a faint grid."""

    def __init__(self) -> None:
        super().__init__()
        self._look: KVLook | None = None
        self._inks = np.zeros((len(_SLOTS), 2), np.uint32)
        self._drawn: tuple[object, QImage] | None = None

    def set_look(self, look: KVLook | None) -> None:
        """Show this from now on; also after more of it was read."""
        self._look, self._drawn = look, None
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        self._inks, self._drawn = inks(theme), None
        self.update()

    def draw(self, painter: QPainter, pixels: Pixels) -> None:
        if self._look is None or not self._look.count:
            return
        key = (pixels.x_scale, pixels.x_zero, pixels.y_scale, pixels.y_zero, pixels.area, pixels.ratio)
        if self._drawn is None or self._drawn[0] != key:
            self._drawn = key, picture(self._look, pixels, self._inks)
        painter.drawImage(QPointF(pixels.area.left(), pixels.area.top()), self._drawn[1])


def inks(theme: Theme) -> NDArray[np.uint32]:
    """ARGB of each slot: of its ground and of its pattern. Shape [slots, 2]."""
    surface, colours = theme.surface, {state: state_colour(theme, state) for state in KVState}
    looks = {
        _NONE: (surface, surface),
        _HELD: (colours[KVState.HELD], colours[KVState.HELD]),
        _RECOMPUTED: (colours[KVState.RECOMPUTED], mixed(colours[KVState.RECOMPUTED], surface, 0.55)),
        _PROPAGATED: (mixed(colours[KVState.PROPAGATED], surface, 0.55), colours[KVState.PROPAGATED]),
        _UNREAD: (surface, theme.line),
        _SKIPPED: (mixed(theme.line, surface, 0.45), colours[KVState.SKIPPED]),
    }
    return np.array([[QColor(one).rgba() for one in looks[slot]] for slot in range(len(_SLOTS))], np.uint32)


def picture(look: KVLook, pixels: Pixels, inks: NDArray[np.uint32]) -> QImage:
    """The visible part of the map, one entry a physical pixel."""
    ratio = pixels.ratio
    width, height = (max(round(side * ratio), 1) for side in (pixels.area.width(), pixels.area.height()))
    across = (np.arange(width) + 0.5) / ratio + pixels.area.left()
    down = (np.arange(height) + 0.5) / ratio + pixels.area.top()
    tokens = np.floor((across - pixels.x_zero) / pixels.x_scale - 0.5).astype(np.int64)
    layers = np.floor((down - pixels.y_zero) / pixels.y_scale - 0.5).astype(np.int64)
    cells = _slots(look, tokens, layers)
    grid_x, grid_y = (np.floor(one).astype(np.int64) for one in (across - pixels.x_zero, down - pixels.y_zero))
    if pixels.x_scale >= _GAP_FROM:
        cells[:, np.diff(tokens, prepend=tokens[0]) != 0] = _NONE
    if -pixels.y_scale >= _GAP_FROM:
        cells[np.diff(layers, prepend=layers[0]) != 0] = _NONE
    painted = np.ascontiguousarray(inks[cells, _pattern(cells, grid_x, grid_y)])
    image = QImage(painted.data, width, height, 4 * width, QImage.Format.Format_ARGB32).copy()
    image.setDevicePixelRatio(ratio)
    return image


def _slots(look: KVLook, tokens: NDArray[np.int64], layers: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The slot of each pixel. Shapes [w], [h] to [h, w]."""
    first, last = (int(np.clip(one, 0, look.count)) for one in (tokens[0], tokens[-1] + 1))
    columns = np.zeros((len(tokens), look.depth), np.uint8)
    inside = (tokens >= first) & (tokens < last)
    if last > first and inside.any():
        shown = _SLOT_OF[look.rows(first, last)]
        seen = tokens[inside]  # ascending; np.unique would import numpy.ma while the first frame waits
        starts = seen[np.diff(seen, prepend=seen[0] - 1) > 0] - first
        merged = np.maximum.reduceat(shown, starts, axis=0) if len(starts) < last - first else shown
        columns[inside] = merged[np.searchsorted(starts, tokens[inside] - first)]
    rows = np.clip(layers, 0, look.depth - 1)
    cells = columns.T[rows]
    cells[(layers < 0) | (layers >= look.depth)] = _NONE
    return cells


def _pattern(cells: NDArray[np.uint8], x: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Where a pixel belongs to its state's pattern. Shape [h, w]."""
    diagonal = (x[None] + y[:, None]) % 5 < 2
    stripes = np.broadcast_to((y % 3 == 0)[:, None], cells.shape)
    dots = ((x % 4 == 1)[None]) & ((y % 4 == 1)[:, None])
    grid = (x[None] + y[:, None]) % 8 == 0
    found = np.zeros(cells.shape, np.uint8)
    for slot, pattern in ((_PROPAGATED, diagonal), (_RECOMPUTED, stripes), (_SKIPPED, dots), (_UNREAD, grid)):
        found |= (cells == slot) & pattern
    return found
