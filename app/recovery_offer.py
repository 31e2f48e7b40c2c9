"""What a crash has left is offered at the next launch, one recording after the other, the newest first."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.chore import Chore
from app.failure import Failure
from app.recovery import Leftover, leftovers
from app.session_files import SessionFiles
from app.session_words import LEFTOVER_ANSWERS, leftover_question
from app.state_folder import recovery_folder


class RecoveryOffer(QObject):
    """Looks for recordings of processes that are gone, and asks what is to become of each."""

    def __init__(self, files: SessionFiles, most: int | None = None) -> None:
        """`most` is how many are kept; older ones are deleted. None keeps all."""
        super().__init__(files)
        self._files, self._most = files, most
        self._left: list[Leftover] = []
        self._chore: Chore | None = None

    def look(self) -> None:
        """Look now, without holding anything up."""
        self._chore = Chore(lambda: kept(leftovers(recovery_folder()), self._most), self)
        self._chore.over.connect(self._found)
        self._chore.start()

    @Slot()
    def close(self) -> None:
        """Leave what was not asked about for the next launch."""
        if self._chore is not None:
            self._chore.wait()
        for left in self._left:
            left.close()
        self._left = []

    @Slot(object)
    def _found(self, outcome: list[Leftover] | Failure) -> None:
        self._chore = None
        if not isinstance(outcome, Failure):
            self._left = outcome
            self._ask_next()

    def _ask_next(self) -> None:
        if self._left and self._files.dialog is None:
            self._files.ask(leftover_question(self._left[0]), LEFTOVER_ANSWERS, self._answered)

    def _answered(self, answer: str) -> None:
        if not self._left:
            return  # the window was closed over the question
        left = self._left.pop(0)
        if answer == "open":
            self._files.recover(left)
            self.close()  # the others wait for a session of their own
        elif answer == "discard":
            left.discard()
        else:
            left.close()
        self._ask_next()


def kept(found: list[Leftover], most: int | None) -> list[Leftover]:
    """The newest `most` of these, which come newest first; the others are deleted."""
    for left in found[most:] if most is not None else ():
        left.discard()
    return found[:most]
