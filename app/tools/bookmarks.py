"""Bookmarks and notes of the session: set at the selection, found again from anywhere. The session file keeps them."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject, Signal, Slot

from app.session import Session
from app.session_files import SessionFiles
from core.trace.marks import Mark
from widgets.selection import Selection

LONGEST_NOTE = 2000
NO_TOKEN = "Select a token first; it can be bookmarked then."


class Bookmarks(QObject):
    """The marks of one session, whether their panel was ever shown or not."""

    said = Signal(str)
    """One sentence on what came of a move."""

    def __init__(self, session: Session, files: SessionFiles, parent: QObject) -> None:
        super().__init__(parent)
        self._session, self._files = session, files

    @property
    def all(self) -> list[Mark]:
        """In the order of runs and tokens."""
        return self._files.library.marks

    @property
    def run(self) -> int | None:
        """Number of the run on show."""
        trace = self._session.trace
        return trace.started.run if trace is not None and trace.started is not None else None

    def here(self) -> list[Mark]:
        """Those of tokens of the run on show."""
        return [mark for mark in self.all if mark.run == self.run and mark.token is not None]

    def tokens(self) -> list[int]:
        """The bookmarked tokens of the run on show, ascending."""
        return sorted({mark.token for mark in self.here() if mark.token is not None})

    @Slot()
    def toggle(self) -> None:
        """Mark the selected token, with its layer where one is chosen, or take that mark away."""
        run, chosen = self.run, self._session.selection
        if run is None or chosen.token is None:
            self.said.emit(NO_TOKEN)
            return
        known = next((one for one in self.here() if (one.token, one.layer) == (chosen.token, chosen.layer)), None)
        if known is None:
            mark = Mark(run, chosen.token, chosen.layer)
            self._files.put_mark(mark)
            if mark in self.all:  # it is refused for a run of another file
                self.said.emit(f"Bookmarked {place_words(chosen.token, chosen.layer)}; a note can stand beside it.")
        else:
            self._files.remove_mark(known)
            self.said.emit(f"No bookmark any more at {place_words(chosen.token, chosen.layer)}.")

    def note(self, mark: Mark, text: str) -> None:
        """Write beside a mark what the user wants to remember."""
        storable = text.encode("utf-8", errors="replace").decode()[:LONGEST_NOTE]
        if storable != mark.note:
            self._files.put_mark(replace(mark, note=storable))

    def remove(self, mark: Mark) -> None:
        """Take a mark away, its note too."""
        self._files.remove_mark(mark)

    def go_to(self, mark: Mark) -> None:
        """Select what was marked, on show or in another run of the session."""
        if mark.run != self.run:
            self._files.show_run(mark.run)
        if mark.run == self.run and mark.token is not None:
            self._session.select(Selection(mark.token, mark.layer))

    @Slot()
    def next(self) -> None:
        self._move(forward=True)

    @Slot()
    def previous(self) -> None:
        self._move(forward=False)

    def _move(self, *, forward: bool) -> None:
        tokens, at = self.tokens(), self._session.selection.token
        if at is None:
            at = -1 if forward else max(tokens, default=0) + 1
        beyond = [token for token in tokens if (token > at if forward else token < at)]
        if beyond:
            self._session.select(Selection(beyond[0] if forward else beyond[-1]))
        elif not tokens:
            self.said.emit("This run has no bookmark; Ctrl+B sets one at the selected token.")
        else:
            self.said.emit(f"No bookmark {'after' if forward else 'before'} token {at + 1}.")


def place_words(token: int, layer: int | None) -> str:
    """Where a mark stands, counted as on screen."""
    return f"token {token + 1}" + ("" if layer is None else f", layer {layer + 1}")
