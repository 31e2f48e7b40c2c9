"""Waiting for the real window to come to a state, for the scripts that picture it."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, QEventLoop

SECONDS = 120.0


def wait_until(condition: Callable[[], bool], state: Callable[[], object]) -> None:
    """Let the window live until the condition holds.

    Args:
        condition: asked again after every few events.
        state: says where the window is, for the error.

    Raises:
        TimeoutError: it takes too long.
    """
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the window stayed {state()}")
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents, 20)
