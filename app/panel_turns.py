"""When each view of a run is drawn: those in sight in their turns, the others once they are seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from app.panel import Panel
from app.places import SCHEDULER, TOKENS
from widgets.selection import Selection
from widgets.throttle import Throttle
from widgets.token_plot import TokenPlot
from widgets.token_strip import TokenStrip

PORTIONS = {TOKENS.key: 2048, SCHEDULER.key: 16384}
"""Tokens that a panel draws in one turn: a frame's worth, where all of a very long run take 20."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a view can have drawn at some moment."""

    count: int
    """Of the run's tokens."""
    selection: Selection


class Drawer(Protocol):
    """What draws the views; all of it by the keys of their panels."""

    def draw(self, key: str, first: int) -> None:
        """Draw the tokens from the 0-based `first` on."""

    @property
    def told(self) -> Told:
        """What there is to draw by now."""

    def mark(self, key: str, told: Told | None = None) -> None:
        """Mark the selection; where the view was drawn of what was `told`, and it is beyond that, the one of then."""

    def keeps(self, key: str) -> bool:
        """Whether the panel keeps what it shows, as there is nothing for it yet."""

    def lead(self, key: str) -> Iterator[None]:
        """Turns that come before a view is drawn in turns: what it needs that takes one to make."""


class PanelTurns:
    """Knows from which token on each view is yet to be drawn, and which views nobody can see.

    While the throttle is calm strip and token plots take in what has come, draw it and show it in turns of their own;
    curves have theirs in `CurvesPanel`.
    """

    def __init__(self, throttle: Throttle, drawer: Drawer, seen: Callable[[str], None]) -> None:
        """`seen` is told of each panel that comes into sight."""
        self._throttle, self._drawer, self._seen = throttle, drawer, seen
        self._panels: dict[str, tuple[Panel, QWidget]] = {}
        self._pending: dict[str, int] = {}
        """By panel: the first token that it has not drawn yet."""
        self._behind: set[str] = set()
        """Panels that were last told to be out of sight; one behind others is not hidden to Qt."""

    def add(self, key: str, panel: Panel, view: QWidget) -> None:
        """Draw this view, too."""
        self._panels[key] = panel, view
        panel.visibilityChanged.connect(lambda visible: self._see(key, visible))
        if panel.isVisible() and panel.visibleRegion().isEmpty():
            self._behind.add(key)  # since before anyone could be told

    def ask(self, key: str, first: int, *, patient: bool = False) -> None:
        """Have the tokens from the 0-based `first` on drawn in the panel's turn, or once it is seen."""
        self._pending[key] = min(first, self._pending.get(key, first))
        if self.is_in_sight(key):
            self._throttle.request(key, lambda: self.paint(key), patient=patient)

    def ask_again(self, *, patient: bool) -> None:
        """Ask for all that is not drawn yet."""
        for key, first in list(self._pending.items()):
            self.ask(key, first, patient=patient)

    def stop(self, key: str, first: int) -> int:
        """The token up to which a turn draws that begins with `first`; those beyond wait for the next."""
        if (stop := first + PORTIONS[key]) < self._drawer.told.count:
            self.ask(key, stop)
        return stop

    def paint(self, key: str) -> None:
        """Draw a panel now; while the throttle is calm, begin to."""
        if not self.is_in_sight(key) or self._drawer.keeps(key):
            return  # closed after it had asked, it catches up once it is shown
        view = self._panels[key][1]
        if isinstance(view, TokenStrip | TokenPlot) and self._throttle.calm:
            self._throttle.take_turns(key, self._draw_held(key, view))
        else:
            self._draw(key)
            self._drawer.mark(key)

    def is_in_sight(self, key: str) -> bool:
        """Whether the panel is neither closed nor behind another one."""
        return key not in self._behind and not self._panels[key][0].isHidden()

    def _see(self, key: str, visible: bool) -> None:
        """Draw what a panel missed while it was out of sight."""
        (self._behind.discard if visible else self._behind.add)(key)
        if visible:
            self._seen(key)
            if key in self._pending:
                self.ask(key, self._pending[key])

    def _draw(self, key: str) -> None:
        """Draw what is not drawn by now: more may have come since it was asked for, or another run."""
        first = self._pending.pop(key, None)
        if first is not None:
            self._drawer.draw(key, first)

    def _draw_held(self, key: str, view: TokenStrip | TokenPlot) -> Iterator[None]:
        """Draw a view in turns. What comes while it waits for one is drawn in the next, or the next time."""
        yield from self._drawer.lead(key)
        if isinstance(view, TokenPlot):
            yield from view.appear()
        if self._drawer.keeps(key):
            return
        view.hold()
        try:
            self._throttle.cancel(key)  # what was asked for meanwhile comes now
            told = self._drawer.told
            self._draw(key)
            yield
            yield from view.prepare()
            yield
        finally:  # also where the turns end early; as the window closes the view may be gone
            if isValid(view):
                view.release()
        self._drawer.mark(key, told)
