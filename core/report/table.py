"""Tables for other programs: named columns with a meaning, rows of plain values, written as CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose rows may be made as they are read, once."""

    columns: tuple[str, ...]
    rows: Iterable[Row]

    def write(self, lines: TextIO) -> None:
        """Write it as CSV (RFC 4180 with line feeds): flags as 0 and 1, numbers with all their digits, and an empty
        cell for what is not known."""
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_cell(value) for value in row] for row in self.rows)


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return f"{value:.9g}"  # tells any two float32 apart
    return str(value)
