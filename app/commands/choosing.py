"""Which run of a file is meant: runs are named by the numbers that the window gives them, which may have gaps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.errors import UserError

HELP = "the run's number as the window shows it, from 1 on"
LISTED = 8
"""Numbers that a sentence names one by one."""


def chosen(path: Path, numbers: Sequence[int], wanted: int | None, flag: str = "--run") -> int:
    """The place of one run in its file, from 0 on.

    Args:
        path: the file, for sentences.
        numbers: those of its runs, 0-based, in the order of the file. Where two are the same, as in events that were
            written one after the other into one file, runs are named by their places.
        wanted: a 1-based number; None for the only run.
        flag: how the command line asks for a run.

    Raises:
        UserError: there is no such run, or there are several and none was chosen.
    """
    names = [number + 1 for number in numbers]
    if len(set(names)) < len(names):
        names = list(range(1, len(names) + 1))
    if not names:
        raise UserError(f"{path} holds no run; record one first.")
    if wanted is None and len(names) > 1:
        raise UserError(f"{path} holds {len(names)} runs; choose one with {flag}: {_listed(names, 'or')}.")
    if wanted is not None and wanted not in names:
        raise UserError(f"{path} has no run {wanted}; it holds {_held(names)}.")
    return 0 if wanted is None else names.index(wanted)


def _held(names: Sequence[int]) -> str:
    return f"run {names[0]}" if len(names) == 1 else f"the runs {_listed(names, 'and')}"


def _listed(names: Sequence[int], word: str) -> str:
    if list(names) == list(range(names[0], names[-1] + 1)) and len(names) > 2:
        return f"{names[0]} to {names[-1]}"
    if len(names) > LISTED:
        return f"{', '.join(map(str, names[: LISTED - 1]))} … {names[-1]}"
    return f"{', '.join(map(str, names[:-1]))} {word} {names[-1]}"
