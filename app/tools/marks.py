"""Bookmarks, notes and the search in their panel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.named_keys import say
from app.tools.bookmarks import place_words
from app.tools.finder import NOTHING
from app.tools.marks_view import NOTHING_ASKED, MarksView
from app.tools.tool import Tool
from core.analysis.search import Query
from core.analysis.summaries import Outcome, outcomes
from core.analysis.texts import visible
from core.trace.marks import Mark
from core.trace.reading import ReadableTrace
from widgets.chip_words import outcome_words
from widgets.mark_table import MarkRow
from widgets.selection import Selection

HIGHLIGHT = "found"
"""What the legend calls the tokens found."""


class Marks(Tool):
    """Shows what `Debugging.bookmarks` and `Debugging.finder` hold."""

    def build(self) -> QWidget:
        debugging, commands = self.work.debugging, self.work.window.commands
        self.bookmarks, self.finder = debugging.bookmarks, debugging.finder
        self.view = MarksView((commands["find_previous"], commands["find_next"]))
        self._marks: list[Mark] = []
        """As the list shows them."""
        self._of: ReadableTrace | None = None
        self._describe: Callable[[int], tuple[str, str, str]] = partial(describe, None)
        self._lit = False
        self._connect()
        return self.view

    def draw(self, first: int | None) -> str | None:
        if self.trace is not self._of:
            self._of, self._describe = self.trace, partial(describe, self.trace)
            self.view.form.set_depth(self.trace.depth if self.trace is not None else None)
        if first is not None:
            self.finder.refresh()
        self._show_marks()
        self._show_found()
        return None

    def _connect(self) -> None:
        view = self.view
        self.work.files.marked.connect(self._show_marks)
        view.marks.wanted.connect(self._jump)
        view.marks.noted.connect(self._note)
        view.marks.removed.connect(self._remove)
        view.note.clicked.connect(lambda: view.marks.write(view.marks.currentIndex().row()))
        view.remove.clicked.connect(lambda: self._remove(view.marks.currentIndex().row()))
        view.form.asked.connect(self._ask)
        view.form.moved.connect(self._move)
        view.found.token_wanted.connect(lambda token: self.selected.emit(Selection(token)))
        view.highlight.toggled.connect(self._light)
        self.finder.changed.connect(self._show_found)

    # Bookmarks

    @Slot()
    def _show_marks(self) -> None:
        self._marks = self.bookmarks.all
        several = {mark.run for mark in self._marks} - {self.bookmarks.run} != set()
        self.view.marks.rows.set_rows([self._row(mark, several) for mark in self._marks])
        for widget in (self.view.marks, self.view.note, self.view.remove):
            widget.setVisible(bool(self._marks))
        self.view.hint.setVisible(not self._marks)
        count = len(self._marks)
        self.panel.set_subtitle(f"{count} bookmark{'' if count == 1 else 's'}" if count else "")

    def _row(self, mark: Mark, several: bool) -> MarkRow:
        here, trace = mark.run == self.bookmarks.run, self.trace
        where = "the whole run" if mark.token is None else place_words(mark.token, mark.layer)
        text = ""
        if here and trace is not None and mark.token is not None and mark.token < trace.emitted_count:
            text = self._describe(mark.token)[0]
        return MarkRow(f"run {mark.run + 1}, {where}" if several else where, text, mark.note, here)

    @Slot(int)
    def _jump(self, row: int) -> None:
        if 0 <= row < len(self._marks):
            self.bookmarks.go_to(self._marks[row])

    @Slot(int, str)
    def _note(self, row: int, text: str) -> None:
        if 0 <= row < len(self._marks):
            self.bookmarks.note(self._marks[row], text)

    @Slot(int)
    def _remove(self, row: int) -> None:
        if 0 <= row < len(self._marks):
            self.bookmarks.remove(self._marks[row])
            self.view.marks.choose(row)

    # The search

    @Slot(object)
    def _ask(self, query: Query) -> None:
        self.finder.ask(query)
        self._show_found()

    @Slot(bool)
    def _move(self, forward: bool) -> None:
        self.finder.next() if forward else self.finder.previous()

    @Slot()
    def _show_found(self) -> None:
        finder, view, trace = self.finder, self.view, self.trace
        found = finder.found if trace is self._of else NOTHING
        view.found.show_tokens(found, self._describe, self.selection.token)
        view.found.setVisible(finder.asks and not finder.problem)
        view.highlight.setVisible(finder.asks and not finder.problem)
        say(view.count, self._count_words(len(found)))
        if finder.problem:
            view.form.note.show_error(finder.problem)
        else:
            view.form.note.clear()
        self._light()

    def _count_words(self, count: int) -> str:
        finder, total = self.finder, self.trace.emitted_count if self.trace is not None else 0
        if not finder.asks:
            return NOTHING_ASKED
        if finder.problem:
            return ""
        searching = " · searching…" if finder.newest.is_busy else ""
        return f"{count} of {total} token{'' if total == 1 else 's'}{searching}"

    @Slot()
    def _light(self) -> None:
        """Mark in the other views what was found, and take that away again only where it is ours."""
        lit = self.view.highlight.isChecked() and self.finder.asks and not self.finder.problem
        if lit or self._lit:
            self.work.views.set_highlight(self.finder.found if lit else NOTHING, HIGHLIGHT if lit else "")
        self._lit = lit


def describe(trace: ReadableTrace | None, token: int) -> tuple[str, str, str]:
    """A token's visible text, its exit layer and its outcome in words; empty where it is not there."""
    if trace is None or token >= trace.emitted_count:
        return "", "", ""
    seen = trace.overview
    outcome = Outcome(int(outcomes(trace, token)[0]))
    words = outcome_words(outcome, int(seen.refusals[token]))
    return visible(seen.texts[token], bool(seen.special[token])), f"{seen.exit_layers[token]}", words
