"""Everything that says something went wrong: exceptions in slots and threads, warnings, and what Qt complains of."""

from __future__ import annotations

import re
import sys
import threading
import traceback
import warnings
from types import TracebackType
from typing import Any

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

QUIET = re.compile(r"This plugin does not support")
"""Said by the screenless platform of every window that is shown, whatever the window does."""
HARMLESS = {QtMsgType.QtDebugMsg, QtMsgType.QtInfoMsg}


class Fault(Exception):
    """What the window did wrong."""


class Faults:
    """Collects what goes wrong in the whole process, until `raise_any` is called."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def listen(self) -> None:
        """From now on hear of every fault; nothing puts the hooks back."""
        sys.excepthook = self._take_exception
        threading.excepthook = lambda given: self._take(f"in a thread: {shown(given.exc_value)}")
        sys.unraisablehook = lambda given: self._take(f"unraisable: {shown(given.exc_value)} in {given.object!r:.200}")
        qInstallMessageHandler(self._take_message)
        warnings.simplefilter("error")

    def note(self, text: str) -> None:
        """Another fault."""
        self._found.append(text)

    def raise_any(self) -> None:
        """Raises `Fault` with all that was heard since the last time."""
        found, self._found = self._found, []
        if found:
            raise Fault("\n".join(found))

    def _take(self, text: str) -> None:
        self._found.append(text)

    def _take_exception(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        self._take("".join(traceback.format_exception(kind, error, trace)))

    def _take_message(self, kind: QtMsgType, _: QMessageLogContext, text: str) -> None:
        if kind not in HARMLESS and not QUIET.search(text):
            self._take(f"Qt: {text}\n{''.join(traceback.format_stack(limit=12))}")


def shown(error: Any) -> str:
    """An exception with its traceback."""
    return "".join(traceback.format_exception(error)) if error is not None else "?"
