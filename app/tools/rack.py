"""Makes the tools as they come into sight, and draws each in its turn when the run or the selection changed."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from app.dressing import Dressing
from app.places import TOOLS, Place
from app.tools.tool import Tool
from widgets.palette import Theme
from widgets.throttle import Throttle

if TYPE_CHECKING:
    from app.workbench import Workbench


class ToolRack(QObject):
    """All tools of one window."""

    def __init__(self, work: Workbench, throttle: Throttle | None = None) -> None:
        """`throttle` is the views': no frame shall draw one of them and a tool, too."""
        super().__init__(work)
        self._work = work
        self._panels = {place.key: work.window.panels[place.key] for place in TOOLS}
        self._tools: dict[str, Tool] = {}
        self._stale: dict[str, int | None] = {}
        """By panel that has been made: from where on it is behind the trace; None where only the selection moved."""
        self._in_sight: set[str] = set()
        self._throttle = throttle or Throttle(self)
        self._dressing = Dressing(
            self._throttle, self._in_sight.__contains__, lambda key, theme: self._tools[key].apply_theme(theme)
        )
        for place in TOOLS:
            self._panels[place.key].visibilityChanged.connect(partial(self._see, place))

    def begin(self) -> None:
        """From now on make what is in sight, which may have been so before."""
        for place in TOOLS:
            panel = self._panels[place.key]
            if panel.isVisible() and not panel.visibleRegion().isEmpty():
                self._see(place, True)

    def tool(self, place: Place) -> Tool:
        """The tool of a panel, made if need be."""
        if place.key not in self._tools:
            self._make(place)
        return self._tools[place.key]

    @Slot(int)
    def show_trace(self, first: int) -> None:
        """The trace changed from token `first` on."""
        for key in self._tools:
            before = self._stale.get(key)
            self._ask(key, first if before is None else min(first, before), patient=first > 0)

    def show_selection(self, gently: bool = False) -> None:
        """The selection moved: `gently` as a run went on, not by the user's choice."""
        for key in self._tools:
            self._ask(key, self._stale.get(key), patient=gently)

    def apply_theme(self, theme: Theme) -> None:
        """Repaint in another theme: what is in sight one tool a frame, the rest when it is seen."""
        self._dressing.apply(theme, self._tools)

    def flush(self) -> None:
        """Draw now what is waiting."""
        while not self._throttle.idle:
            self._throttle.flush()

    def close(self) -> None:
        self._throttle.timer.stop()
        for tool in self._tools.values():
            tool.close()

    def _make(self, place: Place) -> None:
        module, name = place.tool.split(":")
        tool = getattr(import_module(f"app.tools.{module}"), name)(self._work, self._panels[place.key])
        assert isinstance(tool, Tool), "places name tools"
        self._tools[place.key] = tool
        self._panels[place.key].set_view(tool.build())
        tool.apply_theme(self._work.window.theme)
        tool.selected.connect(self._work.session.select)
        self._ask(place.key, 0)

    def _see(self, place: Place, visible: bool) -> None:
        if not visible:
            self._in_sight.discard(place.key)
            return
        self._in_sight.add(place.key)
        if place.key not in self._tools:
            self._make(place)
            return
        self._dressing.see(place.key)
        if place.key in self._stale:
            self._ask(place.key, self._stale[place.key])

    def _ask(self, key: str, first: int | None, *, patient: bool = False) -> None:
        self._stale[key] = first
        if key in self._in_sight:
            self._throttle.request(key, partial(self._draw, key), patient=patient)

    def _draw(self, key: str) -> None:
        if key in self._in_sight and key in self._stale:
            first = self._stale.pop(key)
            self._panels[key].set_empty(self._tools[key].draw(first))
