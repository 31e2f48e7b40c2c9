"""What the panels' tables have in common: small type that follows the window's, one row at a time, columns that fit."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractItemModel, QEvent, Qt
from PySide6.QtGui import QFocusEvent, QFont, QFontMetrics, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QTableView, QWidget

from widgets.plain_table import make_heading_plain, make_plain
from widgets.theme import RESTYLED, SMALL

PADDING = 24
"""Pixels of a column beside its text."""
_ROUNDED = 0.1
"""Points by which a font may differ from what it was asked to be."""


class SmallTable(QTableView):
    """Only looks and widths: what it shows, and what choosing a row means, is its owner's."""

    bold: frozenset[int] = frozenset()
    """Columns whose samples some rows set in bold, which is wider."""

    _telling = True
    """Whether a new current row is the user's choice, of which subclasses tell."""

    def __init__(self, name: str, model: QAbstractItemModel, parent: QWidget | None = None, *, spare: int = 6) -> None:
        """`name` is for screen readers; a row is `spare` pixels higher than its text."""
        self._samples: tuple[str, ...] = ()
        self._elastic: int | None = None
        self._small = QFont()
        """The type of its rows and headings."""
        self._is_taking = True
        """Whether the type is being taken over, which makes further changes of it."""
        self._spare, self._type_size = spare, QApplication.font().pointSizeF()
        super().__init__(parent)
        self.setModel(model)
        self.setAccessibleName(name)
        make_plain(self)
        make_heading_plain(self)
        self.setWordWrap(False)
        self.verticalHeader().setMinimumSectionSize(1)  # its own is that of the type before, which it may still have
        self.horizontalHeader().setMinimumSectionSize(PADDING)
        self._take_type()
        self._is_taking = False

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
        return max(QFontMetrics(self._small).horizontalAdvance(heading), self._sample_width(column)) + PADDING

    def _sample_width(self, column: int) -> int:
        font = QFont(self._small)
        font.setBold(column in self.bold)
        return QFontMetrics(font).horizontalAdvance(self._samples[column])

    def restyle(self, small: QFont) -> None:
        """The type has another size: for models that make fonts of it."""

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in RESTYLED:
            self._follow_type()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._follow_type()  # what is hidden is styled only now, and may be given the font that it had before

    def _follow_type(self) -> None:
        size = QApplication.font().pointSizeF()
        is_other = size != self._type_size or abs(self.font().pointSizeF() - size * SMALL) > _ROUNDED
        if is_other and not self._is_taking:
            self._is_taking = True
            self._take_type()
            self._resize_columns()
            self._is_taking = False

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Whoever comes here by Tab or by a key has chosen nothing yet: Qt makes the first row current."""
        telling, self._telling = self._telling, False
        super().focusInEvent(event)
        self._telling = telling

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._stretch()

    def _take_type(self) -> None:
        self._small, self._type_size = QFont(QApplication.font()), QApplication.font().pointSizeF()
        small = self._small  # measured itself: under a style sheet the table may have the font before for a while
        small.setPointSizeF(self._type_size * SMALL)
        self.setFont(small)
        self.horizontalHeader().setFont(small)
        self.verticalHeader().setDefaultSectionSize(QFontMetrics(small).height() + self._spare)
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
