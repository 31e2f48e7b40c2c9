"""The counterfactual column as a table: one row a layer, with what it would have said and what came of it."""

from __future__ import annotations

import math
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont
from PySide6.QtWidgets import QWidget

from core.analysis.counterfactual import Said
from core.analysis.layer_rows import LayerColumn, LayerRow, LayerState
from widgets.palette import DARK, Theme

Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()
UNKNOWN = "–"
LONGEST = 32
"""Characters of a token that a cell shows; the tooltip shows more."""
LONGEST_TIP = 400

COLUMNS = (
    ("Layer", "Layers run, counted from 1", "30"),
    ("", "= the full-depth token, and every layer above says so too · ★ the first of these · ≈ the full-depth token, "
     "but not for good · ≠ another token", ""),
    ("Says", "What the layer itself would say, had the pass ended there", "n" * 5),
    ("Outcome", "Not scheduled, below the threshold, refused, or the exit", "○ below threshold"),
    ("Score", "What the layer’s predictor says, against the threshold; in brackets where only the audit asked it",
     "(0.000 ≤ 0.00)"),
    ("Margin", "Probability of the layer’s best token minus that of its second best", "0.000"),
    ("p", "The token’s probability in the whole vocabulary, where it is a candidate", "0.000"),
    ("In S", "Place among the drafter’s candidates; ✕ is none of them, so an exit here would be refused", "0"),
)  # fmt: skip
"""Name, explanation and a sample to size the column by: columns that jump from token to token cannot be read."""
LAYER, AGREES, TOKEN, STATE, SCORE, MARGIN, PROBABILITY, RANK = range(len(COLUMNS))
SPARED = (PROBABILITY, MARGIN, RANK)
"""Columns that a narrow panel leaves out, first to last; a row's tooltip tells them."""
NUMBERS = frozenset({LAYER, PROBABILITY, MARGIN, RANK, SCORE})

STATE_MARKS = {
    LayerState.NOT_RUN: "…",
    LayerState.RAN: "",
    LayerState.NOT_SCHEDULED: "·",
    LayerState.BELOW: "○",
    LayerState.PATH_BELOW: "○",
    LayerState.PROPOSED: "▲",
    LayerState.REFUSED: "⊘",
    LayerState.GATED: "⊘",
    LayerState.EXITED: "●",
    LayerState.LAST: "■",
    LayerState.BEYOND: "┈",
}
AGREE_MARKS = {Said.OTHER: "≠", Said.PASSING: "≈", Said.STABLE: "="}
_AGREE_WORDS = {
    Said.OTHER: "not the full-depth token",
    Said.PASSING: "the full-depth token, but a layer above says otherwise again",
    Said.STABLE: "the full-depth token, as every layer above says",
}
SETTLED = "★"
"""Marks the first layer from which the token stays."""


def cells(column: LayerColumn, layer: int) -> tuple[str, ...]:
    """A row, by `COLUMNS`."""
    row = column.rows[layer]
    return (
        f"{layer + 1}",
        SETTLED if is_settled_at(column, layer) else "" if row.said is None else AGREE_MARKS[row.said],
        UNKNOWN if row.text is None else elided(row.text, LONGEST),
        f"{STATE_MARKS[row.state]} {row.state.value}".strip(),
        score_text(row),
        _number(row.margin),
        _number(row.probability),
        UNKNOWN if row.rank is None else "✕" if row.rank < 0 else f"{row.rank + 1}",
    )


def score_text(row: LayerRow) -> str:
    """The score against the threshold, in brackets where only the audit asked."""
    if math.isnan(row.score):
        return UNKNOWN
    sign = ">" if row.score > row.threshold else "≤"
    against = "" if math.isnan(row.threshold) else f" {sign} {row.threshold:.2f}"
    return f"{row.score:.3f}{against}" if row.asked else f"({row.score:.3f}{against})"


def is_settled_at(column: LayerColumn, layer: int) -> bool:
    """Whether this is the first layer from which every layer says the full-depth token."""
    return column.column is not None and column.column.stable_layer == layer + 1


