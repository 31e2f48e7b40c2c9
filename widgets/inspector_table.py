"""The features of one predictor's judgement as a table: value, run mean, gradient, effect, and what would flip it."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QRectF, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from core.analysis.inspector import Inspection
from widgets.painting import guarded
from widgets.palette import DARK, Theme
from widgets.small_table import SmallTable
from widgets.theme import mixed

Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()
UNKNOWN, IMPOSSIBLE = "–", "!"
MINUS = "−"

COLUMNS = (
    ("Feature", "Candidates count from 1, the drafter’s best guess first", "probability 4"),
    ("Value", "What the predictor saw", "−00.000"),
    ("Mean", "Over the run; what the feature is set to when it is taken out", "−00.000"),
    (
        "Effect",
        "By how much the feature lifts the score over what it is without; the bar compares the features",
        "n" * 13,
    ),
    ("Without", "The score with this feature at its mean", "0.000"),
    ("Gradient", "By how much the score rises for each unit of the feature, exactly", "+0.000"),
    (
        "Alone flips",
        "The least change of this feature alone that flips the decision; ! would be an impossible value",
        "+00.000",
    ),
    ("Together", "This feature’s part in the least change of all features together that the search found", "+0.000"),
)
"""Name, explanation and a sample to size the column by."""
NUMBER_ROOM = 62
"""Pixels right of an effect's bar that its number takes."""
FEATURE, VALUE, MEAN, EFFECT, WITHOUT, GRADIENT, ALONE, TOGETHER = range(len(COLUMNS))


def signed(value: float, digits: int = 3) -> str:
    """A number with its sign; a true minus, and nothing but 0 for what rounds to it."""
    text = f"{abs(value):.{digits}f}"
    return text if float(text) == 0 else f"{'+' if value > 0 else MINUS}{text}"


def number(value: float) -> str:
    """A feature's value."""
    return f"{'' if value >= 0 or float(f'{value:.3f}') == 0 else MINUS}{abs(value):.3f}"


def cells(found: Inspection, at: int) -> tuple[str, ...]:
    """A row, by `COLUMNS`."""
    together = found.flips.smallest
    return (
        found.names[at],
        number(float(found.features[at])),
        number(float(found.neutral.features[at])),
        signed(float(found.effect[at])),
        f"{found.without[at]:.3f}",
        signed(float(found.gradient[at])),
        alone_text(found, at),
        signed(float(together.change[at])) if together else UNKNOWN,
    )


def alone_text(found: Inspection, at: int) -> str:
    """The change of one feature that flips the decision; `UNKNOWN` where none does."""
    flip = found.flips.single[at]
    if flip is None:
        return UNKNOWN
    return signed(float(flip.change[at])) + ("" if found.flips.possible[at] else f" {IMPOSSIBLE}")


def feature_words(found: Inspection, at: int) -> str:
    """A row in a sentence, for the hover and the screen reader."""
    flip = found.flips.single[at]
    if flip is None:
        flipped = "no value of it alone flips the decision"
    else:
        odd = "" if found.flips.possible[at] else ", which no pass can bring about"
        flipped = f"{signed(float(flip.change[at]))} alone brings the score to {flip.score:.3f} and flips it{odd}"
    return (
        f"{found.names[at]} is {number(float(found.features[at]))} (mean {number(float(found.neutral.features[at]))}); "
        f"without it the score is {found.without[at]:.3f}; gradient {signed(float(found.gradient[at]))}; {flipped}."
    )


class InspectorModel(QAbstractTableModel):
    """One row a feature."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.found: Inspection | None = None

    def set_inspection(self, found: Inspection | None) -> None:
        """Show this judgement."""
        before, after = self.rowCount(), len(found.names) if found else 0
        if before != after:
            self.beginResetModel()
        self.found = found
        if before != after:
            self.endResetModel()
        elif after:
            self.dataChanged.emit(self.index(0, 0), self.index(after - 1, len(COLUMNS) - 1))

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() or self.found is None else len(self.found.names)

    def columnCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if self.found is None or not index.isValid():
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return cells(self.found, index.row())[index.column()]
            case Qt.ItemDataRole.ToolTipRole | Qt.ItemDataRole.AccessibleDescriptionRole:
                return feature_words(self.found, index.row())
            case Qt.ItemDataRole.TextAlignmentRole if index.column():
                return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(COLUMNS):
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return COLUMNS[section][0]
            case Qt.ItemDataRole.ToolTipRole:
                return COLUMNS[section][1]
            case Qt.ItemDataRole.TextAlignmentRole if section:
                return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None


class EffectBars(QStyledItemDelegate):
    """Draws a bar beside each effect: from the middle to the right where the feature lifts the score, else to the left,
    so that the sign is seen without its colour."""

    def __init__(self, model: InspectorModel, parent: QWidget) -> None:
        super().__init__(parent)
        self._model = model
        self.theme: Theme = DARK

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        if index.column() == EFFECT and self._model.found is not None:
            with guarded(painter):
                self._draw(painter, QRectF(option.rect), self._model.found, index.row())
        super().paint(painter, option, index)

    def _draw(self, painter: QPainter, cell: QRectF, found: Inspection, at: int) -> None:
        cell = cell.adjusted(0, 0, -NUMBER_ROOM, 0)
        greatest = float(np.abs(found.effect).max()) or 1.0
        middle, half = cell.center().x(), cell.width() / 2 - 3
        length = float(found.effect[at]) / greatest * half
        role = self.theme.right if length > 0 else self.theme.wrong
        bar = QRectF(min(middle, middle + length), cell.top() + 3, abs(length), cell.height() - 6)
        painter.fillRect(bar, QColor(mixed(role, self.theme.surface, 0.55)))
        painter.fillRect(QRectF(middle, cell.top() + 2, 1, cell.height() - 4), QColor(self.theme.line))


class InspectorTable(SmallTable):
    """Shows the model."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self.rows = InspectorModel()
        super().__init__("Features of the selected layer’s predictor", self.rows, parent, spare=5)
        self.rows.setParent(self)
        self.bars = EffectBars(self.rows, self)
        self.setItemDelegate(self.bars)
        self.fit([sample for _, _, sample in COLUMNS])

    def apply_theme(self, theme: Theme) -> None:
        """Take over these colours, live."""
        self.bars.theme = theme
        self.viewport().update()
