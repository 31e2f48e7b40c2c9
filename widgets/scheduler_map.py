"""Which layers the scheduler watched for each token, why, and where each pass ended: token × layer."""

from __future__ import annotations

import html
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from core.analysis.summaries import SchedulerMap
from core.trace.growing import Growing
from core.trace.overview import CellState
from widgets.palette import Theme
from widgets.plot_items import whole_ticks
from widgets.scheduler_cells import EVALUATED, EXITED, REFUSED, WATCHED, WRONG, Cells, offline_colour, online_colour
from widgets.scheduler_marks import CellMarks
from widgets.selection import Selection
from widgets.token_plot import TokenPlot

NO_TOKENS = "The layers that the scheduler watches for each token appear here."

Sources = Callable[[int, int], str]
"""(token, layer), both 0-based, to a plain sentence that names the past exits that made the layer active."""

_TOP_ROOM = 18
_UP_DOWN = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}


class SchedulerMapView(TokenPlot):
    """A heat map of `CellState`s.

    A cell's upper half is the offline tint, its lower half the online one, and a cell that is both shows both; bright
    cells had their predictor evaluated, dim ones were not reached. So no state hangs on telling two hues apart.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Scheduler map: tokens by layers", "layer", parent)
        self._rows = Growing(np.uint8, (1,))
        self._tallies = Growing(np.int64, (_TALLIES,))
        """`tallies` of each token and all before it: the lowest of the layers, and sums of the rest."""
        self._notes: Callable[[int], str] | None = None
        self._sources: Sources | None = None
        self.cells, self.marks = Cells(), CellMarks()
        for depth, item in enumerate((self.cells, self.marks)):
            self.add(item, depth)
        self.apply_theme(self.theme)
        self.clear()

    @staticmethod
    def legend_html(theme: Theme, audited: bool = False) -> str:
        """The panel's subtitle; only an audit can tell wrong exits."""
        offline, online = offline_colour(theme), online_colour(theme)
        wrong = f' &nbsp;<span style="color:{theme.wrong}">✕</span> wrong' if audited else ""
        return (
            f'<span style="color:{offline}">▀</span> offline &nbsp;<span style="color:{online}">▄</span> online'
            f' &nbsp;<span style="color:{theme.text}">●</span> exit'
            f' &nbsp;<span style="color:{theme.caution}">▲</span> refused{wrong} &nbsp;■ full depth'
            " &nbsp;dim: not reached"  # last, where a narrow panel lacks room first: every hover says it
        )

    @property
    def states(self) -> NDArray[np.uint8]:
        """Flags of `CellState` of all tokens shown. Shape [n, L]."""
        return self._states

    @property
    def _states(self) -> NDArray[np.uint8]:
        return self._rows.values

    def set_map(self, data: SchedulerMap) -> None:
        """Replace the rows from `data.first` on."""
        depth, first = data.states.shape[1], min(data.first, self.count)
        if depth != self._states.shape[1]:
            self._rows, self._tallies, first = Growing(np.uint8, (depth,)), Growing(np.int64, (_TALLIES,)), 0
            self.y_axis.set_ticks(whole_ticks(24, always=(depth,)))  # not each time: it paints the axis anew
        self._rows.replace(first, data.states)
        self._tally(first)
        count = len(self._rows)
        self.set_message(NO_TOKENS if count == 0 else None)
        self.set_y_range(self._lowest() - 0.5, depth + 0.5, _TOP_ROOM)
        for item in (self.cells, self.marks):
            item.set_states(self._states, first)
        self.set_count(count)
        if count:
            self.describe(summary(self._tallies.values[-1], count, depth))
        self.refresh_hover()

    def set_sources(self, sources: Sources) -> None:
        """Ask this which past exits made a layer active, for the hover."""
        self._sources = sources

    def set_notes(self, notes: Callable[[int], str]) -> None:
        """Ask this which two tokens a wrong exit of a 0-based token was about, for the hover."""
        self._notes = notes

    def clear(self) -> None:
        """Show no tokens."""
        self.set_map(SchedulerMap(0, np.zeros((0, self._states.shape[1]), np.uint8)))

    def readout(self, x: float, y: float) -> str | None:
        place = self._cell_at(x, y)
        if place is None:
            return None
        token, layer = place
        state = CellState(int(self._states[token, layer]))
        lines = [f"<b>token {token + 1} · layer {layer + 1}</b>", describe_state(state, self._layers_run(token), layer)]
        source = self._sources(token, layer) if self._sources and state & CellState.ONLINE else ""
        note = self._notes(token) if self._notes and state & CellState.WRONG else ""
        return "<br>".join([*lines, *(html.escape(text) for text in (source, note) if text)])

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

    def _tally(self, first: int) -> None:
        """Renew the tallies from token `first` on."""
        before = self._tallies.values[first - 1] if first else np.array([self._states.shape[1], 0, 0, 0, 0])
        counts = tallies(self._states[first:])
        lowest = np.minimum.accumulate(np.concatenate([before[:1], counts[:, 0]]))[1:]
        self._tallies.replace(first, np.column_stack([lowest, before[1:] + np.cumsum(counts[:, 1:], 0)]))

    def _lowest(self) -> int:
        """The lowest layer to show, from 1: the scheduler leaves the bottom ones alone, and rows need height."""
        watched = int(self._tallies.values[-1, 0]) if len(self._tallies) else 0
        return max(watched // 5 * 5, 1) if watched < self._states.shape[1] else 1

    def _layers_run(self, token: int) -> int:
        """Layers run as far as the states tell: up to the exit, or in flight to the last evaluation."""
        seen = np.flatnonzero(self._states[token] & (EXITED | EVALUATED))
        return int(seen[-1]) + 1 if len(seen) else 0


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
    if state & CellState.WRONG:
        parts.append("wrong exit")
    elif state & CellState.EXITED:
        parts.append("the pass ended here")
    elif state & CellState.PROPOSED and not state & CellState.REFUSED:
        parts.append("exit proposed")
    return " · ".join(parts)


_TALLIES = 5


def tallies(states: NDArray[np.uint8]) -> NDArray[np.int64]:
    """For each token: the lowest layer that was watched or evaluated (L where none was), how many layers were watched
    and evaluated, how many exits were refused, and whether it was a wrong exit. Shape [n, L] to [n, 5]."""
    seen = (states & (WATCHED | EVALUATED)) > 0
    lowest = np.where(seen.any(1), seen.argmax(1), states.shape[1])
    counts = [((states & flag) > 0).sum(1) for flag in (WATCHED, EVALUATED, REFUSED, WRONG)]
    return np.column_stack([lowest, *counts]).astype(np.int64)


def summary(tally: NDArray[np.int64], count: int, depth: int) -> str:
    """The map of `count` tokens in a sentence, from the running tallies of `tallies`."""
    watched, evaluated, refused, wrong = tally[1:].tolist()
    return (
        f"{'1 token' if count == 1 else f'{count} tokens'} by {depth} layers: on average {watched / count:.1f} layers "
        f"watched and {evaluated / count:.1f} evaluated a token; {refused} proposed exits refused"
        f"{f', {wrong} wrong exits' if wrong else ''}."
    )
