"""What keeps the window's thread moving while others import, load and compute in the same interpreter."""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SWITCH_INTERVAL = 0.0001
"""Seconds after which Python's threads take turns; the default of 5 ms lets pure-Python stretches stall the window."""

HEAPS = 2
"""The window's own, and one for all other threads."""
_M_ARENA_MAX = -8
"""glibc's name for how many heaps there may be, from `malloc.h`."""


def take_short_turns() -> None:
    """Let no thread of Python's keep the others waiting for long."""
    sys.setswitchinterval(SWITCH_INTERVAL)


def share_heaps() -> None:
    """Let the threads besides the window's have one heap together, where glibc would give each its own.

    Each keeps what was freed at its end, up to tens of MiB, and only the first one gives it back when asked. To be
    called before there are threads; nothing happens where there is another C library, or where the user has chosen.
    """
    choose = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if choose is not None and "MALLOC_ARENA_MAX" not in os.environ:
        choose(_M_ARENA_MAX, HEAPS)


@contextmanager
def calm_collector() -> Iterator[None]:
    """Keep the garbage collector off while many objects are made that stay, and exempt them from it afterwards.

    A full collection over torch's and transformers' objects stalls every thread for more than 100 ms.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()


def load_library(package: str, library: str) -> bool:
    """Load a library of a package that is yet to be imported, without holding the interpreter.

    An import holds it while the system links a library and runs its initialisers, 250 ms in one piece for torch's
    largest; the import that follows finds them done. Called through ctypes, the system's loader lets other threads
    run. Where that is not possible nothing happens, and the import does it all as ever.

    Args:
        package: Name of an installed package.
        library: File in the package's folder `lib`.

    Returns:
        Whether the library is loaded now.
    """
    path = _library_path(package, library)
    loader = getattr(ctypes.CDLL(None), "dlopen", None) if sys.platform == "linux" else None
    if path is None or loader is None:
        return False
    loader.argtypes, loader.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_void_p
    return bool(loader(os.fsencode(path), os.RTLD_NOW | os.RTLD_LOCAL))


def _library_path(package: str, library: str) -> Path | None:
    found = None if package in sys.modules else importlib.util.find_spec(package)
    path = Path(found.origin).with_name("lib") / library if found and found.origin else None
    return path if path and path.is_file() else None
