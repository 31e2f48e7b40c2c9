"""The runs of a session, wherever they lie: in memory, in the recovery file, in the file that was opened. No Qt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from app.guests import Guests
from app.recorder import Recorder
from core.analysis.forks import family_order
from core.errors import UserError
from core.trace.events import FloatArray, RunStarted
from core.trace.marks import Mark
from core.trace.reading import ReadableTrace
from core.trace.saving import MemoryRun, StoredRun
from core.trace.session_file import SessionFile
from core.trace.stored_trace import StoredTrace
from core.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class RunTitle:
    """One run as a menu names it."""

    number: int
    """0-based."""
    prompt: str
    tokens: int
    started: RunStarted | None = None
    """None where its file cannot be read."""


@dataclass(slots=True)
class _Entry:
    number: int
    trace: Trace | None = None
    """While it is in memory."""
    file: SessionFile | None = None
    """Where it was saved to, opened or recovered from."""
    stored: StoredTrace | None = None
    """Once it was read from a file."""
    saved: bool = False
    """Whether it is in the user's own file."""
    title: RunTitle | None = None
    """Of a run that has ended and left the memory, so that nobody reads its file for it."""


class Library:
    """What a session holds, what of it is saved, and where a run is to be had. Belongs to one thread."""

    def __init__(self, recorder: Recorder | None, on_damage: Callable[[UserError], None]) -> None:
        """`on_damage` is told of tokens of files that cannot be read."""
        self.path: Path | None = None
        """Where the session was opened from or saved to last."""
        self._left_as: tuple[int, ...] | None = None
        """By what that file would be known for the one that it was then."""
        self._recorder, self._on_damage = recorder, on_damage
        self.guests = Guests(on_damage)
        """Runs of other files that are looked at beside the session's own, numbered below zero."""
        self._entries: dict[int, _Entry] = {}
        self._marks: dict[tuple[int, int | None, int | None], Mark] = {}
        self._marks_saved = True
        self._files: list[SessionFile] = []

    @property
    def unsaved(self) -> list[int]:
        """Runs with tokens that are in no file of the user's."""
        return [entry.number for entry in self._entries.values() if not entry.saved and self._tokens(entry)]

    @property
    def is_unsaved(self) -> bool:
        """Whether something would be lost without the recovery file."""
        return bool(self.unsaved) or not self._marks_saved

    @property
    def is_overtaken(self) -> bool:
        """Whether somebody else has written the session's file since; saving would lose what they wrote."""
        now = _traits(self.path) if self.path is not None else None
        return now is not None and now != self._left_as

    @property
    def next_number(self) -> int:
        """What the next run is to be numbered."""
        return max(self._entries, default=-1) + 1

    @property
    def marks(self) -> list[Mark]:
        """Bookmarks and notes, in the order of runs and tokens."""
        return sorted(self._marks.values(), key=lambda mark: mark.to_row())

    def titles(self) -> list[RunTitle]:
        """All runs that began, in their order."""
        return [self._title(entry) for entry in self._entries.values()]

    def family(self) -> list[tuple[RunTitle, int]]:
        """All runs that began with how many origins each has above it, branches right after theirs."""
        titles = {title.number: title for title in self.titles()}
        origins = {number: _origin(title) for number, title in titles.items()}
        return [(titles[number], level) for number, level in family_order(origins)]

    def whereabouts(self, number: int) -> str:
        """Where a run is kept, in a word or two."""
        if number < 0:
            return "of another file"
        entry = self._entries.get(number)
        if entry is not None and entry.saved:
            return "saved"
        return "recorded" if entry is not None and self._place(entry) is not None else "not recorded"

    # Runs

    def begin(self, trace: Trace) -> None:
        """Take in a run that has just begun; those before it leave the memory where they can be read again."""
        assert trace.started is not None, "a run begins with its start"
        for entry in self._entries.values():
            if self._place(entry) is not None:
                entry.title = self._title(entry)
                entry.trace = None
        number = trace.started.run
        self._entries[number] = _Entry(number, trace)

    def trace(self, number: int) -> ReadableTrace:
        """A run's trace.

        Raises:
            UserError: it cannot be read.
        """
        if number < 0:
            return self.guests.trace(number)
        known = self.at_hand(number)
        if known is None:
            known = self.reader_of(number)()
            self.adopt(number, known)
        return known

    def at_hand(self, number: int) -> ReadableTrace | None:
        """A run's trace where it needs no reading."""
        if number < 0:
            return self.guests.at_hand(number)
        entry = self._entries.get(number)
        if entry is None:
            return None
        return entry.trace if entry.trace is not None else entry.stored

    def reader_of(self, number: int) -> Callable[[], StoredTrace]:
        """Reads a run's trace, or raises `UserError`; any thread may call it, and `adopt` takes in what it gives.

        Raises:
            UserError: its file cannot be read, or it is of a session that was left meanwhile.
        """
        if number < 0:
            return self.guests.reader_of(number)
        entry = self._entries.get(number)
        if entry is None:
            raise UserError(f"Run {number + 1} is not part of this session any more; choose another one.")
        return partial(self._file(entry).trace, number, self._on_damage)

    def adopt(self, number: int, trace: StoredTrace) -> None:
        """Keep a run's trace that was read."""
        if number < 0:
            self.guests.adopt(number, trace)
        elif (entry := self._entries.get(number)) is not None and entry.stored is None:
            entry.stored = trace

    def weights_of(self, number: int) -> Callable[[], Mapping[str, FloatArray] | None]:
        """Gives the arrays of the predictors that judged a run, None where no file has them; any thread may call it.

        Raises:
            UserError: the file cannot be read.
        """
        if number < 0:
            return self.guests.weights_of(number)
        entry = self._entries.get(number)
        if entry is None or self._place(entry) is None:
            return lambda: None
        return partial(self._file(entry).weights, number)

    def fill(self, file: SessionFile, traces: Iterable[StoredTrace] = (), *, saved: bool = True) -> None:
        """Take over all runs and marks of a file.

        Args:
            file: the library closes it in the end.
            traces: those of its runs that have been read already.
            saved: False for a recovery file.

        Raises:
            UserError: the marks are damaged.
        """
        self._files.append(file)
        for run in file.runs:
            self._entries[run.number] = _Entry(run.number, file=file, saved=saved)
        for trace in traces:
            self._entries[trace.info.number].stored = trace
        self._marks.update({(mark.run, mark.token, mark.layer): mark for mark in file.marks()})
        if saved:
            self.path, self._left_as = file.path, _traits(file.path)

    def clear(self) -> None:
        """Be a session without runs."""
        self._entries.clear()
        self._marks.clear()
        self._marks_saved = True
        self.path = None
        self.close()

    # Saving

    def to_save(self, less: Collection[int] = ()) -> tuple[list[StoredRun | MemoryRun], list[Mark]]:
        """Every run, from where it is best had, and all marks, but for the runs of the numbers in `less`.

        Raises:
            UserError: a file cannot be read any more.
        """
        runs = [self._to_save(entry) for entry in self._entries.values() if entry.number not in less]
        return runs, [mark for mark in self.marks if mark.run not in less]

    def saved_to(self, path: Path, running: int | None) -> None:
        """Everything is in this file now, but for what is still to come of the run `running`.

        Raises:
            UserError: the file cannot be read.
        """
        file = SessionFile(path)
        self._files.append(file)
        there = {run.number for run in file.runs}
        for entry in self._entries.values():
            if entry.number in there and entry.number != running:
                entry.file, entry.saved = file, True
                if entry.stored is not None:
                    entry.stored.move_to(file)
        self.path, self._left_as, self._marks_saved = path, _traits(path), True

    # Marks

    def put_mark(self, mark: Mark) -> None:
        """Set a mark, or change its note.

        Raises:
            UserError: it cannot be recorded, and is kept all the same; or the run is of another file, and nothing is.
        """
        if mark.run < 0:
            raise UserError("This run is of another file; open that one to keep bookmarks and notes in it.")
        self._marks[mark.run, mark.token, mark.layer] = mark
        self._marks_saved = False
        if self._recorder is not None:
            self._recorder.put_mark(mark)

    def remove_mark(self, mark: Mark) -> None:
        """Take a mark away; raises `UserError` as `put_mark` does."""
        self._marks.pop((mark.run, mark.token, mark.layer), None)
        self._marks_saved = False
        if self._recorder is not None:
            self._recorder.remove_mark(mark)

    def close(self) -> None:
        """Let go of all files."""
        for file in self._files:
            file.close()
        self._files.clear()
        self.guests.close()

    def _title(self, entry: _Entry) -> RunTitle:
        if entry.trace is not None and entry.trace.started is not None:
            started = entry.trace.started
            return RunTitle(entry.number, started.prompt, entry.trace.emitted_count, started)
        if entry.title is None:
            entry.title = self._title_in_file(entry)
        return entry.title

    def _title_in_file(self, entry: _Entry) -> RunTitle:
        with suppress(UserError):
            for run in self._file(entry).runs:
                if run.number == entry.number:
                    return RunTitle(entry.number, run.started.prompt, run.tokens, run.started)
        return RunTitle(entry.number, "", 0)

    def _tokens(self, entry: _Entry) -> int:
        return entry.trace.emitted_count if entry.trace is not None else self._title(entry).tokens

    def _place(self, entry: _Entry) -> Path | None:
        if entry.file is not None:
            return entry.file.path
        return self._recorder.file_of(entry.number) if self._recorder is not None else None

    def _file(self, entry: _Entry) -> SessionFile:
        """The file that has the run."""
        if entry.file is not None:
            return entry.file
        place = self._place(entry)
        if place is None:
            raise UserError(f"Run {entry.number + 1} was not recorded and cannot be shown again; run it anew.")
        known = next((file for file in self._files if file.path == place), None)
        if known is None:
            known = SessionFile(place)
            self._files.append(known)
        if not any(run.number == entry.number and run.complete for run in known.runs):
            known.refresh()
        return known

    def _to_save(self, entry: _Entry) -> StoredRun | MemoryRun:
        if entry.trace is not None and self._place(entry) is None:
            return MemoryRun(entry.trace)
        return StoredRun(self._file(entry), entry.number)


def newest_run(file: SessionFile, on_damage: Callable[[UserError], None]) -> StoredTrace | None:
    """The newest run of a file that has something to show; raises `UserError` where it cannot be read."""
    numbers = [run.number for run in file.runs if run.tokens or run.in_flight]
    return file.trace(numbers[-1], on_damage) if numbers else None


def _traits(path: Path) -> tuple[int, ...] | None:
    """By what a file is told from another one, or from itself once it is changed; None where it is gone."""
    with suppress(OSError):
        found = path.stat()
        return found.st_ino, found.st_mtime_ns, found.st_size
    return None


def _origin(title: RunTitle) -> int | None:
    """The number of the run that it branched off."""
    branch = title.started.branch if title.started else None
    return branch.origin if branch else None
