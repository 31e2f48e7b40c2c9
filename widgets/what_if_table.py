"""The tokens whose decision a what-if changes, one row each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from core.analysis.what_if_changes import Change, Comparison, doubt_words
from widgets.rows_table import Column, Row, RowsTable
from widgets.selection import Selection

COLUMNS = (
    Column("Token", "Which token, counted from 1", 5, number=True),
    Column("Exit layer", "Recorded → what-if; ▨ an estimate; ≥ where the recording does not tell", 10, number=True),
    Column("Reason", "What brings the change", 24),
    Column("In doubt", "Why a run may decide otherwise although nothing changed before", 8),
    Column("Text", "What the recorded run emitted", 10),
    Column("Sure", "How far it can be trusted", 8),
)


class WhatIfTable(RowsTable):
    """Its rows select their tokens."""

    selected = Signal(object)
    """A `Selection` that the user asks for."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Changed decisions", COLUMNS, parent)
        self._compared: Comparison | None = None
        self.chosen.connect(self._choose)

    def show_comparison(self, compared: Comparison | None, text_of: Callable[[int], str]) -> None:
        """List what changes; `text_of` gives a 0-based token's visible text."""
        self._compared = compared
        changes: Sequence[Change] = compared.changes if compared else ()
        self.set_rows(len(changes), lambda at: _row(changes[at], text_of))

    def set_selection(self, selection: Selection) -> None:
        """Mark the selected token's row; emits nothing."""
        self.mark(self._row_of(selection.token))

    def _row_of(self, token: int | None) -> int | None:
        if self._compared is None or token is None:
            return None
        tokens = self._compared.changes.tokens
        row = int(np.searchsorted(tokens, token))
        return row if row < len(tokens) and tokens[row] == token else None

    def _choose(self, row: int) -> None:
        assert self._compared is not None, "no rows without a comparison"
        change = self._compared.changes[row]
        self.selected.emit(Selection(change.token, min(change.recorded, change.asked) - 1))


def _row(change: Change, text_of: Callable[[int], str]) -> Row:
    return row_of(change, text_of(change.token))


def row_of(change: Change, text: str) -> Row:
    """A row, by `COLUMNS`."""
    least = "" if change.known else "≥ "
    moved, sure = f"{change.recorded} → {least}{change.asked}", "exact" if change.exact else "estimate"
    shown = moved if change.exact else f"▨ {moved}"
    cells = (f"{change.token + 1}", shown, change.reason, doubt_words(change.doubts), text, sure)
    tip = f"Token {change.token + 1} {text}: exit layer {moved}, {sure}: {change.reason}"
    return Row(cells, tip=tip, faint=not change.exact)
