"""What went wrong, put so that a dialog can show it."""

from __future__ import annotations

import errno
import traceback
from dataclasses import dataclass

from core.errors import UserError
from core.memory import is_shortage, shortage

LONGEST_PATH = 120
"""Characters."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_CLOSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP})
"""Why the system refuses a path that the user, or the user's environment, has named."""
_NO_HOME = "Could not determine home directory."
"""All that `Path.expanduser` says of a `~name` that it does not know."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception as the user meets it."""

    sentence: str
    """One or two plain sentences: what is wrong, then what to do."""
    details: str
    """The traceback for a bug report; "" where the user can put it right without one."""
    user_error: bool
    """Whether the user can put it right."""


def describe(error: BaseException) -> Failure:
    """The failure that `error` is to the user. Keeps no reference to the error, whose frames may hold a model."""
    if isinstance(error, UserError):
        return Failure(str(error), "", True)
    if refused := _refused_path(error):
        return Failure(refused, "", True)
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


def _refused_path(error: BaseException) -> str:
    """What the system has against a path, in a sentence; "" where that is not what happened."""
    if isinstance(error, RuntimeError) and str(error) == _NO_HOME:
        return "A path begins with ~ and the name of no user of this machine; write it in full."
    if not isinstance(error, OSError):
        return ""
    if error.errno in _FULL:
        return "The disk is full; free some space and try again."
    if error.errno in _CLOSED and error.filename is not None:
        return f"{_short(str(error.filename))} cannot be used ({error.strerror}); check the path and its permissions."
    return ""


def _short(path: str) -> str:
    """A path with its middle left out where it would be most of the sentence."""
    return path if len(path) <= LONGEST_PATH else f"{path[: LONGEST_PATH // 2]}…{path[-LONGEST_PATH // 2 + 1 :]}"
