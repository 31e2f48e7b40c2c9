"""Where the chips of the token strip lie, and what of them is scrolled into sight."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from widgets.chip_painter import ChipPainter
from widgets.palette import DARK
from widgets.token_flow import TokenFlow

MARGIN = 3
GAP = 5
ROW_GAP = 7


class ChipArea(QAbstractScrollArea):
    """Rows of chips, broken like words. A box is a chip, counted from 0."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chip, self._flow = ChipPainter(self.font(), DARK), TokenFlow(GAP)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def sizeHint(self) -> QSize:
        return QSize(560, self._row_height() * 3 + 2 * MARGIN)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self._row_height() + 2 * MARGIN)

    def chip_rect(self, token: int) -> QRect:
        """Where a token's chip is now, in the viewport's coordinates."""
        return self._rect(token)

    def _rect(self, box: int) -> QRect:
        top = MARGIN + self._flow.row_of(box) * self._row_height() - self.verticalScrollBar().value()
        return QRect(MARGIN + self._flow.x_of(box), top, self._flow.width_of(box), self._chip.height)

    def _row_height(self) -> int:
        return self._chip.height + ROW_GAP

    def _row_at(self, y: int) -> int:
        return (y + self.verticalScrollBar().value() - MARGIN) // self._row_height()

    def _box_under(self, point: QPoint) -> int | None:
        box = self._flow.box_at(point.x() - MARGIN, self._row_at(point.y()))
        return box if box is not None and self._rect(box).contains(point) else None

    def _at_tail(self) -> bool:
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum() - self._row_height() // 2

    def _update_scroll_bar(self, follow: bool) -> None:
        bar, height = self.verticalScrollBar(), self.viewport().height()
        content = self._flow.rows * self._row_height() - ROW_GAP + 2 * MARGIN
        bar.setRange(0, max(0, content - height))
        bar.setPageStep(height)
        bar.setSingleStep(self._row_height())
        if follow:
            bar.setValue(bar.maximum())

    def _bring_into_sight(self, box: int) -> None:
        rect, bar = self._rect(box).adjusted(0, -MARGIN, 0, MARGIN), self.verticalScrollBar()
        if rect.top() < 0:
            bar.setValue(bar.value() + rect.top())
        elif rect.bottom() >= self.viewport().height():
            bar.setValue(bar.value() + rect.bottom() + 1 - self.viewport().height())
