"""One line of words in several colours that is cut short where it has too little room, and never asks for more."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from widgets.painting import painting
from widgets.palette import DARK, Theme
from widgets.theme import SMALL
from widgets.tree_words import Run, plain


class RunsLine(QWidget):
    """Shows runs side by side; the tooltip and a screen reader have them whole."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._runs: tuple[Run, ...] = ()
        self._theme: Theme = DARK
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def set_runs(self, *runs: Run) -> None:
        """Show these."""
        if runs != self._runs:
            self._runs = runs
            self.setToolTip(plain(runs))
            self.setAccessibleDescription(plain(runs))
            self.update()

    def text(self) -> str:
        """All of the words."""
        return plain(self._runs)

    def apply_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, round(QFontMetricsF(self._font(bold=True)).height()) + 3)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self) as painter:
            left = 0.0
            for run in self._runs:
                left = self._paint_run(painter, run, left)

    def _paint_run(self, painter: QPainter, run: Run, left: float) -> float:
        font = self._font(bold=run.bold)
        metrics = QFontMetricsF(font)
        text = metrics.elidedText(run.text, Qt.TextElideMode.ElideRight, max(self.width() - left, 0.0))
        painter.setFont(font)
        painter.setPen(QColor(getattr(self._theme, run.role)))
        baseline = (self.height() + metrics.ascent() - metrics.descent()) / 2
        painter.drawText(QPointF(left, baseline), text)
        return left + metrics.horizontalAdvance(text)

    def _font(self, *, bold: bool) -> QFont:
        font = QFont(self.font())
        font.setPointSizeF(font.pointSizeF() * SMALL)
        font.setBold(bold)
        return font
