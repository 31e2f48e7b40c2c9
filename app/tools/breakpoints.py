"""The panel of the breakpoints: the list with its hits, an editor for one, and the search that is under way."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.failure import Failure
from app.forms import labelled, named
from app.progress_line import ProgressLine
from app.tools.breakpoint_editor import AUDITED, BreakpointEditor
from app.tools.newest import Newest
from app.tools.tool import Tool
from core.analysis.breakpoints import INTERESTING, Breakpoint
from core.analysis.conditions import Condition
from core.analysis.hits import HitCounts
from core.choices import Record
from core.errors import UserError
from core.progress import Progress
from core.trace.reading import ReadableTrace
from widgets.breakpoint_table import BreakpointRow, BreakpointTable

EMPTY = (
    "No breakpoint yet. Add one above, or press F9 to break on what happened to the selected token. Without any, F4 "
    f"stops at these: {INTERESTING.label}."
)


class BreakpointsView(QWidget):
    """Editor, list and progress below each other."""

    def __init__(self) -> None:
        super().__init__()
        self.editor, self.table = BreakpointEditor(), BreakpointTable()
        self.hint = labelled(EMPTY, "muted")
        self.hint.setWordWrap(True)
        self.progress = ProgressLine(stacked=True)
        self.remove = named(QPushButton("Remove"), "Remove breakpoint", "Forget the chosen breakpoint (Delete)")
        self.edit = named(QPushButton("Edit"), "Edit breakpoint", "Change the chosen breakpoint (Enter)")
        row = QHBoxLayout()
        row.setSpacing(6)
        row.addStretch(1)
        row.addWidget(self.edit)
        row.addWidget(self.remove)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.editor)
        column.addWidget(self.hint)
        column.addWidget(self.table, 1)
        column.addWidget(self.progress)
        column.addLayout(row)
        column.addStretch()
        self.progress.hide()


class Breakpoints(Tool):
    """Shows the list that `Debugging.moves` goes by, and counts its hits in the run on show."""

    def build(self) -> QWidget:
        self.list, self.moves = self.work.debugging.breakpoints, self.work.debugging.moves
        self.view = BreakpointsView()
        self._counting = Newest(self)
        self._counter = HitCounts(())
        self._counts: dict[Condition, int] = {}
        self._problems: dict[Condition, str] = {}
        self._counted: ReadableTrace | None = None
        self._behind: int | None = None
        """From which token on the counts are behind the run; None where they are not."""
        self._editing: Condition | None = None
        self._connect()
        for name in ("previous_interesting", "next_interesting"):
            self.panel.add_action(self.work.window.commands[name], small=True)
        return self.view

    def draw(self, first: int | None) -> str | None:
        if first is not None:
            self._recount(first)
        self._show()
        return None

    def close(self) -> None:
        self._counting.close()

    def _connect(self) -> None:
        view = self.view
        self.list.changed.connect(self._follow_list)
        view.table.toggled.connect(self.list.enable)
        view.table.edited.connect(self._edit)
        view.table.removed.connect(self._remove)
        view.edit.clicked.connect(lambda: self._edit(view.table.currentIndex().row()))
        view.remove.clicked.connect(lambda: self._remove(view.table.currentIndex().row()))
        view.editor.made.connect(self._take)
        view.editor.left.connect(self._leave_editor)
        view.progress.cancelled.connect(self.moves.cancel)
        self.moves.searching.connect(self._show_search)
        self.moves.newest.progressed.connect(self._show_progress)
        self._counting.done.connect(self._take_counts)

    # The list

    @Slot()
    def _follow_list(self) -> None:
        self._recount(0 if set(self.list.conditions) - set(self._counter.conditions) else None)
        self._show()

    def _show(self) -> None:
        rows = [self._row(one) for one in self.list]
        self.view.table.rows.set_rows(rows)
        self.view.table.setVisible(bool(rows))
        self.view.hint.setVisible(not rows)
        for button in (self.view.edit, self.view.remove):
            button.setVisible(bool(rows))
        enabled = len(self.list.enabled)
        off = f" · {len(rows) - enabled} off" if enabled < len(rows) else ""
        self.panel.set_subtitle(f"{enabled} on{off}" if rows else "")

    def _row(self, one: Breakpoint) -> BreakpointRow:
        problem = self._problems.get(one.condition, "")
        blind = one.condition.needs_audit and not self._is_audited()
        hits = None if problem or blind or self.trace is None else self._counts.get(one.condition)
        return BreakpointRow(one.label, one.enabled, hits, problem or (AUDITED if blind else ""))

    def _is_audited(self) -> bool:
        started = self.trace.started if self.trace is not None else None
        return started is not None and started.settings.record is Record.AUDIT

    @Slot(int)
    def _remove(self, row: int) -> None:
        if 0 <= row < len(self.list):
            if self.list[row].condition == self._editing:
                self.view.editor.leave()
                self._editing = None
            self.list.remove(row)
            self.view.table.choose(row)

    @Slot(int)
    def _edit(self, row: int) -> None:
        if 0 <= row < len(self.list):
            self._editing = self.list[row].condition
            self.view.editor.change(self._editing)

    @Slot(object)
    def _take(self, condition: Condition) -> None:
        row = self.list.row_of(self._editing) if self._editing is not None else None
        try:
            if row is None:
                row = self.list.add(condition)
            else:
                self.list.change(row, condition)
        except UserError as error:
            self.view.editor.refuse(str(error))
            return
        self._editing = None
        self.view.editor.leave()
        self.view.table.choose(row)

    @Slot()
    def _leave_editor(self) -> None:
        self._editing = None

    # Hits

    def _recount(self, first: int | None) -> None:
        """Bring the counts up to date from token `first` on; None where no token changed."""
        if self.trace is not self._counted or set(self.list.conditions) - set(self._counter.conditions):
            self._counted, self._counter = self.trace, HitCounts(self.list.conditions)
            self._counting.cancel()
            self._counts, first = {}, 0
        if first is not None:
            self._behind = first if self._behind is None else min(first, self._behind)
        trace, counter, behind = self.trace, self._counter, self._behind
        if trace is None or behind is None or not counter.conditions or self._counting.is_busy:
            return
        self._behind = None

        def work(cancel: Any, tell: Any) -> tuple[dict[Condition, int], dict[Condition, str]]:
            counter.update(trace, behind, cancel, tell)
            return dict(zip(counter.conditions, counter.counts, strict=True)), dict(counter.problems)

        self._counting.ask(trace, work)

    @Slot(object, object)
    def _take_counts(
        self, _trace: ReadableTrace, outcome: tuple[dict[Condition, int], dict[Condition, str]] | Failure
    ) -> None:
        if not isinstance(outcome, Failure):
            self._counts, self._problems = outcome
        self._recount(None)
        self._show()

    # A search under way

    @Slot(bool)
    def _show_search(self, searching: bool) -> None:
        if searching:
            self.view.progress.start("Searching")
        self.view.progress.setVisible(searching and self._is_long())

    @Slot(int)
    def _show_progress(self, tokens: int) -> None:
        total = self.trace.emitted_count if self.trace is not None else 0
        self.view.progress.show_progress(Progress("Searching", tokens, total, "tokens"))

    def _is_long(self) -> bool:
        """Whether a search may take a moment; a line that comes and goes with each key would only flicker."""
        return self.trace is not None and self.trace.emitted_count > 5000
