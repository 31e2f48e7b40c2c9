"""The cost bar in its panel: the selected token at once, the run as soon as a thread has swept it."""

from __future__ import annotations

import threading
from functools import partial

import numpy as np
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.failure import Failure
from app.tools.newest import STOP, Newest, Told, stopped, under_way, watching
from app.tools.tool import NO_RUN, Tool
from core.analysis.cost_words import one_token, whole_run
from core.analysis.costs import Costs, Seconds, costs, stages_of
from core.trace.frozen import frozen
from core.trace.reading import ReadableTrace
from widgets.cost_bars import CostBar
from widgets.cost_view import CostView
from widgets.palette import Theme

NO_TOKENS = "No token has been emitted yet.\nThe time of each of its stages appears here."
UNTIMED = "This recording holds no times.\nIt was imported or damaged; a run of the program’s own measures every stage."
ADDING = "The run is being added up…"
EVERY = 32
"""Tokens after which a run under way is swept again."""


class CostsTool(Tool):
    """Measured time by stage, of the token and of the run."""

    def build(self) -> QWidget:
        self.view = CostView()
        self.found: Costs | None = None
        self._told = ""
        """What is said of the run while its costs are not known."""
        self._swept: tuple[ReadableTrace, int, bool] | None = None
        """Which trace was swept last, how many of its tokens, and whether it had ended."""
        self._is_stopped = False
        """Whether the user does not want it swept, however it grows."""
        self._newest = Newest(self)
        self._newest.done.connect(self._take)
        self._newest.progressed.connect(self._tell_progress)
        self._newest.slow.connect(self._tell_of_wait)
        self.view.link_chosen.connect(self._follow)
        return self.view

    def draw(self, first: int | None) -> str | None:
        trace = self.trace
        if trace is None or not trace.overview.seconds.any():
            self._newest.cancel()
            self._swept, self.found = None, None
            self.panel.set_subtitle("")  # of the run before
            return NO_RUN if trace is None else UNTIMED if trace.emitted_count else NO_TOKENS
        if first is not None or self._swept is None or self._swept[0] is not trace:
            self._sweep(trace, first or 0)
        self._show(trace)
        return None

    def apply_theme(self, theme: Theme) -> None:
        self.view.apply_theme(theme)

    def close(self) -> None:
        self._newest.close()

    @property
    def is_reading(self) -> bool:
        """Whether the run's own bar is still to come."""
        return self._newest.is_busy

    def _sweep(self, trace: ReadableTrace, first: int) -> None:
        """Sweep the run again, unless it is under way and has only grown a little."""
        count, ended = trace.emitted_count, trace.ended is not None
        if self._swept is not None and self._swept[0] is trace:
            _, before, had_ended = self._swept
            grew = count != before if ended else count - before >= EVERY or first < before
            if self._is_stopped or (ended == had_ended and not grew):
                return
        else:
            self.found, self._told, self._is_stopped = None, "", False
        self._swept = (trace, count, ended)
        self._newest.ask(trace, partial(_measure, frozen(trace)))

    @Slot(object, object)
    def _take(self, trace: ReadableTrace, outcome: Costs | Failure) -> None:
        if trace is not self.trace:
            return
        if isinstance(outcome, Failure):
            self._told = ""
            self._show(trace)
            self.work.session.failed.emit(outcome)
        else:
            self.found = outcome
            self._show(trace)

    @Slot()
    def _tell_of_wait(self) -> None:
        if self.trace is not None and self.found is None:
            self._told = self._told or ADDING
            self._show(self.trace)

    @Slot(int)
    def _tell_progress(self, token: int) -> None:
        if self.is_reading and self.trace is not None and self.found is None:
            self._told = under_way("The run is being added up", token + 1, self.trace.emitted_count)
            if self._newest.is_slow:
                self._show(self.trace)

    @Slot(str)
    def _follow(self, link: str) -> None:
        """Stop adding up, or begin again."""
        trace = self.trace
        if trace is None:
            return
        if link == STOP:
            self._is_stopped = True
            self._newest.cancel()
            self._told = stopped("Adding up the run")
            self._show(trace)
        else:
            self._swept = None
            self._sweep(trace, 0)
            self._show(trace)

    def _show(self, trace: ReadableTrace) -> None:
        bars, heads, words = [], [], ""
        token = self.selection.token
        if token is not None and token < trace.emitted_count:
            bars.append(CostBar(f"Token {token + 1}", _numbers(stages_of(trace.records[token]))))
            heads.append("token")
            words = one_token(trace, self.found, token) if self._knows(token) and self.found else ""
        if self.found is not None:
            after = self.found.stages[1:]
            bars.append(CostBar(f"Run, {len(after):,} tokens after the first", _numbers(after.sum(0))))
            heads.append("run")
            self.panel.set_subtitle(_headline(self.found))
        else:
            self.panel.set_subtitle("")
        told = whole_run(self.found) if self.found is not None else self._told
        self.view.show_costs(tuple(bars), tuple(heads), words, told)

    def _knows(self, token: int) -> bool:
        return self.found is not None and token < len(self.found.stages)


def _measure(trace: ReadableTrace, cancel: threading.Event, told: Told) -> Costs:
    return costs(trace, watching(cancel, told))


def _numbers(seconds: Seconds) -> tuple[float, ...]:
    return tuple(np.asarray(seconds, float).tolist())


def _headline(found: Costs) -> str:
    """Whether the exits paid, in the title bar."""
    if found.paid is None:
        return "dense: no exit to pay for" if not found.possible else "whether exits paid is not known"
    net = float(found.net.sum())
    share = f", {abs(net) / found.measured:.1%} of the run" if found.measured > 0 else ""
    words = "the exits paid: gained" if found.paid else "▲ the exits did not pay: lost"
    return f"{words} {abs(net) * 1e3:,.1f} ms{share}"
