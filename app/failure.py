"""What went wrong, put so that a dialog can show it."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from core.errors import UserError
from core.memory import is_shortage, shortage


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
    if is_shortage(error):
        return Failure(
            f"There is not enough memory{shortage(error)}. Close other programs, choose a smaller number format "
            "(dtype) or model, or shorten the prompt.",
            details,
            True,
        )
    return Failure(
        f"Something went wrong inside the engine ({type(error).__name__}). What was recorded so far is kept, and you "
        "can run again; the details below help whoever fixes it.",
        details,
        False,
    )
