"""Files that an export makes: whole or not at all, and told in a sentence where that fails."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from core.errors import UserError

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A file beside `path` to write to, which takes its place once it is whole, or vanishes if anything goes wrong.

    Raises:
        UserError: nothing can be written there; what was there is as it was.
    """
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        _refuse_folder(target)
        yield partial
        if target.exists():
            shutil.copymode(target, partial)
        _flush(partial)
        partial.replace(target)
    except OSError as error:
        told = "the disk is full" if error.errno in _FULL else error.strerror or str(error)
        raise UserError(f"{path} cannot be written ({told}); choose another place.") from error
    finally:
        with suppress(OSError):
            partial.unlink()


@contextmanager
def replaced_text(path: Path) -> Iterator[TextIO]:
    """The same, open for text; raises `UserError`."""
    with replaced(path) as partial, partial.open("x", encoding="utf-8", newline="\n") as lines:
        yield lines


def _refuse_folder(target: Path) -> None:
    if target.is_dir():
        raise UserError(f"{target} is a folder; give a file name.")


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
