"""Long work in a process of its own, so that it can be cancelled at once and leaves no memory behind."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from core.errors import UserError
from core.progress import Progress, Report, check

POLL_SECONDS = 0.1

OUT_OF_MEMORY_CODES = (-int(getattr(signal, "SIGKILL", 9)), 137)
"""How a child ends that the system killed for want of memory."""


def run_watched(
    command: Sequence[str],
    *,
    watch: Path,
    message: str,
    total: int,
    report: Report,
    cancel: threading.Event | None,
    environment: Mapping[str, str] | None = None,
) -> tuple[int, str]:
    """Run `command` and report how many bytes have gathered in the folder `watch`, out of `total` (0: not known).

    Returns its exit status and all that it printed.

    Raises:
        Cancelled: `cancel` was set; the child and its own children have ended.
        UserError: the command cannot be started.
    """
    with tempfile.TemporaryFile() as output:
        process = _start(command, {**os.environ, **(environment or {})}, output)
        try:
            while not _ended(process):
                check(cancel)
                report(_progress(message, watch, total))
        finally:
            _end(process)
        output.seek(0)
        return process.returncode, output.read().decode("utf-8", "replace")


def _progress(message: str, watch: Path, total: int) -> Progress:
    """Bytes only where their sum is known: a lone growing number says nothing."""
    return Progress(message, min(folder_bytes(watch), total), total, "bytes") if total else Progress(message)


def folder_bytes(folder: Path) -> int:
    """The size of all files below `folder`; files that vanish meanwhile count nothing."""
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(base) / name).stat().st_size
            except OSError:
                continue
    return total


def _start(command: Sequence[str], environment: Mapping[str, str], output: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            list(command),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise UserError(f"{command[0]} cannot be started ({error.strerror}); reinstall specee-viewer.") from error


def _ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what still runs; a session of its own lets us reach the child's children too."""
    if process.poll() is not None:
        return
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
