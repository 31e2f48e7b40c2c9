"""What went wrong, put so that a dialog can show it."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass

from core.errors import UserError

_AMOUNT = re.compile(r"allocate ([\d.]+) ?(bytes|[KMGT]i?B)", re.IGNORECASE)
_UNITS = {"b": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_MEMORY_SIGNS = ("out of memory", "can't allocate memory", "not enough memory")


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception as the user meets it."""

    sentence: str
    """One or two plain sentences: what is wrong, then what to do."""
    details: str
    """The traceback for a bug report; "" where the user can put it right without one."""
    user_error: bool
    """Whether the user can put it right."""


def describe(error: Exception) -> Failure:
    """The failure that `error` is to the user. Keeps no reference to the error, whose frames may hold a model."""
    if isinstance(error, UserError):
        return Failure(str(error), "", True)
    details = "".join(traceback.format_exception(error))
    if _is_memory(error):
        return Failure(_memory_sentence(str(error)), details, True)
    return Failure(
        f"Something went wrong inside the engine ({type(error).__name__}). What was recorded so far is kept, and you "
        "can run again; the details below help whoever fixes it.",
        details,
        False,
    )


def _is_memory(error: Exception) -> bool:
    # torch tells of memory on the CPU only by the text of a RuntimeError, and this module must not import torch.
    text = str(error).lower()
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(sign in text for sign in _MEMORY_SIGNS)
    )


def _memory_sentence(text: str) -> str:
    amount = _AMOUNT.search(text)
    wanted = f"; {_readable(amount[1], amount[2])} more were needed at once" if amount else ""
    return (
        f"There is not enough memory{wanted}. Close other programs, choose a smaller number format (dtype) or model, "
        "or shorten the prompt."
    )


def _readable(number: str, unit: str) -> str:
    size = float(number) * 1024 ** _UNITS[unit[0].lower()]
    for name in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {name}"
        size /= 1024
    return f"{size:.1f} GiB"
