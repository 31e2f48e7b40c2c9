"""A run of a session file as rows, which another file can take over without looking into them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.errors import UserError
from core.trace.database import RUN_PLACES

if TYPE_CHECKING:
    from core.trace.session_file import SessionFile

PORTION = 1000
"""Tokens read at once: a few megabytes."""
_COLUMNS = ("run", "uid", "began", "layout", "predictors", "started", "prefill", "ended", "in_flight")


@dataclass(frozen=True, slots=True)
class RawRun:
    """What a file says of one run, by table and column."""

    row: dict[str, Any]
    """Of the table of runs; its references into other tables are the file's own."""
    layout: dict[str, Any]
    weights: dict[str, Any]
    """Empty where the run has none."""
    _file: SessionFile
    _number: int

    @classmethod
    def of(cls, file: SessionFile, number: int) -> RawRun:
        """The run of this number.

        Raises:
            UserError: it cannot be read.
        """
        rows = file.rows(f"SELECT {', '.join(_COLUMNS)} FROM runs WHERE run = ?", (number,))
        if not rows:
            raise UserError(f"{file.path} has no run of the number {number}; open it again.")
        row = dict(zip(_COLUMNS, rows[0], strict=True))
        kinds = file.rows("SELECT kinds FROM layouts WHERE layout = ?", (row["layout"],))
        weights = file.rows("SELECT digest, arrays FROM predictors WHERE number = ?", (row["predictors"],))
        return cls(
            row=row,
            layout={"kinds": kinds[0][0] if kinds else ""},
            weights=dict(zip(("digest", "arrays"), weights[0], strict=True)) if weights else {},
            _file=file,
            _number=number,
        )

    def parts(self) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
        """The rows of the run in other tables, some at a time: the table's name and a list that is not empty."""
        for first in range(0, RUN_PLACES, PORTION):
            place = self._number * RUN_PLACES + first
            query = "SELECT * FROM stretches WHERE place >= ? AND place < ?"
            rows = self._file.rows(query, (place, place + PORTION))
            if not rows:
                return
            yield "stretches", rows
            query = "SELECT * FROM tokens WHERE run = ? AND token >= ? AND token < ?"
            tokens = self._file.rows(query, (self._number, first, first + PORTION))
            if tokens:
                yield "tokens", tokens
