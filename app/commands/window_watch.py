"""What the machine itself does to a 16 ms timer: one in a process that does nothing else, run beside the window.

Gaps that it sees too are none of the window's. The file is run on its own, without site-packages, so it needs little.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from time import perf_counter

TICK_S = 0.016
_TELL = b"tell"
_TIMES = Path("/proc/stat")
_STOLEN = 7
"""Place of the time that others had, among the times there; those after it are counted in earlier ones, too."""


class Watch:
    """The process, from now until it is taken from; it ends by itself with the one that began it."""

    def __init__(self) -> None:
        self._before = _processor_times()
        command = [sys.executable, "-I", "-S", __file__]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def take(self) -> tuple[list[float], float | None]:
        """End it; its gaps in milliseconds, and the share of all processors' time that others had meanwhile.

        The share (0…1) is what a virtual machine's host counts; None where the system does not tell.
        """
        out, _ = self._process.communicate(_TELL)
        after = _processor_times()
        if not self._before or not after:
            return json.loads(out), None
        passed = [late - early for early, late in zip(self._before, after, strict=True)]
        return json.loads(out), passed[_STOLEN] / max(1, sum(passed))


def _processor_times() -> list[int]:
    """All processors' times by what they were used for, in the system's ticks; empty where there is no such file."""
    try:
        first = _TIMES.read_text(encoding="ascii").splitlines()[0]
    except OSError:
        return []
    return [int(ticks) for ticks in first.split()[1 : _STOLEN + 2]]


def _await_end(ended: threading.Event) -> None:
    if sys.stdin.buffer.read() != _TELL:
        os._exit(0)  # the one that began it has ended without a question
    ended.set()


def main() -> None:
    """Measure as `GapMeter` does until it is asked, and print the gaps in milliseconds."""
    ended = threading.Event()
    threading.Thread(target=_await_end, args=(ended,), daemon=True).start()
    gaps: list[float] = []
    last = perf_counter()
    due = last + TICK_S
    while not ended.wait(max(0.0, due - perf_counter())):
        now = perf_counter()
        gaps.append((now - last) * 1000)
        last, due = now, due + TICK_S
        if due < now:  # as Qt's timers do
            due = now + TICK_S
    gaps.append((perf_counter() - last) * 1000)
    print(json.dumps(gaps))


if __name__ == "__main__":
    main()
