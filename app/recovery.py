"""The recovery files: where every run of every window is recorded, and what a crash has left there. No Qt.

One file a process, locked while the process lives, so that several windows never touch each other's. Whatever file
nobody holds was left by a process that ended before it could take it away.
"""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import UserError
from core.trace import database
from core.trace.session_file import SessionFile

if TYPE_CHECKING:
    from filelock import FileLock

SUFFIX = ".specee"
_LOCK = ".lock"


@dataclass
class RecoveryFile:
    """A recovery file that this process holds: no other process looks at it."""

    path: Path
    _lock: FileLock

    @classmethod
    def new(cls, folder: Path) -> RecoveryFile:
        """Reserve a name for a file that is yet to be made.

        Raises:
            UserError: the folder cannot be written.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Never a name that was there before: who still reads a file that is gone would take the new one for it.
            stamp, unique = datetime.now().strftime("%Y%m%d-%H%M%S"), uuid.uuid4().hex
            held = cls.hold(folder / f"{stamp}-{unique}{SUFFIX}")
        except OSError as error:
            raise UserError(
                f"Runs cannot be recorded in {folder} ({error.strerror or error}); make room there, and save what you "
                "want to keep."
            ) from error
        assert held is not None, "nobody else knows the name"
        return held

    @classmethod
    def hold(cls, path: Path) -> RecoveryFile | None:
        """The file, if no other process holds it."""
        from filelock import FileLock, Timeout

        lock = FileLock(f"{path}{_LOCK}", thread_local=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return None
        return cls(path, lock)

    def remove(self) -> None:
        """Take the file away for good."""
        database.remove(self.path)
        self._let_go(gone=True)

    def release(self) -> None:
        """Leave the file for a later launch to find."""
        self._let_go(gone=False)

    def _let_go(self, gone: bool) -> None:
        # While it is held: a process that waits for the same file would hold a lock that nobody sees any more.
        if gone and os.name == "posix":
            Path(f"{self.path}{_LOCK}").unlink(missing_ok=True)
        self._lock.release()


@dataclass(frozen=True)
class Leftover:
    """A recovery file that a crash has left, and what is in it."""

    held: RecoveryFile
    file: SessionFile

    @property
    def runs(self) -> int:
        return len(self.file.runs)

    @property
    def tokens(self) -> int:
        return sum(run.tokens for run in self.file.runs)

    @property
    def origin(self) -> Path | None:
        """The session that was open when it was recorded, if any."""
        name = self.file.fact(ORIGIN)
        return Path(name) if name else None

    def close(self) -> None:
        """Leave it for a later launch."""
        self.file.close()
        self.held.release()

    def discard(self) -> None:
        """Take it away for good."""
        self.file.close()
        self.held.remove()


ORIGIN = "recorded beside"
"""Under what a recovery file notes the session that was open."""


def leftovers(folder: Path) -> list[Leftover]:
    """What earlier processes have left, newest first, held by this one. Files without a token are taken away."""
    found = []
    for path in sorted(folder.glob(f"*{SUFFIX}"), reverse=True):
        with suppress(OSError):
            held = RecoveryFile.hold(path)
            if held is not None and (leftover := _opened(held)) is not None:
                found.append(leftover)
    return found


def _holds_something(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _opened(held: RecoveryFile) -> Leftover | None:
    try:
        file = SessionFile(held.path)
    except UserError:  # damaged, or of a newer program: it may be of use to somebody
        held.release() if _holds_something(held.path) else held.remove()
        return None
    leftover = Leftover(held, file)
    if leftover.tokens or file.marks():
        return leftover
    leftover.discard()
    return None
