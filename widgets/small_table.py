"""What the panels' tables have in common: small type that follows the window's, one row at a time, columns that fit."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractItemModel, QEvent, Qt
from PySide6.QtGui import QFont, QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QApplication, QTableView, QWidget

from widgets.theme import SMALL

PADDING = 24
"""Pixels of a column beside its text."""
_RESTYLED = (QEvent.Type.StyleChange, QEvent.Type.FontChange)


class SmallTable(QTableView):
    """Only looks and widths: what it shows, and what choosing a row means, is its owner's."""

    bold: frozenset[int] = frozenset()
    """Columns whose samples some rows set in bold, which is wider."""

    def __init__(self, name: str, model: QAbstractItemModel, parent: QWidget | None = None, *, spare: int = 6) -> None:
        """`name` is for screen readers; a row is `spare` pixels higher than its text."""
        self._samples: tuple[str, ...] = ()
        self._elastic: int | None = None
        self._spare, self._type_size = spare, QApplication.font().pointSizeF()
        super().__init__(parent)
        self.setModel(model)
        self.setAccessibleName(name)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setHighlightSections(False)
        header.setMinimumSectionSize(PADDING)
        self._take_type()

    def fit(self, samples: Sequence[str], elastic: int | None = None) -> None:
        """Make each column as wide as its heading and a sample of what it holds.

        Args:
            samples: one a column.
            elastic: the column that takes what room is left; None for the last one.
        """
        self._samples, self._elastic = tuple(samples), elastic
        self.horizontalHeader().setStretchLastSection(elastic is None)
        self._resize_columns()

    def width_of(self, column: int) -> int:
        """Pixels that a column needs for its heading and its sample."""
        heading = self.model().headerData(column, Qt.Orientation.Horizontal) or ""
        return max(self.fontMetrics().horizontalAdvance(heading), self._sample_width(column)) + PADDING

    def _sample_width(self, column: int) -> int:
        font = QFont(self.font())
        font.setBold(column in self.bold)
        return QFontMetrics(font).horizontalAdvance(self._samples[column])

    def restyle(self, small: QFont) -> None:
        """The type has another size: for models that make fonts of it."""

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in _RESTYLED and QApplication.font().pointSizeF() != self._type_size:
            self._take_type()
            self._resize_columns()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._stretch()

    def _take_type(self) -> None:
        small, self._type_size = QFont(QApplication.font()), QApplication.font().pointSizeF()
        small.setPointSizeF(self._type_size * SMALL)
        self.setFont(small)
        self.horizontalHeader().setFont(small)
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + self._spare)
        self.restyle(small)

    def _resize_columns(self) -> None:
        for column in range(len(self._samples)):
            self.setColumnWidth(column, self.width_of(column))
        self._stretch()

    def _stretch(self) -> None:
        """Give the elastic column what the others leave."""
        if self._elastic is not None:
            others = self.horizontalHeader().length() - self.columnWidth(self._elastic)
            self.setColumnWidth(self._elastic, max(self.viewport().width() - others, self.width_of(self._elastic)))
