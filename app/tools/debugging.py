"""What a debugger's keys do in one window, whether their panels were ever shown or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from app.action_table import BREAKPOINTS, FIND, MARKS
from app.actions import explain
from app.named_keys import with_keys
from app.places import MARKS as MARKS_PANEL
from app.tools.bookmarks import Bookmarks
from app.tools.breakpoint_list import BreakpointList
from app.tools.breakpoint_moves import BreakpointMoves
from app.tools.finder import Finder

if TYPE_CHECKING:
    from app.workbench import Workbench

SAID_MS = 8000
"""How long the status bar says what came of a move."""


class Debugging(QObject):
    """Breakpoints, bookmarks and the search of one session, behind their actions."""

    def __init__(self, work: Workbench) -> None:
        super().__init__(work)
        self._work, session = work, work.session
        self.breakpoints = BreakpointList(work.window.preferences, session.watch, self)
        self.moves = BreakpointMoves(session, self.breakpoints, self)
        self.bookmarks = Bookmarks(session, work.files, self)
        self.finder = Finder(session, self)
        for part in (self.moves, self.bookmarks, self.finder):
            part.said.connect(self._say)
        self._connect()

    def enable(self) -> None:
        """Offer the actions: the window has come to life."""
        for action in self._work.window.commands.some((*BREAKPOINTS, *MARKS, *FIND)):
            explain(action, True, "")
        self._work.files.marked.connect(self._show_bookmarks)
        self._work.session.trace_changed.connect(self._show_bookmarks_again)
        self._show_bookmarks()

    def detail(self) -> str:
        """What the run is held for; "" where it is held for nothing."""
        return self.moves.detail()

    def close(self) -> None:
        self.moves.close()
        self.finder.close()

    def _connect(self) -> None:
        meanings = {
            "continue_to_break": self.moves.go_on,
            "reverse_to_break": self.moves.go_back,
            "next_interesting": self.moves.next_interesting,
            "previous_interesting": self.moves.previous_interesting,
            "toggle_break": self.moves.toggle_here,
            "toggle_mark": self.bookmarks.toggle,
            "next_mark": self.bookmarks.next,
            "previous_mark": self.bookmarks.previous,
            "find": self._find,
            "find_next": self._find_next,
            "find_previous": self._find_previous,
        }
        for name, do in meanings.items():
            self._work.window.commands[name].triggered.connect(do)
        self._work.window.desk.appearance.forgotten.connect(self.breakpoints.clear)

    @Slot()
    def _show_bookmarks(self) -> None:
        """Mark what is bookmarked in the token strip, whether the list was ever shown or not."""
        self._work.views.set_bookmarks(self.bookmarks.tokens())

    @Slot(int)
    def _show_bookmarks_again(self, first: int) -> None:
        if not first:  # perhaps another run
            self._show_bookmarks()

    @Slot()
    def _find(self) -> None:
        """Bring the search into sight, ready to be typed into."""
        from app.tools.marks import Marks

        panel, tool = self._work.window.panels[MARKS_PANEL.key], self._work.rack.tool(MARKS_PANEL)
        assert isinstance(tool, Marks), "places name tools"
        panel.show()
        panel.raise_()
        tool.view.show_find()

    @Slot()
    def _find_next(self) -> None:
        self.finder.next() if self.finder.asks else self._find()

    @Slot()
    def _find_previous(self) -> None:
        self.finder.previous() if self.finder.asks else self._find()

    @Slot(str)
    def _say(self, sentence: str) -> None:
        self._work.window.status.showMessage(with_keys(sentence), SAID_MS)