def row_words(column: LayerColumn, layer: int) -> str:
    """A row in a sentence, for the hover and the screen reader."""
    row = column.rows[layer]
    own = "own token not recorded" if row.text is None else f"says {elided(row.text, LONGEST_TIP)}"
    agrees = _AGREE_WORDS[row.said] if row.said is not None else ""
    parts = [own, agrees, _rank_words(row), _lead_words(row), _score_words(row)]
    settled = "from here on the token stays" if is_settled_at(column, layer) else ""
    return f"Layer {layer + 1}: {'; '.join(filter(None, [*parts, row.state.value, settled]))}."


def elided(text: str, longest: int) -> str:
    """The text with its middle left out where it is longer."""
    half = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"


def _number(value: float) -> str:
    return UNKNOWN if math.isnan(value) else f"{value:.3f}"


def _rank_words(row: LayerRow) -> str:
    if row.rank is None:
        return ""
    return "none of the candidates" if row.rank < 0 else f"candidate {row.rank + 1}"


def _lead_words(row: LayerRow) -> str:
    told = (("p", row.probability), ("margin", row.margin))
    return ", ".join(f"{name} {value:.3f}" for name, value in told if not math.isnan(value))


def _score_words(row: LayerRow) -> str:
    if math.isnan(row.score):
        return "" if math.isnan(row.threshold) else f"threshold {row.threshold:.2f}"
    return f"score {score_text(row).strip('()')}{'' if row.asked else ' (asked by the audit only)'}"


class LayerTableModel(QAbstractTableModel):
    """One row a layer of one token."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.column: LayerColumn | None = None
        self.theme: Theme = DARK
        self.font = QFont()
        """That the rows are shown in; the exit and the first stable layer are bold, rows beyond the exit italic."""

    def set_column(self, column: LayerColumn | None) -> None:
        """Show this token's layers."""
        before, after = self.rowCount(), len(column.rows) if column else 0
        if before != after:
            self.beginResetModel()
        self.column = column
        if before != after:
            self.endResetModel()
        elif after:
            self.dataChanged.emit(self.index(0, 0), self.index(after - 1, len(COLUMNS) - 1))

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() or self.column is None else len(self.column.rows)

    def columnCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if self.column is None or not index.isValid():
            return None
        layer, at = index.row(), index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return cells(self.column, layer)[at]
            case Qt.ItemDataRole.ToolTipRole | Qt.ItemDataRole.AccessibleDescriptionRole:
                return row_words(self.column, layer)
            case Qt.ItemDataRole.TextAlignmentRole if at in NUMBERS:
                return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            case Qt.ItemDataRole.ForegroundRole:
                return QColor(self._colour(self.column, layer, at))
            case Qt.ItemDataRole.FontRole:
                return self._font(self.column, layer)
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(COLUMNS):
            return None
        name, tip, _ = COLUMNS[section]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return name
            case Qt.ItemDataRole.ToolTipRole:
                return tip
            case Qt.ItemDataRole.AccessibleTextRole:
                return name or "Agrees with full depth"
            case Qt.ItemDataRole.TextAlignmentRole if section in NUMBERS:
                return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def _colour(self, column: LayerColumn, layer: int, at: int) -> str:
        row, theme = column.rows[layer], self.theme
        if at == STATE and row.state in (LayerState.REFUSED, LayerState.GATED):
            return theme.caution
        if at in (AGREES, TOKEN) and row.said is Said.STABLE:
            return theme.right
        faded = row.state in (LayerState.BEYOND, LayerState.NOT_RUN, LayerState.NOT_SCHEDULED)
        faded = faded or (at in (AGREES, TOKEN) and row.said is Said.OTHER)
        return theme.muted if faded else theme.text

    def _font(self, column: LayerColumn, layer: int) -> QFont:
        font, state = QFont(self.font), column.rows[layer].state
        font.setBold(state in (LayerState.EXITED, LayerState.LAST) or is_settled_at(column, layer))
        font.setItalic(state is LayerState.BEYOND)
        return font
