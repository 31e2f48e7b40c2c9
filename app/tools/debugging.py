"""What a debugger's keys do in one window, whether their panels were ever shown or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from app.actions import BREAKPOINTS, explain
from app.tools.breakpoint_list import BreakpointList
from app.tools.breakpoint_moves import BreakpointMoves

if TYPE_CHECKING:
    from app.main_window import MainWindow
    from app.session import Session

SAID_MS = 8000
"""How long the status bar says what came of a move."""


class Debugging(QObject):
    """Breakpoints of one session, behind their actions."""

    def __init__(self, session: Session, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.breakpoints = BreakpointList(window.preferences, session.watch, self)
        self.moves = BreakpointMoves(session, self.breakpoints, self)
        self.moves.said.connect(self._say)
        commands = window.commands
        commands["continue_to_break"].triggered.connect(self.moves.go_on)
        commands["reverse_to_break"].triggered.connect(self.moves.go_back)
        commands["next_interesting"].triggered.connect(self.moves.next_interesting)
        commands["previous_interesting"].triggered.connect(self.moves.previous_interesting)
        commands["toggle_break"].triggered.connect(self.moves.toggle_here)

    def enable(self) -> None:
        """Offer the actions: the window has come to life."""
        for action in self._window.commands.some(BREAKPOINTS):
            explain(action, True, "")

    def detail(self) -> str:
        """What the run is held for; "" where it is held for nothing."""
        return self.moves.detail()

    def close(self) -> None:
        self.moves.close()

    @Slot(str)
    def _say(self, sentence: str) -> None:
        self._window.status.showMessage(sentence, SAID_MS)
