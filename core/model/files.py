"""File work that the store's parts share: hashing, disk errors as sentences, a lock between processes."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

from core.errors import UserError
from core.progress import Progress, Report, check

CHUNK = 1 << 20
LOCK_POLL_SECONDS = 0.1
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
NO_ACCESS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST)
CACHE_VARIABLE = "SPECEE_VIEWER_CACHE"
"""Environment variable that names another cache folder."""


def sha256(path: Path, cancel: threading.Event | None) -> str:
    """Hex digest of a file.

    Raises:
        Cancelled: `cancel` was set.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(CHUNK):
            check(cancel)
            digest.update(data)
    return digest.hexdigest()


def require_space(folder: Path, needed: int) -> None:
    """Refuse before starting what cannot fit.

    Raises:
        UserError: fewer than `needed` bytes are free.
    """
    if shutil.disk_usage(folder).free < needed:
        raise disk_full(folder, needed)


def disk_full(folder: Path, needed: int = 0) -> UserError:
    """The sentence for a full disk."""
    amount = f"{needed / 1e6:.0f} MB" if needed else "space"
    return UserError(
        f"The disk that holds {folder} is full; free {amount} there, or set {CACHE_VARIABLE} to a folder on another "
        "disk."
    )


@contextlib.contextmanager
def disk_errors_explained(folder: Path) -> Iterator[None]:
    """Turn a full or forbidden disk under `folder` into a `UserError`; other errors pass."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_SPACE:
            raise disk_full(folder) from error
        if error.errno in NO_ACCESS:
            raise UserError(
                f"{folder} cannot be written to; change its permissions, or set {CACHE_VARIABLE} to another folder."
            ) from error
        raise


@contextlib.contextmanager
def locked(path: Path, what: str, report: Report, cancel: threading.Event | None) -> Iterator[None]:
    """Hold a lock that other processes respect; while another holds it, say so and wait.

    Raises:
        Cancelled: `cancel` was set while waiting.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    while True:
        try:
            lock.acquire(timeout=LOCK_POLL_SECONDS)
            break
        except Timeout:
            check(cancel)
            report(Progress(f"Another specee-viewer is fetching {what}; waiting for it"))
    try:
        yield
    finally:
        lock.release()
