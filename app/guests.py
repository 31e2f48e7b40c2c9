"""Runs of other session files, looked at beside the session's own: read, shown and compared, never taken over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from core.errors import UserError
from core.trace.events import FloatArray
from core.trace.session_file import RunInfo, SessionFile
from core.trace.stored_trace import StoredTrace

FIRST = -2
"""The number of the first guest; they count down, so that nothing takes one for a run of the session."""


class Guests:
    """Belongs to one thread, but for what it says of others. Close it in the end."""

    def __init__(self, on_damage: Callable[[UserError], None]) -> None:
        """`on_damage` is told of tokens that cannot be read."""
        self._on_damage = on_damage
        self._files: list[SessionFile] = []
        self._runs: dict[int, tuple[SessionFile, RunInfo]] = {}
        self._traces: dict[int, StoredTrace] = {}
        self._next = FIRST

    @property
    def runs(self) -> dict[int, RunInfo]:
        """What there is, by the numbers that it goes by here."""
        return {number: run for number, (_, run) in self._runs.items()}

    @property
    def open_files(self) -> int:
        """How many files are held open."""
        return len(self._files)

    def open(self, path: Path) -> SessionFile:
        """Open a file; any thread may call it, and `welcome` takes in its runs.

        Raises:
            UserError: it cannot be read, or holds no run.
        """
        file = SessionFile(path)
        self._files.append(file)  # at once, so that it is closed whatever becomes of the rest
        if not any(run.tokens for run in file.runs):
            self._close(file)
            raise UserError(f"{path} holds no run; record one first.")
        return file

    def welcome(self, file: SessionFile, keep: Iterable[int] = ()) -> list[int]:
        """Number the runs of a file that is open now, and close all others but those of the runs `keep`."""
        numbers = []
        for run in (run for run in file.runs if run.tokens):
            self._runs[self._next] = (file, run)
            numbers.append(self._next)
            self._next -= 1
        kept = {id(self._runs[number][0]) for number in (*numbers, *keep) if number in self._runs}
        for other in [one for one in self._files if id(one) not in kept]:
            self._close(other)
        return numbers

    def path_of(self, number: int) -> Path:
        """The file that a guest lies in."""
        return self._runs[number][0].path

    def at_hand(self, number: int) -> StoredTrace | None:
        """A guest's trace, once it was read."""
        return self._traces.get(number)

    def reader_of(self, number: int) -> Callable[[], StoredTrace]:
        """Reads a guest's trace, or raises `UserError`; any thread may call it, and `adopt` takes in what it gives."""
        file, run = self._runs[number]
        return partial(self._read, file, run, number)

    def adopt(self, number: int, trace: StoredTrace) -> None:
        """Keep a guest's trace that was read."""
        self._traces.setdefault(number, trace)

    def trace(self, number: int) -> StoredTrace:
        """A guest's trace, read if need be.

        Raises:
            UserError: it cannot be read, or its file was closed.
        """
        if number not in self._traces:
            if number not in self._runs:
                raise UserError("The file of that run is closed; open it again to see it.")
            self._traces[number] = self.reader_of(number)()
        return self._traces[number]

    def weights_of(self, number: int) -> Callable[[], Mapping[str, FloatArray] | None]:
        """Gives the arrays of the predictors that judged a guest, None where its file has none; in any thread."""
        if number not in self._runs:
            return lambda: None
        file, run = self._runs[number]
        return partial(file.weights, run.number)

    def close(self) -> None:
        """Let go of all files and their runs."""
        for file in list(self._files):
            self._close(file)

    def _read(self, file: SessionFile, run: RunInfo, number: int) -> StoredTrace:
        trace = file.trace(run.number, self._on_damage)
        trace.started = replace(run.started, run=number)
        return trace

    def _close(self, file: SessionFile) -> None:
        file.close()
        self._files.remove(file)
        for number in [number for number, (other, _) in self._runs.items() if other is file]:
            del self._runs[number]
            self._traces.pop(number, None)
