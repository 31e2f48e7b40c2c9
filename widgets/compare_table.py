"""Two runs side by side, one row a token: any number of rows, put into words when they are looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QColor, QFont
from PySide6.QtWidgets import QWidget

from core.analysis.compare_rows import Aligned, AlignedRow, Cell
from core.analysis.summaries import Outcome
from widgets.exit_chart import OUTCOME_TEXTS
from widgets.rows_table import Column, Index, Row, RowsModel, RowsTable
from widgets.selection import Selection

_HOW = "▪ full depth · ⊘ refused · ≠ wrong exit · ▫ from the prompt’s pass"
COLUMNS = (
    Column("Token", "Which token, counted from 1", 6, number=True),
    Column("", "= both emitted the same · ≠ they did not · ▶ the runs part here", 4),
    Column("Text A", "What run A, the one on show, emitted", 8),
    Column("Text B", "What run B emitted", 8),
    Column("Exit A", f"Layers that A ran · {_HOW}", 6, number=True),
    Column("Exit B", f"Layers that B ran · {_HOW}", 6, number=True),
    Column("Δ layers", "B’s layers minus A’s", 7, number=True),
    Column("Δ ms", "B’s time minus A’s, in milliseconds", 6, number=True),
)
TOKEN, SAME, TEXT_A, TEXT_B, EXIT_A, EXIT_B, LAYERS, MILLISECONDS = range(len(COLUMNS))
OUTCOME_MARKS = {
    Outcome.PREFILL: "▫",
    Outcome.FULL_DEPTH: "▪",
    Outcome.REFUSED: "⊘",
    Outcome.WRONG_EXIT: "≠",
    Outcome.GIVEN: "↳",
}
"""Before an exit layer; an early exit needs none."""
ENDED = "(ended)"
LONGEST = 40
"""Characters of a token that a cell shows; the tooltip shows more."""
LONGEST_TIP = 400
_KEPT = 256
"""Rows in words; a screen has fewer."""
_INKS = {Outcome.REFUSED: "caution", Outcome.WRONG_EXIT: "wrong"}


@dataclass(frozen=True, slots=True)
class InkedRow(Row):
    """A row with a colour a cell, which its marks tell, too."""

    inks: tuple[str, ...] = ()
    """Roles of the theme."""
    bold: bool = False


def row_of(row: AlignedRow) -> InkedRow:
    """A row, by `COLUMNS`."""
    a, b = row.cells
    mark = "=" if row.same else "▶≠" if row.first else "≠"
    cells = (
        f"{row.token + 1}",
        mark,
        *(ENDED if one is None else elided(one.text, LONGEST) for one in (a, b)),
        _exit(a),
        _exit(b),
        signed(row.layers_delta),
        "" if row.seconds_delta is None else minus(f"{1e3 * row.seconds_delta:+.1f}").replace("+0.0", "0.0"),
    )
    return InkedRow(cells, tip=row_words(row), inks=_inks(row), bold=row.first)


def _exit(cell: Cell | None) -> str:
    return "" if cell is None else f"{OUTCOME_MARKS.get(cell.outcome, '')} {cell.exit_layer}".strip()


def _inks(row: AlignedRow) -> tuple[str, ...]:
    a, b = row.cells
    apart = "muted" if row.same else "caution"
    texts = ("text" if a else "muted", "muted" if row.same or b is None else "text")
    exits = (_INKS.get(one.outcome, "text") if one else "muted" for one in (a, b))
    return ("muted", apart, *texts, *exits, "accent" if row.layers_delta else "muted", "muted")


def row_words(row: AlignedRow) -> str:
    """A row in a sentence, for the hover and the screen reader."""
    told = " · ".join(_cell_words(name, cell) for name, cell in zip("AB", row.cells, strict=True))
    same = "the same in both" if row.same else "the runs part here" if row.first else "not the same"
    return f"Token {row.token + 1}, {same}: {told}."


def _cell_words(name: str, cell: Cell | None) -> str:
    if cell is None:
        return f"{name} has ended"
    how = OUTCOME_TEXTS.get(cell.outcome, "")
    took = f", {1e3 * cell.seconds:.1f} ms" if cell.seconds else ""
    return f"{name} {elided(cell.text, LONGEST_TIP)}, exit layer {cell.exit_layer}, {how}{took}"


def signed(number: int | None) -> str:
    """`+3`, `−3`, `0`; "" for None."""
    return "" if number is None else minus(f"{number:+d}") if number else "0"


def minus(text: str) -> str:
    """With a sign as wide as the plus."""
    return text.replace("-", "−")


def elided(text: str, longest: int) -> str:
    """The text with its middle left out where it is longer."""
    half = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"


class CompareModel(RowsModel):
    """Rows of an `Aligned`; one that grew keeps its rows, so that the view stays where it is."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(COLUMNS, parent)
        self.aligned: Aligned | None = None
        self.font = QFont()
        """That the rows are shown in."""
        self._words: dict[int, InkedRow] = {}
        """Rows that were looked at last: each is asked for several times a cell."""

    def show(self, aligned: Aligned | None) -> None:
        """Show this in place of what is shown."""
        count, grows = len(aligned) if aligned else 0, self._grows_into(aligned)
        self._words.clear()
        if not grows:
            self.beginResetModel()
            self.aligned, self._count = aligned, count
            self.endResetModel()
            return
        before, self.aligned = self._count, aligned
        if count > before:
            self.beginInsertRows(QModelIndex(), before, count - 1)
            self._count = count
            self.endInsertRows()
        if before:
            self.dataChanged.emit(self.index(0, 0), self.index(before - 1, len(COLUMNS) - 1))

    def _grows_into(self, aligned: Aligned | None) -> bool:
        before = self.aligned
        same = before is not None and aligned is not None and before.runs == aligned.runs
        return same and aligned is not None and len(aligned) >= self._count

    def row(self, at: int) -> InkedRow:
        if at not in self._words:
            assert self.aligned is not None, "only rows that are there are asked for"
            if len(self._words) >= _KEPT:
                self._words.clear()
            self._words[at] = row_of(self.aligned.row(at))
        return self._words[at]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.FontRole and index.isValid():
            font = QFont(self.font)
            font.setBold(self.row(index.row()).bold)
            return font
        return super().data(index, role)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.AccessibleTextRole and section == SAME:
            return "Same token"
        return super().headerData(section, orientation, role)

    def _ink(self, row: Row, column: int) -> QColor:
        return QColor(getattr(self.theme, row.inks[column] if isinstance(row, InkedRow) else "text"))


class CompareTable(RowsTable):
    """The row with the cursor is the selected token."""

    selected = Signal(object)
    """A `Selection` that the user asks for; its token may be one that A does not have."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self.rows: CompareModel = CompareModel()
        super().__init__("Both runs, token by token", COLUMNS, parent, rows=self.rows)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._selection = Selection()
        self.chosen.connect(self._choose)

    def restyle(self, small: QFont) -> None:
        super().restyle(small)
        self.rows.font = small

    def show_aligned(self, aligned: Aligned | None) -> None:
        """Show these runs; emits nothing."""
        self._telling = False
        self.rows.show(aligned)
        self._telling = True

    def set_selection(self, selection: Selection) -> None:
        """Put the cursor on this token's row; emits nothing."""
        self._selection = selection
        self.mark(selection.token)

    def whole_width(self) -> int:
        """Pixels that all columns take, with the scroll bar beside them."""
        bar = self.verticalScrollBar().sizeHint().width()
        return self.horizontalHeader().length() + bar + 2 * self.frameWidth()

    def _choose(self, row: int) -> None:
        self.selected.emit(replace(self._selection, token=row, node=None))
