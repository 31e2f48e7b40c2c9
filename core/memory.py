"""A lack of memory in words: how much was asked for, and how much is free. Torch-free."""

from __future__ import annotations

import re

_ASKED = re.compile(r"allocate ([\d.]+) ?(bytes|[KMGT]i?B)", re.IGNORECASE)
_FREE = re.compile(r"of which ([\d.]+) ?(bytes|[KMGT]i?B) is free", re.IGNORECASE)
_UNITS = {"b": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SIGNS = ("out of memory", "can't allocate memory", "cannot allocate memory", "not enough memory")
_ACCELERATORS = ("cuda", "mps", "hip")


def is_shortage(error: BaseException) -> bool:
    """Whether memory has run out; torch tells of the CPU's only by the text of a RuntimeError."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError | OSError) and any(sign in text for sign in _SIGNS)
    )


def shortage(error: BaseException) -> str:
    """What a lack of memory was about: "; 3.0 GiB more were needed at once, and 1.2 GiB are free", or less of it."""
    text = str(error)
    asked, free = _amount(_ASKED, text), _amount(_FREE, text)
    if free is None and not any(name in text.lower() for name in _ACCELERATORS):
        free = free_bytes()
    parts = [] if asked is None else [f"{readable(asked)} more were needed at once"]
    parts += [] if free is None else [f"{readable(free)} are free"]
    return f"; {', and '.join(parts)}" if parts else ""


def free_bytes() -> int | None:
    """The main memory that a program can still get, swap included; None where the system does not tell."""
    import psutil

    try:
        return int(psutil.virtual_memory().available + psutil.swap_memory().free)
    except (OSError, RuntimeError):
        return None


def readable(size: float) -> str:
    """A number of bytes, rounded, with its unit."""
    for name in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {name}"
        size /= 1024
    return f"{size:.1f} GiB"


def _amount(pattern: re.Pattern[str], text: str) -> float | None:
    found = pattern.search(text)
    return None if found is None else float(found[1].rstrip(".")) * 1024 ** _UNITS[found[2][0].lower()]
