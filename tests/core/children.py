"""Work in a process of its own, for tests that take rights away from it or kill it."""

from __future__ import annotations

import os
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NOBODY = 65534


def in_child(work: Callable[[], str]) -> str:
    """What `work` returns, or the text of what it raises, from a fork of this process; at most 4 kB."""
    reads, writes = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, which the child never uses
        child = os.fork()
    if child == 0:
        with suppress(BaseException):
            os.write(writes, _outcome(work).encode()[:4096])
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as answer:
        told = answer.read().decode()
    os.waitpid(child, 0)
    return told


def _outcome(work: Callable[[], str]) -> str:
    try:
        return work()
    except BaseException as error:
        return f"{type(error).__name__}: {error}"


def as_nobody(work: Callable[[], str]) -> Callable[[], str]:
    """The work without the rights of a superuser, who may write everywhere."""

    def unprivileged() -> str:
        if os.getuid() == 0:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        return work()

    return unprivileged


def with_small_files(work: Callable[[], str], largest: int) -> Callable[[], str]:
    """The work where no file may grow beyond so many bytes: writing fails as on a full disk."""

    def limited() -> str:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
        return work()

    return limited


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that everybody may look into, unlike pytest's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)
