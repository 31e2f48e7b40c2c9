"""Bookmarks and notes, which a session file keeps beside its runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_NONE = -1
"""Stands for no token or no layer in a file."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place that the user wants to find again, with a note that may be empty."""

    run: int
    token: int | None = None
    """0-based generated token; None marks the run as a whole."""
    layer: int | None = None
    """0-based; None marks the whole token."""
    note: str = ""

    def to_row(self) -> tuple[Any, ...]:
        """Run, token, layer and note as a session file has them."""
        token = _NONE if self.token is None else self.token
        layer = _NONE if self.layer is None else self.layer
        return self.run, token, layer, self.note

    @classmethod
    def of_row(cls, row: tuple[Any, ...]) -> Mark:
        """The mark that `to_row` gave; raises ValueError where that is none."""
        if [type(value) for value in row] != [int, int, int, str] or min(row[1:3]) < _NONE:
            raise ValueError("a bookmark in it is none")
        run, token, layer, note = row
        return cls(run, None if token == _NONE else token, None if layer == _NONE else layer, note)
