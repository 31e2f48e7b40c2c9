"""Which layers the scheduler watched for each token, why, and where each pass ended: token × layer."""

from __future__ import annotations

import html
from collections.abc import Callable

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QWidget

from core.analysis.summaries import CellState, SchedulerMap
from widgets.palette import Theme
from widgets.plot_items import PixelItem, Pixels, draw_dots, draw_triangles, points, whole_ticks
from widgets.selection import Selection
from widgets.theme import mixed
from widgets.token_plot import TokenPlot

NO_TOKENS = "The layers that the scheduler watches for each token appear here."

Sources = Callable[[int, int], str]
"""(token, layer), both 0-based, to a plain sentence that names the past exits that made the layer active."""

_TOP_ROOM = 18
# As bytes: with the enum itself NumPy would widen every array to eight bytes a cell.
_WATCHED = np.uint8(CellState.OFFLINE | CellState.ONLINE)
_EVALUATED, _REFUSED, _EXITED = (np.uint8(f) for f in (CellState.EVALUATED, CellState.REFUSED, CellState.EXITED))
_UP_DOWN = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}


class SchedulerMapView(TokenPlot):
    """A heat map of `CellState`s.

    A cell's upper half is the offline tint, its lower half the online one, and a cell that is both shows both; bright
    cells had their predictor evaluated, dim ones were not reached. So no state hangs on telling two hues apart.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Scheduler map: tokens by layers", "layer", parent)
        self._buffer = np.zeros((0, 1), np.uint8)
        self._states = self._buffer
        self._sources: Sources | None = None
        self._tints = np.zeros((2, _KINDS, 4), np.uint8)
        self._pixels = np.zeros((2, 0, 4), np.uint8)
        self.image = pg.ImageItem(axisOrder="row-major")
        self.marks = CellMarks()
        for depth, item in enumerate((self.image, self.marks)):
            self.add(item, depth)
        self.apply_theme(self.theme)
        self.clear()

    @staticmethod
    def legend_html(theme: Theme) -> str:
        """The card's subtitle."""
        offline, online = offline_colour(theme), online_colour(theme)
        return (
            f'<span style="color:{offline}">▀</span> offline &nbsp;<span style="color:{online}">▄</span> online'
            f' &nbsp;dim: not reached &nbsp;<span style="color:{theme.text}">●</span> exit'
            f' &nbsp;■ full depth &nbsp;<span style="color:{theme.caution}">▲</span> refused'
        )

    @property
    def states(self) -> NDArray[np.uint8]:
        """Flags of `CellState` of all tokens shown. Shape [n, L]."""
        return self._states

    def set_map(self, data: SchedulerMap) -> None:
        """Replace the rows from `data.first` on."""
        depth, first = data.states.shape[1], min(data.first, self.count)
        if depth != self._buffer.shape[1]:
            self._buffer, first = np.zeros((0, depth), np.uint8), 0
        count = first + len(data.states)
        self._reserve(count)
        self._buffer[first:count] = data.states
        self._states = self._buffer[:count]
        self._paint_from(first)
        self.set_message(NO_TOKENS if count == 0 else None)
        self.y_axis.set_ticks(whole_ticks(24, always=(depth,)))
        self.set_y_range(self._lowest() - 0.5, depth + 0.5, _TOP_ROOM)
        self.marks.set_states(self._states)
        self.set_count(count)
        self.show_selection()
        if count:
            self.describe(summary(self._states))
        self.refresh_hover()

    def set_sources(self, sources: Sources) -> None:
        """Ask this which past exits made a layer active, for the hover."""
        self._sources = sources

    def clear(self) -> None:
        """Show no tokens."""
        self.set_map(SchedulerMap(0, np.zeros((0, self._buffer.shape[1]), np.uint8)))

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self._tints = tints(theme)
        self._paint_from(0)

    def readout(self, x: float, y: float) -> str | None:
        place = self._cell_at(x, y)
        if place is None:
            return None
        token, layer = place
        state = CellState(int(self._states[token, layer]))
        lines = [f"<b>token {token + 1} · layer {layer + 1}</b>", describe_state(state, self._layers_run(token), layer)]
        source = self._sources(token, layer) if self._sources and state & CellState.ONLINE else ""
        if source:
            lines.append(html.escape(source))
        return "<br>".join(lines)

    def pick(self, x: float, y: float) -> Selection | None:
        place = self._cell_at(x, y)
        return None if place is None else Selection(*place)

    def step(self, key: Qt.Key) -> Selection | None:
        token = self.selection.token
        if key not in _UP_DOWN or self.count == 0:
            return super().step(key)
        token = self.count - 1 if token is None else min(token, self.count - 1)
        layer = self.selection.layer
        if layer is None:
            return Selection(token, max(self._layers_run(token) - 1, 0))
        return Selection(token, min(max(layer + _UP_DOWN[key], 0), self._states.shape[1] - 1))

    def hover(self, x: float | None, y: float | None) -> None:
        place = None if x is None or y is None else self._cell_at(x, y)
        self.pointer.place(*((None,) if place is None else (place[0] + 1.0, place[1] + 1.0)))

    def _cell_at(self, x: float, y: float) -> tuple[int, int] | None:
        token, layer = self.token_at(x), int(np.floor(y - 0.5))
        return (token, layer) if token is not None and 0 <= layer < self._states.shape[1] else None

    def _lowest(self) -> int:
        """The lowest layer to show, from 1: the scheduler leaves the bottom ones alone, and rows need height."""
        watched = np.flatnonzero((self._states & (_WATCHED | _EVALUATED)).any(0))
        return max(int(watched[0]) // 5 * 5, 1) if len(watched) else 1

    def _layers_run(self, token: int) -> int:
        """Layers run as far as the states tell: up to the exit, or in flight to the last evaluation."""
        seen = np.flatnonzero(self._states[token] & (_EXITED | _EVALUATED))
        return int(seen[-1]) + 1 if len(seen) else 0

    def _reserve(self, count: int) -> None:
        """Make room for so many tokens. It grows by doubling, so that a token costs the same however many there are."""
        size, depth = self._buffer.shape
        if count > size or self._pixels.shape[0] != 2 * depth:
            room = max(1 << (count - 1).bit_length(), 64) if count else 64
            self._buffer = np.concatenate([self._buffer, np.zeros((room - size, depth), np.uint8)])
            self._pixels = np.zeros((2 * depth, room, 4), np.uint8)
            self._states = self._buffer[: self.count]
            self._paint_from(0)
            self.image.setImage(self._pixels, autoLevels=False)
            self.image.setRect(QRectF(0.5, 0.5, room, depth))

    def _paint_from(self, first: int) -> None:
        """Renew the image's columns from token `first` on; the rest is kept."""
        count = len(self._states)
        kinds = cell_kinds(self._states[first:])
        for half in (0, 1):
            self._pixels[half::2, first:count] = self._tints[half][kinds].transpose(1, 0, 2)
        if count < self.count:  # a new run, or one stepped back
            self._pixels[:, count:] = 0
        self.image.updateImage()


_KINDS = 9
"""Nothing, then offline, online and both; not evaluated in 1…3, evaluated in 5…7; 8 is evaluated without a set."""


def cell_kinds(states: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Which tint each cell takes. Shape [n, L]."""
    evaluated = (states & _EVALUATED) > 0
    watched = states & _WATCHED
    kinds = np.where(evaluated, watched + np.uint8(4), watched)
    return np.where(evaluated & (watched == 0), 8, kinds).astype(np.uint8)


def tints(theme: Theme) -> NDArray[np.uint8]:
    """RGBA of a cell's lower and upper half, by kind. Shape [2, 9, 4]."""
    offline, online = offline_colour(theme), online_colour(theme)
    table = np.zeros((2, _KINDS, 4), np.uint8)
    for flag, upper, lower in ((1, offline, offline), (2, online, online), (3, offline, online)):
        for base, dim in ((0, _DIM), (4, 0.0)):
            table[0, base + flag] = _rgba(mixed(lower, theme.surface, dim))
            table[1, base + flag] = _rgba(mixed(upper, theme.surface, dim))
    # Without T2 every layer is evaluated and belongs to neither set.
    table[:, 8] = _rgba(mixed(theme.muted, theme.surface, 0.35))
    return table


_DIM = 0.66
"""How far the tint of a layer that was not reached lies towards the ground."""


def offline_colour(theme: Theme) -> str:
    """The offline set: deep blue, the darker of the two."""
    return mixed(theme.accent, theme.surface, 0.42 if theme.name == "dark" else 0.12)


def online_colour(theme: Theme) -> str:
    """The online set: pale green, the lighter of the two."""
    return mixed(theme.right, theme.surface, 0.12) if theme.name == "dark" else mixed(theme.right, theme.surface, 0.48)


def describe_state(state: CellState, layers_run: int, layer: int) -> str:
    """A cell in words."""
    sets = [name for flag, name in ((CellState.OFFLINE, "offline"), (CellState.ONLINE, "online")) if state & flag]
    parts = [" and ".join(sets) + " set" if sets else "in neither set"]
    if state & CellState.EVALUATED:
        parts.append("evaluated")
    elif layer >= layers_run:
        parts.append("not reached")
    else:
        parts.append("not evaluated")
    if state & CellState.REFUSED:
        parts.append("exit proposed and refused")
    if state & CellState.EXITED:
        parts.append("the pass ended here")
    elif state & CellState.PROPOSED and not state & CellState.REFUSED:
        parts.append("exit proposed")
    return " · ".join(parts)


def summary(states: NDArray[np.uint8]) -> str:
    """The map in a sentence."""
    watched = (states & _WATCHED) > 0
    evaluated = (states & _EVALUATED) > 0
    refused = int(((states & _REFUSED) > 0).sum())
    tokens = "1 token" if len(states) == 1 else f"{len(states)} tokens"
    return (
        f"{tokens} by {states.shape[1]} layers: on average {watched.sum(1).mean():.1f} layers watched and "
        f"{evaluated.sum(1).mean():.1f} evaluated a token; {refused} proposed exits refused."
    )


def _rgba(colour: str) -> tuple[int, int, int, int]:
    made = QColor(colour)
    return made.red(), made.green(), made.blue(), 255


class CellMarks(PixelItem):
    """● where a pass ended early, ■ where it ran to full depth, ▲ where an exit was refused, and the row in flight."""

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

        def places(t: NDArray[np.intp], layer: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            return np.floor(pixels.x(t + first + 1)) + 0.5, np.floor(pixels.y(layer + 1)) + 0.5

        square = max(size - 2, 2)
        draw_dots(painter, points(*places(tokens[full], layers[full])), square, colours["full"], colours["halo"], True)
        draw_dots(painter, points(*places(tokens[~full], layers[~full])), size, colours["exit"], colours["halo"])
        refused = points(*places(*np.nonzero(shown & _REFUSED)))
        draw_triangles(painter, refused, size + (1 if crowded else 3), colours["refused"], colours["halo"])
        self._draw_in_flight(painter, pixels)

    def _draw_in_flight(self, painter: QPainter, pixels: Pixels) -> None:
        """A dotted line up the column of the token that has not left yet, from its last evaluated layer on."""
        if (self._states[-1] & _EXITED).any():
            return
        reached = np.flatnonzero(self._states[-1] & _EVALUATED)
        x = float(np.floor(pixels.x(len(self._states)))) + 0.5
        y = float(pixels.y(reached[-1] + 1.5 if len(reached) else 0.5))
        painter.setPen(QPen(self._colours["exit"], 1, Qt.PenStyle.DotLine))
        painter.drawLine(QRectF(x, pixels.area.top(), 0, y - pixels.area.top()).topLeft(), QRectF(x, y, 0, 0).topLeft())
