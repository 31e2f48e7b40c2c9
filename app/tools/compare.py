"""Compare: the run on show (A) beside another one (B), aligned by token, with one cursor for both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from app.action_table import COMPARE
from app.actions import explain
from app.failure import Failure
from app.tools import compare_words as words
from app.tools.compare_choices import best_guest, choices
from app.tools.compare_pair import Pair
from app.tools.compare_panel import ComparePanel
from app.tools.newest import Newest
from app.tools.tool import NO_RUN, Tool
from core.analysis.compare_rows import Aligned, side
from core.analysis.why import why
from core.trace.events import RunStarted
from core.trace.reading import ReadableTrace
from core.trace.session_file import SessionFile
from widgets.palette import DARK, Theme
from widgets.selection import Selection

if TYPE_CHECKING:
    from app.panel import Panel
    from app.workbench import Workbench

FILTER = "Sessions (*.specee);;All files (*)"
ALONE = "There is no other run yet. Run the prompt again with other settings, or open another session’s run."
READING = "Reading the other run…"
NOTHING_COMPARED = "no two runs are compared"


class Compare(Tool):
    """One pair at a time."""

    def __init__(self, work: Workbench, panel: Panel) -> None:
        super().__init__(work, panel)
        self._library = work.files.library
        self.pair = Pair(self._library, work.session, self)
        self._opening = Newest(self)
        self._beyond: tuple[int, Selection] | None = None
        """The row of the cursor where A has no such token, and what is selected meanwhile."""
        self._told: tuple[Aligned | None, int | None, int | None] | None = None
        """What words and moves are about."""

    def build(self) -> QWidget:
        self.theme: Theme = DARK
        commands, session = self.work.window.commands, self.work.session
        self.view = view = ComparePanel(commands.some(COMPARE))
        commands["first_divergence"].triggered.connect(self.go_to_divergence)
        commands["next_difference"].triggered.connect(self.go_to_next)
        commands["previous_difference"].triggered.connect(self.go_to_previous)
        commands["swap_runs"].triggered.connect(self.swap)
        view.run_wanted.connect(self.compare_with)
        view.open.clicked.connect(self.choose_file)
        view.selected.connect(self._select)
        self.pair.changed.connect(self._show)
        self.pair.refused.connect(self._refuse)
        self._opening.done.connect(self._take_file)
        session.trace_changed.connect(self._watch_reset)
        session.run_ended.connect(self._on_run_ended)
        self.panel.visibilityChanged.connect(self._on_seen)
        return view

    def draw(self, first: int | None) -> str | None:
        trace, started = self.trace, self._started
        if trace is None or started is None:
            self._forget()
            return NO_RUN
        if trace is not self.pair.shown:
            self._show_run(trace, started)
        elif first is not None:
            self.pair.grow()
        self._mark()
        return None

    def apply_theme(self, theme: Theme) -> None:
        self.theme = theme
        self.view.apply_theme(theme)
        if self.pair.aligned is not None:
            self._tell(self.pair.aligned)

    def close(self) -> None:
        self._opening.close()
        self.pair.close()

    @property
    def is_busy(self) -> bool:
        """Whether a file is being opened, or a run read."""
        return self._opening.is_busy or self.pair.is_busy

    # Which run

    @Slot(int)
    def compare_with(self, number: int) -> None:
        """Hold the run on show against this one."""
        self.view.note.clear()
        self.pair.set(self.trace, number)
        self._list()

    @Slot()
    def choose_file(self) -> None:
        """Ask for a session file with a run to compare with."""
        path, title = self._library.path, "Compare with a run of another session"
        folder = str(path.parent if path is not None else Path.home())
        name, _ = QFileDialog.getOpenFileName(self.work.window, title, folder, FILTER)
        if name:
            self.open_file(Path(name))

    def open_file(self, path: Path) -> None:
        """Compare with a run of this file, which is only read."""
        self.view.note.show_remark(f"Opening {path.name}…")
        guests = self._library.guests
        self._opening.ask(path, lambda _cancel, _told: guests.open(path))

    @Slot()
    def swap(self) -> None:
        """Show B in the main views and hold it against A; the token stays selected."""
        pair, started, at = self.pair, self._started, replace(self.selection, token=self._cursor(), node=None)
        shown, other = pair.shown, pair.other
        if started is None or shown is None or other is None:
            return
        pair.set(other, started.run, shown)
        self.work.files.show_trace(other)
        self.work.session.select(at)
        self._list()

    def _show_run(self, trace: ReadableTrace, started: RunStarted) -> None:
        """Another run is on show; B stays, unless it is that very run."""
        known = [choice.number for choice in choices(self._library, started)]
        number = self.pair.number if self.pair.number in known else next(iter(known), None)
        self.pair.set(trace, number)
        self._list()

    def _list(self) -> None:
        if self._started is not None:
            self.view.show_choices(choices(self._library, self._started), self.pair.number)

    @Slot(object, object)
    def _take_file(self, _path: Path, outcome: SessionFile | Failure) -> None:
        self.view.note.clear()
        started, guests = self._started, self._library.guests
        if isinstance(outcome, Failure):
            self._tell_failure(outcome)
        elif started is None:
            guests.close()
        else:
            keep = [started.run] if self.pair.number is None else [started.run, self.pair.number]
            self.compare_with(best_guest(self._library, guests.welcome(outcome, keep), started))

    # What happens meanwhile

    @property
    def _started(self) -> RunStarted | None:
        return self.trace.started if self.trace is not None else None

    @Slot(int)
    def _watch_reset(self, _first: int) -> None:
        """Where the run on show is taken away the session may be, too, and numbers come to mean other runs."""
        if self.work.session.trace is None:
            self._forget()

    def _forget(self) -> None:
        self._beyond = None
        self.view.note.clear()
        if self.pair.shown is not None:
            self.pair.set(None, None)

    @Slot(int)
    def _on_run_ended(self, _number: int) -> None:
        self._list()
        if self.panel.isVisible():
            self.pair.grow()

    @Slot(bool)
    def _on_seen(self, visible: bool) -> None:
        if visible:
            self.pair.catch_up()
        else:
            self.pair.rest()

    # Showing

    @Slot()
    def _show(self) -> None:
        aligned = self.pair.aligned
        if aligned is None:
            self.panel.set_subtitle("")
            self.view.show_nothing(READING if self.pair.number is not None else ALONE)
        else:
            told = words.parting_words(aligned), words.differing_words(aligned)
            self.view.show_aligned(aligned, told, words.all_settings(aligned))
            self._tell(aligned)
            self._caution(words.other_models(aligned))
        self._mark()

    def _tell(self, aligned: Aligned) -> None:
        a, b = (words.run_name(one, self._path_of(one)) for one in aligned.runs)
        self.panel.set_subtitle(words.subtitle(aligned, (a, b), self.theme))

    def _caution(self, sentence: str) -> None:
        """Say this beside the two runs; "" takes an earlier caution away, and leaves a problem there."""
        note = self.view.note
        if sentence:
            note.show_caution(sentence)
        elif note.property("role") == "caution":
            note.clear()

    def _path_of(self, trace: ReadableTrace) -> Path | None:
        number = trace.started.run if trace.started is not None else 0
        return self._library.guests.path_of(number) if number < 0 else None

    @Slot(object)
    def _refuse(self, failure: Failure) -> None:
        self._list()
        self._tell_failure(failure)

    def _tell_failure(self, failure: Failure) -> None:
        self.view.note.show_error(failure.sentence)
        if not failure.user_error:
            self.work.session.failed.emit(failure)

    # The cursor

    def _cursor(self) -> int | None:
        """The token that both runs are looked at."""
        if self._beyond is not None and self._beyond[1] == self.selection:
            return self._beyond[0]
        return self.selection.token

    @Slot(object)
    def _select(self, wanted: Selection) -> None:
        """Select a token everywhere; one that only B has can be looked at here alone."""
        trace, token = self.trace, wanted.token
        only_b = trace is not None and token is not None and token >= len(trace.records)
        self._beyond = (token, self.selection) if only_b and token is not None else None
        if not only_b:
            self.selected.emit(wanted)
        self._mark()

    def _mark(self) -> None:
        """Bring cursor, words and moves in line with the selection."""
        aligned, token = self.pair.aligned, self._cursor()
        self.view.set_selection(replace(self.selection, token=token))
        told = (aligned, token, self.selection.layer)
        if told == self._told:  # a run that goes on asks at every frame
            return
        self._told = told
        self._enable(aligned, token)
        if aligned is None or token is None:
            self.view.sides.show_html("")
            return
        a, b = aligned.runs
        reasons = why(b, token, self.selection.layer) if token < aligned.counts[1] else ""
        self.view.sides.show_html(words.sides_html(token, (side(a, token), side(b, token)), reasons))

    def _enable(self, aligned: Aligned | None, token: int | None) -> None:
        """Offer the moves that lead somewhere."""
        commands = self.work.window.commands
        if aligned is None:
            for action in commands.some(COMPARE):
                explain(action, False, NOTHING_COMPARED)
            return
        explain(commands["swap_runs"], True, "")
        explain(commands["first_divergence"], aligned.found.first_divergence is not None, "both texts are the same")
        for name, forward in (("next_difference", True), ("previous_difference", False)):
            leads = aligned.next_difference(token, forward=forward) is not None
            explain(commands[name], leads, f"nothing differs {'after' if forward else 'before'} this token")

    @Slot()
    def go_to_divergence(self) -> None:
        """Select the token at which the texts part."""
        self._go(self.pair.aligned.found.first_divergence if self.pair.aligned is not None else None)

    @Slot()
    def go_to_next(self) -> None:
        """Select the next token that differs in text or exit layer."""
        self._go(self.pair.aligned.next_difference(self._cursor()) if self.pair.aligned is not None else None)

    @Slot()
    def go_to_previous(self) -> None:
        """Select the token before that differs in text or exit layer."""
        aligned = self.pair.aligned
        self._go(aligned.next_difference(self._cursor(), forward=False) if aligned is not None else None)

    def _go(self, token: int | None) -> None:
        if token is not None:
            self._select(Selection(token, self.selection.layer))
