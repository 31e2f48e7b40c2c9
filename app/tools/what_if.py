"""The what-if tool: a recording decided anew while its settings are moved, its frontier, and the re-run for truth."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.actions import explain
from app.failure import Failure
from app.run_state import RunState
from app.title_words import unbroken
from app.tools.newest import STOP, stopped, under_way
from app.tools.tool import NO_RUN, Tool
from app.tools.what_if_desk import Answer, Desk
from app.tools.what_if_panel import RERUN_TIP, WhatIfPanel
from app.tools.what_if_rerun import Rerun
from app.tools.what_if_words import as_of, frontier_words, no_rerun, totals_words
from core.analysis.forks import fork_at
from core.analysis.frontier import Frontier
from core.analysis.summaries import visible
from core.analysis.what_if_reading import Recording
from core.analysis.what_if_trees import TreeDecisions
from core.analysis.what_if_truth import hold_passes, hold_tokens, truth_words
from core.errors import UserError
from core.trace.reading import ReadableTrace
from core.trace.trace import Trace
from widgets.frontier_plot import FrontierPlot, Standing, rows_of
from widgets.palette import Theme
from widgets.rows_table import Row
from widgets.what_if_plot import WhatIfPlot

if TYPE_CHECKING:
    from app.panel import Panel
    from app.workbench import Workbench

FIRST_ONLY = "What-if begins with the second token.\nThe first one comes from the prompt’s own pass, at full depth."
WAIT = "This run is still going on.\nPause it (F6), or wait for its end, to decide it anew."
READING = "Reading the recording…"
READING_ON = "Reading the recording"


class WhatIf(Tool):
    """One run at a time: the one on show, as it was when it was held or ended last."""

    def __init__(self, work: Workbench, panel: Panel) -> None:
        super().__init__(work, panel)
        self.desk = Desk(self)
        self._shown: ReadableTrace | None = None
        """The run that was read, or is being read."""
        self._count = 0
        """How many of its tokens."""
        self._answer: Answer | None = None
        self._problem: str | None = None
        self._rerun: Rerun | None = None

    def build(self) -> QWidget:
        self.view = view = WhatIfPanel()
        desk, session = self.desk, self.work.session
        desk.read.connect(self._on_read)
        desk.advanced.connect(self._on_advanced)
        desk.answered.connect(self._on_answer)
        desk.swept.connect(self._on_swept)
        desk.refused.connect(self._on_refused)
        view.form.changed.connect(self._ask)
        view.reset.clicked.connect(view.form.reset)
        view.rerun.clicked.connect(self.rerun)
        self._actions = [self.work.window.commands[name] for name in ("rerun_truth", "reset_what_if")]
        for action, act in zip(self._actions, (self.rerun, view.form.reset), strict=True):
            action.triggered.connect(act)
        view.page_shown.connect(self._turn_page)
        view.frontier.threshold_wanted.connect(view.form.set_threshold)
        view.points.chosen.connect(self._choose_point)
        view.truth.linkActivated.connect(self._show_run)
        view.reading.linkActivated.connect(self._follow)
        for part in (view.plot, view.table):
            part.selected.connect(self.selected)
        session.state_changed.connect(self._on_state)
        session.model_changed.connect(self._on_state)
        session.run_began.connect(self._on_run_began)
        session.run_ended.connect(self._on_run_ended)
        session.trace_changed.connect(self._forget_truth)
        return view

    def draw(self, first: int | None) -> str | None:
        trace = self.trace
        if trace is None:
            self._shown = None
            self.panel.set_subtitle("")
            return NO_RUN
        self._mark_selection()
        if trace is not self._shown or (trace.emitted_count != self._count and not self._goes_on):
            self._open(trace)
        return self._sentence(trace)

    def apply_theme(self, theme: Theme) -> None:
        self.view.apply_theme(theme)

    def close(self) -> None:
        self.desk.close()

    @Slot()
    def rerun(self) -> None:
        """Run the prompt again with what is asked."""
        answer, trace = self._answer, self.trace
        if answer is None or trace is None or trace.started is None or self._why_no_rerun():
            return
        settings, started = answer.compared.settings, trace.started
        try:
            # A branch is given the same past again, along the layers that it ran.
            fork = fork_at(trace, started.branch.given - 1, settings) if started.branch else None
        except UserError as error:
            self.view.show_truth(escape(str(error)))
            return
        self._rerun = Rerun(settings, started.prompt, answer.decided, started.run)
        self.work.session.run(started.prompt, settings, fork=fork)

    # What there is to show

    @property
    def _goes_on(self) -> bool:
        """Whether the run on show is getting tokens right now, so that reading it would be of no use."""
        session, trace = self.work.session, self.trace
        return trace is not None and trace.ended is None and session.is_running and not session.is_held

    def _open(self, trace: ReadableTrace) -> None:
        if trace is not self._shown:
            self._answer, self._problem = None, None
            self._shown, self._count = trace, 0
        if self._goes_on or trace.emitted_count < 2 or trace.started is None:
            return
        self._count, self._problem = trace.emitted_count, None
        try:
            self.desk.open(trace, self.work.files.library.weights_of(trace.started.run))
        except UserError as error:
            self._problem = str(error)

    def _sentence(self, trace: ReadableTrace) -> str | None:
        """What stands in the view's place; None where there is something to see."""
        if self._problem is not None:
            return self._problem
        if self._answer is not None:
            self._show_legend(as_of(self._answer.compared, trace))
            return None
        self.panel.set_subtitle("")
        if self._goes_on:
            return WAIT
        return FIRST_ONLY if trace.emitted_count < 2 else READING

    def _show_legend(self, behind: str) -> None:
        plot = FrontierPlot if self.view.shows_frontier else WhatIfPlot
        legend = unbroken(plot.legend_html(self.work.window.theme))
        self.panel.set_subtitle(" · ".join(filter(None, (behind, legend))))

    def _refresh(self) -> None:
        """Show what has changed without the trace."""
        trace = self.trace
        self._show_buttons()
        self.panel.set_empty(NO_RUN if trace is None else self._sentence(trace))

    def _mark_selection(self) -> None:
        for part in (self.view.plot, self.view.table):
            part.set_selection(self.selection)
        self.view.form.set_layer(self.selection.layer)

    # What the desk says

    @Slot(object)
    def _on_read(self, recording: Recording) -> None:
        started = recording.trace.started
        assert started is not None, "only runs that began are read"
        asked = self._answer.compared.settings if self._answer else None
        form = self.view.form
        form.show_recording(started.settings, recording.trace.depth, len(recording.ranking))
        if asked is not None:  # the same run has gone on; the question stays
            form.show_question(asked)
        self._show_reading()

    @Slot()
    def _on_advanced(self) -> None:
        """More of a long run is known, of which the first tokens were decided at once."""
        recording, answer = self.desk.recording, self._answer
        self._show_reading()
        behind = recording is not None and answer is not None and len(answer.compared.asked) < recording.tokens
        if behind and not self.desk.reads_on:
            self._ask()

    def _show_reading(self) -> None:
        recording, words = self.desk.recording, ""
        if recording is not None and self.desk.reads_on:
            words = under_way(READING_ON, recording.tokens, recording.trace.emitted_count)
        elif self.desk.is_stopped:
            words = stopped(READING_ON)
        self.view.show_reading(words)

    @Slot(str)
    def _follow(self, link: str) -> None:
        """Stop reading, or go on."""
        if link == STOP:
            self.desk.stop_reading()
        else:
            self.desk.read_on()

    @Slot(object)
    def _on_answer(self, answer: Answer) -> None:
        self._answer, self._problem = answer, None
        view, trace = self.view, self.desk.recording.trace if self.desk.recording else None
        assert trace is not None, "an answer is about what was read"
        view.totals.setText(totals_words(answer.compared, self.work.window.theme))
        view.plot.show_comparison(answer.compared)
        seen = trace.overview
        view.table.show_comparison(answer.compared, lambda at: visible(seen.texts[at], bool(seen.special[at])))
        view.count_changes(len(answer.compared.changes))
        self._mark_selection()
        self._show_frontier(self.desk.frontier)
        self._sweep()
        self._show_truth()
        self._refresh()

    @Slot(object)
    def _on_refused(self, failure: Failure) -> None:
        self._problem = failure.sentence
        self._refresh()

    @Slot()
    def _ask(self) -> None:
        if self.desk.recording is not None:
            self.desk.ask(self.view.form.settings())
            self._show_buttons()

    # The frontier

    @Slot()
    def _turn_page(self) -> None:
        self._sweep()
        self._refresh()

    @Slot()
    def _sweep(self) -> None:
        if self.view.shows_frontier and self.desk.recording is not None:
            self.desk.sweep(self.view.form.settings())
            self._show_frontier(self.desk.frontier)

    @Slot(object)
    def _on_swept(self, found: Frontier) -> None:
        self._show_frontier(found)

    def _show_frontier(self, found: Frontier) -> None:
        if self._answer is None:
            return
        compared, point = self._answer.compared, self._answer.point
        standing = Standing(
            recorded=(compared.before.mean_exit_layer, compared.before.agreement),
            asked=(point.mean_exit_layer, point.agreement) if point else None,
            threshold=compared.settings.threshold if not compared.settings.layer_thresholds else None,
        )
        view = self.view
        words, why_empty = frontier_words(found, self.desk.thresholds_left, compared.settings)
        view.frontier.show_frontier(found, standing, compared.depth, why_empty)
        view.show_words(self._answer.how_exact, words)
        rows: list[Row] = rows_of(found, standing)
        view.points.set_rows(len(rows), rows.__getitem__)
        at = [row for row, one in enumerate(found.points) if one.threshold == standing.threshold]
        view.points.mark(at[0] if at else None)

    @Slot(int)
    def _choose_point(self, row: int) -> None:
        self.view.form.set_threshold(self.desk.frontier.points[row].threshold)

    # The re-run

    def _why_no_rerun(self) -> str:
        trace = self.trace
        if trace is None or trace.started is None or self._answer is None or trace is not self._shown:
            return "The panel What if has no answer about the run on show yet."
        return no_rerun(self.work.session, trace.started)

    def _show_buttons(self) -> None:
        problem = self._why_no_rerun()
        self.view.rerun.setEnabled(not problem)
        self.view.rerun.setToolTip(problem or RERUN_TIP)
        self.view.rerun.setAccessibleDescription(problem or RERUN_TIP)
        self.view.reset.setEnabled(not self.view.form.is_reset)
        explain(self._actions[0], not problem, problem)
        explain(self._actions[1], not self.view.form.is_reset, "the recording’s own settings are asked")

    @Slot(object)
    def _on_run_began(self, trace: Trace) -> None:
        waits = self._rerun is not None and self._rerun.run is None
        if waits and self._rerun is not None and trace.started is not None:
            asked = self._rerun.settings, self._rerun.prompt
            mine = (trace.started.settings, trace.started.prompt) == asked  # and no later one, should it be refused
            self._rerun = replace(self._rerun, run=trace.started.run) if mine else None

    @Slot(int)
    def _on_run_ended(self, number: int) -> None:
        rerun, trace = self._rerun, self.work.files.library.at_hand(number)  # on show or not
        if rerun is None or rerun.run != number or trace is None:
            return
        decided = rerun.decided
        held = hold_passes(decided, trace) if isinstance(decided, TreeDecisions) else hold_tokens(decided, trace)
        self._rerun = replace(rerun, words=("✓ " if held.holds else "≠ ") + truth_words(held))
        self._show_truth()

    @Slot(int)
    def _forget_truth(self, _: int) -> None:
        """Where no run is on show another session may follow, whose runs have the same numbers."""
        if self.work.session.trace is None and self._rerun is not None and self._rerun.words:
            self._rerun = None
            self._show_truth()

    def _show_truth(self) -> None:
        rerun, trace = self._rerun, self.trace
        number = trace.started.run if trace is not None and trace.started is not None else None
        if rerun is None or not rerun.words or number not in (rerun.of, rerun.run):
            self.view.show_truth("")
            return
        other = rerun.of if number == rerun.run else rerun.run
        assert other is not None, "a run that is over had begun"
        name = self._name_of(other)
        self.view.show_truth(f'{rerun.words} <a href="{other}">Show {escape(name)}</a>' if name else rerun.words)

    def _name_of(self, number: int) -> str:
        """A run in words; "" for one of another file that is no longer open."""
        guests = self.work.files.library.guests
        if number >= 0:
            return f"run {number + 1}"
        return f"the run of {guests.path_of(number).name}" if number in guests.runs else ""

    @Slot(str)
    def _show_run(self, number: str) -> None:
        self.work.files.show_run(int(number))

    @Slot()
    def _on_state(self) -> None:
        if self.work.session.state is RunState.RUNNING or not self.panel.isVisible():
            self._show_buttons()
            return
        self.panel.set_empty(self.draw(None))
        self._show_buttons()
