"""Where the time of a token and of the run went, and whether the exits paid: bars, their table, and words."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPainter, QPixmap
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from widgets.cost_bars import LOOKS, WORDS, CostBar, CostBars, fill, milliseconds, stage_words
from widgets.palette import DARK, Theme
from widgets.small_table import SmallTable

Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()
SWATCH = 14
"""Pixels of the sign beside a stage's name."""
SWATCH_GAP = 12
"""Pixels that Qt leaves around it, at the most."""
UNKNOWN = "–"
WIDEST_NAME, WIDEST_NUMBER = max(WORDS.values(), key=len), "9,999,999.9"
"""What columns have room for."""


class CostTableModel(QAbstractTableModel):
    """One row a stage and one for their sum; for each bar its milliseconds and shares."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bars: tuple[CostBar, ...] = ()
        self.heads: tuple[str, ...] = ()
        self.theme: Theme = DARK
        self.font = QFont()

    def set_bars(self, bars: tuple[CostBar, ...], heads: tuple[str, ...]) -> None:
        """Show these, each under its head."""
        anew = len(bars) != len(self.bars)
        if anew:
            self.beginResetModel()
        self.bars, self.heads = bars, heads
        if anew:
            self.endResetModel()
        elif bars:
            self.dataChanged.emit(self.index(0, 0), self.index(self.rowCount() - 1, self.columnCount() - 1))
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, self.columnCount() - 1)

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() or not self.bars else len(LOOKS) + 1

    def columnCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else 1 + 2 * len(self.bars)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not self.bars or not index.isValid():
            return None
        stage, column = index.row(), index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self._text(stage, column)
            case Qt.ItemDataRole.DecorationRole if column == 0 and stage < len(LOOKS):
                return swatch(stage, self.theme)
            case Qt.ItemDataRole.TextAlignmentRole if column:
                return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            case Qt.ItemDataRole.AccessibleDescriptionRole if stage < len(LOOKS):
                return "; ".join(f"{bar.title}: {stage_words(bar, stage)}" for bar in self.bars)
            case Qt.ItemDataRole.FontRole if stage == len(LOOKS):
                font = QFont(self.font)
                font.setBold(True)
                return font
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < self.columnCount():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{self.heads[(section - 1) // 2]}, {'ms' if section % 2 else '%'}" if section else "Stage"
        right = role == Qt.ItemDataRole.TextAlignmentRole and section
        return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter if right else None

    def _text(self, stage: int, column: int) -> str:
        whole = stage == len(LOOKS)
        if column == 0:
            return "Sum" if whole else WORDS[LOOKS[stage].name]
        seconds = self.bars[(column - 1) // 2].seconds
        part, total = sum(seconds) if whole else seconds[stage], sum(seconds)
        if column % 2:
            return milliseconds(part)
        return f"{part / total:.1%}" if total else UNKNOWN


def swatch(stage: int, theme: Theme) -> QPixmap:
    """A stage's colour and pattern, as in its bar."""
    made = QPixmap(SWATCH, SWATCH)
    made.fill(QColor(theme.surface))
    painter = QPainter(made)
    fill(painter, QRectF(0, 0, SWATCH, SWATCH), LOOKS[stage], theme)
    painter.end()
    return made


class CostTable(SmallTable):
    """As high as its rows: the panel scrolls as a whole."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self.rows = CostTableModel()
        super().__init__("Time by stage as a table", self.rows, parent)
        self.rows.setParent(self)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.rows.modelReset.connect(self._fit)

    def restyle(self, small: QFont) -> None:
        self.rows.font = small

    def width_of(self, column: int) -> int:
        """A stage's name has its sign beside it."""
        return super().width_of(column) + (SWATCH + SWATCH_GAP if column == 0 else 0)

    def _fit(self) -> None:
        self.fit([WIDEST_NAME, *[WIDEST_NUMBER] * (self.rows.columnCount() - 1)])
        self.horizontalHeader().setStretchLastSection(False)

    def _resize_columns(self) -> None:
        super()._resize_columns()
        rows = self.rows.rowCount() * self.verticalHeader().defaultSectionSize()
        self.setFixedHeight(rows + self.horizontalHeader().sizeHint().height() + 4)


class CostView(QScrollArea):
    """Bars, their table, and sentences for the token and for the run."""

    link_chosen = Signal(str)
    """What a link in the run's sentences stands for."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Costs")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.bars, self.table = CostBars(), CostTable()
        self.token_words, self.run_words = _paragraph("The selected token"), _paragraph("The run")
        self.run_words.linkActivated.connect(self.link_chosen)
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 6, 0)
        column.setSpacing(8)
        for part in (self.bars, self.token_words, self.run_words, self.table):
            column.addWidget(part)
        column.addStretch(1)
        self.setWidget(inside)

    def show_costs(self, bars: tuple[CostBar, ...], heads: tuple[str, ...], token: str, run: str) -> None:
        """Show these bars, and what is to be said of the token and of the run (minimal HTML)."""
        self.bars.set_bars(bars)
        self.table.rows.set_bars(bars, heads)
        for label, words in ((self.token_words, token), (self.run_words, run)):
            label.setText(words)
            label.setVisible(bool(words))

    def apply_theme(self, theme: Theme) -> None:
        """Take over these colours, live."""
        self.bars.apply_theme(theme)
        self.table.rows.theme = theme
        self.table.viewport().update()


def _paragraph(name: str) -> QLabel:
    label = QLabel()
    label.setAccessibleName(name)
    label.setTextFormat(Qt.TextFormat.RichText)
    label.setWordWrap(True)
    label.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse
        | Qt.TextInteractionFlag.LinksAccessibleByMouse
        | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
    )
    return label
