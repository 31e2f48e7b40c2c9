"""The terminal as the commands see it: streams that never break on a character, progress, and Ctrl-C."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from core.progress import Progress, Report

_REDRAW_SECONDS = 0.1


def prepare_streams() -> None:
    """Let a console or pipe that is not UTF-8 show `?` for what it cannot, instead of raising."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")


def flush() -> None:
    """Write out what is buffered, so that a reader who left is noticed while it can still be handled."""
    if sys.stdout is not None:
        sys.stdout.flush()


def complain(error: Exception) -> None:
    """Tell what went wrong."""
    note(str(error))


def note(sentence: str) -> None:
    """A sentence for the user that is not the command's result: one line on stderr, whatever a name in it holds."""
    print(" ".join(sentence.split()), file=sys.stderr, flush=True)


def discard_output() -> None:
    """Point stdout at nothing: its reader is gone, and the interpreter would complain when it flushes at the end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


@contextmanager
def progress() -> Iterator[Report]:
    """A `Report` for long work: one line that redraws itself, wiped at the end.

    Where stderr is no terminal, only a download that has begun says one line, so that a failure stays one sentence.
    """
    line: _TerminalLine | _DownloadNote = _TerminalLine() if sys.stderr.isatty() else _DownloadNote()
    try:
        yield line.report
    finally:
        line.close()


class _TerminalLine:
    def __init__(self) -> None:
        self._message = ""
        self._drawn_at = 0.0

    def report(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.message == self._message and now - self._drawn_at < _REDRAW_SECONDS:
            return
        self._message, self._drawn_at = progress.message, now
        sys.stderr.write(f"\r\x1b[K{progress.message}{amount(progress)} …")
        sys.stderr.flush()

    def close(self) -> None:
        if self._message:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class _DownloadNote:
    def __init__(self) -> None:
        self._told = ""

    def report(self, progress: Progress) -> None:
        if progress.unit == "bytes" and progress.done > 0 and progress.message != self._told:
            self._told = progress.message
            note(f"{progress.message} …")

    def close(self) -> None:
        """Nothing to wipe: what was told stays."""


def amount(progress: Progress) -> str:
    """How far, in the unit's own words: ` 41 of 93 MB`; empty where nothing is counted."""
    if not progress.total:
        return ""
    if progress.unit == "bytes":
        return f" {progress.done / 1e6:.0f} of {progress.total / 1e6:.0f} MB"
    return f" {progress.done} of {progress.total} {progress.unit}".rstrip()


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets; a second one interrupts at once."""
    stop = threading.Event()

    def on_interrupt(_signal: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    previous = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, previous)
