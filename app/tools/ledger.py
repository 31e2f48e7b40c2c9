"""The ledger tool: one class a token, counted while the run goes on, and its tokens highlighted in every view."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QTimer, Slot
from PySide6.QtWidgets import QWidget

from app.chore import Chore
from app.failure import Failure
from app.tools.newest import PATIENCE_MS, STOP, stopped, under_way, watching
from app.tools.tool import NO_RUN, Tool
from core.analysis.ledger import LABELS, Entry, Ledger, extended, ledger, what_is_missing
from core.analysis.texts import visible
from core.trace.frozen import frozen
from core.trace.reading import ReadableTrace
from widgets.ledger_view import LedgerView
from widgets.palette import Theme

if TYPE_CHECKING:
    from app.panel import Panel
    from app.workbench import Workbench

PORTION, MOST = 512, 4096
"""Tokens looked at in one go, at first and once the first are told; between two goes the panel tells how far it is."""
COUNTING = "The tokens are being looked at"
PAUSE_MS = 400
"""Between two looks at a run that goes on."""


class LedgerTool(Tool):
    """Looks at each token once, away from the window's thread; what changes is looked at again."""

    def __init__(self, work: Workbench, panel: Panel) -> None:
        super().__init__(work, panel)
        self.found: Ledger | None = None
        """Of the run on show, as far as it was looked at."""
        self._of: ReadableTrace | None = None
        self._done = 0
        """Tokens that need no second look."""
        self._chore: Chore | None = None
        self._cancel = threading.Event()
        """Ends the look that is under way, soon."""
        self._is_stopped = False
        """Whether the user wants no more tokens looked at."""
        self._patience = QTimer(self, singleShot=True, interval=PATIENCE_MS)
        self._patience.timeout.connect(self._tell_of_wait)
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(self._next)

    def build(self) -> QWidget:
        self.view = LedgerView()
        self.view.selected.connect(self.selected)
        self.view.class_chosen.connect(self._highlight)
        self.view.link_chosen.connect(self._follow)
        return self.view

    def draw(self, first: int | None) -> str | None:
        trace = self.trace
        if trace is not self._of:
            self._cancel.set()
            self._of, self.found, self._done, self._is_stopped = trace, None, 0, False
            self._highlight(None)
            self.panel.set_subtitle("")
            self.view.forget()
            self._patience.start()
        if first is not None:
            self._done = min(self._done, first)
        if trace is None:
            self.panel.set_subtitle("")
            return NO_RUN
        if missing := what_is_missing(trace):
            self.panel.set_subtitle("")
            return missing
        if not self._pause.isActive():
            self._next()
        self.view.set_selection(self.selection)
        return None

    def apply_theme(self, theme: Theme) -> None:
        self.view.apply_theme(theme)

    def close(self) -> None:
        self._pause.stop()
        self._patience.stop()
        self._cancel.set()
        if self._chore is not None:
            self._chore.over.disconnect()
            self._chore.wait()
            self._chore = None

    @property
    def is_being_counted(self) -> bool:
        """Whether tokens of some run are being looked at right now."""
        return self._chore is not None

    @property
    def is_behind(self) -> bool:
        """Whether tokens wait to be looked at."""
        return self._of is not None and self._done < self._of.emitted_count

    @Slot()
    def _tell_of_wait(self) -> None:
        """Say how far a run is; of a short one nobody could read it, and one that goes on is never done."""
        trace, words = self._of, ""
        if self._is_stopped:
            words = stopped("Looking at the tokens")
        elif trace is not None and self.is_being_counted and not self._goes_on and not self._patience.isActive():
            told = 0 if self.found is None else len(self.found.entries)
            words = under_way(COUNTING, told, trace.emitted_count)
        self.view.set_note(words)

    @Slot(str)
    def _follow(self, link: str) -> None:
        """Look at no more tokens, or go on."""
        self._is_stopped = link == STOP
        if self._is_stopped:
            self._cancel.set()
        self._next()
        self._tell_of_wait()

    @Slot()
    def _next(self) -> None:
        if self._chore is not None or not self.is_behind or self._is_stopped or self._of is None:
            return
        trace, first, cancel = self._of, self._done, threading.Event()
        last = min(first + (MOST if first else PORTION), trace.emitted_count)
        self._done, self._cancel = last, cancel
        chore = self._chore = Chore(partial(ledger, frozen(trace), first, last, watching(cancel, lambda _: None)), self)
        chore.over.connect(partial(self._over, trace, first, cancel))
        chore.start()

    def _over(self, of: ReadableTrace, first: int, cancel: threading.Event, outcome: Ledger | Failure) -> None:
        self._chore = None
        known = len(self.found.entries) if self.found is not None else 0
        if isinstance(outcome, Failure):
            self._fail(of, first, None if cancel.is_set() else outcome)
        elif of is self._of and first <= known:  # else the run was left meanwhile, and what comes before forgotten
            self._take(outcome)
        if self._goes_on:
            self._pause.start()
        else:
            self._next()
        self._tell_of_wait()

    def _fail(self, of: ReadableTrace, first: int, failure: Failure | None) -> None:
        """A look was called off, or could not be made: what would follow is of no use then."""
        if of is not self._of:
            return
        self._done = min(self._done, first)
        if failure is not None:
            self._is_stopped = True
            self.panel.set_empty(failure.sentence)

    @property
    def _goes_on(self) -> bool:
        """Whether the run on show is getting tokens right now."""
        return self._of is not None and self._of.ended is None

    def _take(self, outcome: Ledger) -> None:
        trace = self._of
        assert trace is not None, "only a run's tokens are looked at"
        self.found = outcome if self.found is None else extended(self.found, outcome)
        seen, exits = trace.overview, trace.exit_layers
        self.view.show_ledger(
            self.found,
            lambda token: visible(seen.texts[token], bool(seen.special[token])),
            lambda token: int(exits[token]),
        )
        self._highlight(self.view.entry)
        count, told = trace.emitted_count, len(self.found.entries)
        self.panel.set_subtitle(_progress(told, count) if told < count - 1 else f"{self.found.told:,} tokens")

    @Slot(object)
    def _highlight(self, entry: Entry | None) -> None:
        tokens = np.zeros(0, np.int64)
        if entry is not None and self.found is not None:
            tokens = self.found.tokens(entry)
        self.work.views.set_highlight(tokens, LABELS[entry] if entry is not None else "")


def _progress(told: int, count: int) -> str:
    return f"{told:,} of {count:,} tokens"
