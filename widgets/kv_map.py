"""Which keys and values of each token are there at each layer: token × layer, as a map or as a table."""

from __future__ import annotations

import html

import numpy as np
from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QStackedLayout, QWidget

from core.analysis.kv_map import KVState
from core.analysis.kv_reading import KVLook
from widgets.kv_items import KVCells, state_colour
from widgets.kv_table import KVTable
from widgets.kv_words import MARKS, cell_words, row_words
from widgets.palette import Theme
from widgets.plot_items import whole_ticks
from widgets.selection import Selection
from widgets.token_plot import TokenPlot

NO_TOKENS = "The K/V entries of the generated tokens appear here."
_TOP_ROOM = 4
_UP_DOWN = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}


class KVPlot(TokenPlot):
    """The map; a row of `KVLook` is a column here."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("K/V map: tokens by layers", "layer", parent)
        self.look: KVLook | None = None
        self.cells = KVCells()
        self.add(self.cells, 0)
        self.apply_theme(self.theme)

    def set_look(self, look: KVLook | None) -> None:
        """Show this, and again after more of it was read."""
        other = self.look is None or look is None or look.depth != self.look.depth
        self.look = look
        count = look.count if look else 0
        self.set_message(None if count else NO_TOKENS)
        if other and look is not None:
            self.y_axis.set_ticks(whole_ticks(24, always=(look.depth,)))
            self.set_y_range(0.5, look.depth + 0.5, _TOP_ROOM)
        self.cells.set_look(look)
        if count != self.count:
            self.set_count(count)
        self.refresh_hover()

    def in_view(self) -> tuple[int, int]:
        """First and one past the last of the tokens in view."""
        low, high = self.view.viewRange()[0]
        first, last = int(np.floor(low - 0.5)), int(np.ceil(high))
        return min(max(first, 0), self.count), min(max(last, 0), self.count)

    def readout(self, x: float, y: float) -> str | None:
        place = self._cell_at(x, y)
        if place is None or self.look is None:
            return None
        token, layer = place
        head = f"<b>token {token + 1} {html.escape(self.look.text(token)[:40])} · layer {layer + 1}</b>"
        row = row_words(self.look.rows(token, token + 1)[0])
        return f"{head}<br>{cell_words(self.look, token, layer)}<br>{row}"

    def pick(self, x: float, y: float) -> Selection | None:
        place = self._cell_at(x, y)
        return None if place is None else Selection(*place)

    def step(self, key: Qt.Key) -> Selection | None:
        token, layer = self.selection.token, self.selection.layer
        if key not in _UP_DOWN or self.count == 0 or self.look is None:
            return super().step(key)
        token = self.count - 1 if token is None else min(token, self.count - 1)
        top = self.look.depth - 1
        return Selection(token, top if layer is None else min(max(layer + _UP_DOWN[key], 0), top))

    def hover(self, x: float | None, y: float | None) -> None:
        place = None if x is None or y is None else self._cell_at(x, y)
        self.pointer.place(*((None,) if place is None else (place[0] + 1.0, place[1] + 1.0)))

    def _cell_at(self, x: float, y: float) -> tuple[int, int] | None:
        token, layer = self.token_at(x), int(np.floor(y - 0.5))
        depth = self.look.depth if self.look else 0
        return (token, layer) if token is not None and 0 <= layer < depth else None


class KVMapView(QWidget):
    """Map and table on one look. Both actions are for the header of the panel that shows this."""

    selected = Signal(object)
    """A `Selection` that the user asks for."""
    moved = Signal()
    """Other rows are in view now; see `in_view`."""
    as_of_changed = Signal(bool)
    """Whether the map shall show the state once the selected token was emitted."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("K/V map")
        self.plot, self.table = KVPlot(), KVTable()
        self._pages = QStackedLayout(self)
        for page in (self.plot, self.table):
            self._pages.addWidget(page)
            page.selected.connect(self.selected)
        self.plot.view.sigXRangeChanged.connect(self._tell_moved)
        self.table.verticalScrollBar().valueChanged.connect(self._tell_moved)
        self.table_action = _toggle("Table", "Show the map as a table, which a screen reader can read", self)
        self.as_of_action = _toggle("As of token", "Show the map as it was once the selected token was emitted", self)
        self.table_action.toggled.connect(self._turn)
        self.as_of_action.toggled.connect(self.as_of_changed)

    @staticmethod
    def legend_html(theme: Theme, *, skipped: KVState, catches_up: bool) -> str:
        """The panel's subtitle: the states that this run's policy can bring about."""
        there = [KVState.HELD, skipped, *([KVState.RECOMPUTED] if catches_up else [])]
        words = {KVState.HELD: "held", KVState.PROPAGATED: "propagated", KVState.RECOMPUTED: "recomputed"}
        words[KVState.SKIPPED] = "skipped" if catches_up else "skipped for good (hole)"
        marks = [f'<span style="color:{state_colour(theme, one)}">{MARKS[one]}</span> {words[one]}' for one in there]
        return " &nbsp;".join(marks)

    def set_look(self, look: KVLook | None) -> None:
        """Show this, and again after more of it was read."""
        self.plot.set_look(look)
        self.table.set_look(look)
        self._describe()

    def set_selection(self, selection: Selection) -> None:
        """Highlight this; emits nothing."""
        self.plot.set_selection(selection)
        self.table.set_selection(selection)
        self._describe()

    def in_view(self) -> tuple[int, int]:
        """First and one past the last of the tokens in view."""
        return self.table.in_view() if self.table_action.isChecked() else self.plot.in_view()

    def apply_theme(self, theme: Theme) -> None:
        """Take over these colours, live."""
        self.plot.apply_theme(theme)

    def _describe(self) -> None:
        """What a screen reader says: the selected token's row."""
        look, token = self.plot.look, self.plot.selection.token
        if look is None or token is None or token >= look.count:
            return
        self.plot.describe(f"{look.count} tokens by {look.depth} layers. Token {token + 1}: "
                           f"{row_words(look.rows(token, token + 1)[0])}.")  # fmt: skip

    @Slot()
    def _tell_moved(self) -> None:
        self.moved.emit()

    @Slot(bool)
    def _turn(self, table: bool) -> None:
        self._pages.setCurrentIndex(int(table))
        self.moved.emit()


def _toggle(text: str, tip: str, parent: QWidget) -> QAction:
    action = QAction(text, parent)
    action.setCheckable(True)
    action.setToolTip(tip)
    action.setStatusTip(tip)
    return action
