"""The K/V map in its panel: what is in view is read in blocks, in a thread, the newest view first."""

from __future__ import annotations

import threading
from functools import partial

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.failure import Failure
from app.title_words import unbroken
from app.tools.newest import Newest, Told
from app.tools.tool import NO_RUN, Tool
from core.analysis.kv_reading import KVLook, KVReading, Updates, read_updates
from core.trace.reading import ReadableTrace
from core.trace.trace import Trace
from widgets.kv_map import KVMapView
from widgets.palette import DARK, Theme

FEW = 32
"""Tokens of a run in memory that are read at once; more, or a file's, are read in a thread."""
NO_TOKENS = "No token has been fed back yet.\nThe map begins with the second token, whose pass feeds the first."
NOT_TOLD = (
    "This run does not tell of its K/V cache.\nAn engine of one’s own may, by the event KVUpdated (docs/events.md)."
)


class KVMapTool(Tool):
    """Token × layer with the state of keys and values."""

    def build(self) -> QWidget:
        self.theme: Theme = DARK
        self.reading: KVReading | None = None
        self.view = KVMapView()
        self.view.selected.connect(self.selected)
        self.view.moved.connect(self._read_on)
        self.view.as_of_changed.connect(self._show)
        self._newest = Newest(self)
        self._newest.done.connect(self._take)
        self._newest.slow.connect(self._name)
        self._asked: list[int] = []
        self._failed = False
        self.panel.add_action(self.view.as_of_action)
        self.panel.add_action(self.view.table_action)
        return self.view

    def draw(self, first: int | None) -> str | None:
        trace = self.trace
        if trace is None or trace.emitted_count < 2:
            self._forget()
            return NO_RUN if trace is None else NO_TOKENS
        if self.reading is None or self.reading.trace is not trace:
            self._forget()
            self.reading = KVReading(trace)
        elif first is not None:
            self.reading.grow(first)
        self._show()
        self._read_on()
        return NOT_TOLD if self.reading.is_silent else None

    def apply_theme(self, theme: Theme) -> None:
        self.theme = theme
        self.view.apply_theme(theme)
        self._show()

    def close(self) -> None:
        self._newest.close()

    @property
    def is_reading(self) -> bool:
        """Whether rows in view are still to come."""
        return self._newest.is_busy

    def _forget(self) -> None:
        self._newest.cancel()
        self._asked, self._failed, self.reading = [], False, None
        self.panel.set_subtitle("")
        self.view.set_look(None)

    @Slot()
    def _show(self) -> None:
        """Show what has been read."""
        if self.reading is None:
            return
        until = self.selection.token if self.view.as_of_action.isChecked() else None
        self.view.plot.set_growing(self.reading.trace.ended is None)
        self.view.set_look(KVLook(self.reading, until))
        self.view.set_selection(self.selection)
        self._name()

    @Slot()
    def _name(self) -> None:
        if (reading := self.reading) is None:
            return
        legend = KVMapView.legend_html(self.theme, skipped=reading.skipped, catches_up=reading.catches_up)
        known = int(reading.known.sum())
        busy = f"reading, {known:,} of {len(reading.known):,} tokens &nbsp;" if self._newest.is_slow else ""
        self.panel.set_subtitle(f"{busy}{unbroken(legend)}")

    @Slot()
    def _read_on(self) -> None:
        """Read what is in view and not known, unless that is being done already."""
        if self.reading is None or self._failed:
            return
        tokens = self.reading.unread(*self.view.in_view())
        if not tokens or (self._newest.is_busy and tokens == self._asked):
            return
        self._asked = tokens
        if isinstance(self.reading.trace, Trace) and len(tokens) <= FEW:
            self._take(self.reading, read_updates(self.reading.trace, tokens))
        else:
            self._newest.ask(self.reading, partial(_read, self.reading.trace, tokens))

    @Slot(object, object)
    def _take(self, reading: KVReading, outcome: Updates | Failure) -> None:
        if reading is not self.reading:
            return
        if isinstance(outcome, Failure):
            self._failed = True
            self.work.session.failed.emit(outcome)
            return
        reading.take(outcome)
        self.panel.set_empty(NOT_TOLD if reading.is_silent else None)
        self._show()
        self._read_on()


def _read(trace: ReadableTrace, tokens: list[int], _cancel: threading.Event, _told: Told) -> Updates:
    return read_updates(trace, tokens)
