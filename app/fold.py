"""A section of a form that folds away under its heading."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QSize, Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent, QPalette, QPen, QPolygonF
from PySide6.QtWidgets import QAbstractButton, QVBoxLayout, QWidget

from app.forms import named
from widgets.theme import SMALL

HEIGHT = 24
SIGN = 16
"""Room for the chevron, in pixels."""
GAP = 8


class FoldHeader(QAbstractButton):
    """Chevron, title and, while the section is folded, what it holds in a few words. Checked means unfolded."""

    def __init__(self, title: str) -> None:
        super().__init__()
        named(self, title, "")
        self.setText(title)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._summary: str | None = None

    def set_summary(self, text: str) -> None:
        """What the section holds."""
        if text == self._summary:
            return  # all sections are told with every run, and each would paint itself anew
        self._summary = text
        self.setAccessibleDescription(text)
        self.setToolTip(f"{self.text()}: {text}" if text else self.text())
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(SIGN + self.fontMetrics().horizontalAdvance(self.text()), HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours, role = self.palette(), QPalette.ColorRole
        text, quiet = colours.color(role.Text), colours.color(role.PlaceholderText)
        self._paint_chevron(painter, QPen(quiet, 1.6))
        room = QRect(SIGN, 0, self.width() - SIGN, self.height())
        painter.setFont(self._small())
        painter.setPen(text if self.underMouse() else quiet)
        painter.drawText(room, _LEFT, self.text())
        room.setLeft(room.left() + painter.fontMetrics().horizontalAdvance(self.text()) + GAP)
        end = room.right()
        if not self.isChecked() and self._summary:
            shown = painter.fontMetrics().elidedText(self._summary, Qt.TextElideMode.ElideRight, room.width() - GAP)
            painter.setPen(text)
            painter.drawText(room, _RIGHT, shown)
            end -= painter.fontMetrics().horizontalAdvance(shown) + GAP
        painter.setPen(QPen(colours.color(role.Mid), 1))
        middle = self.height() / 2 + 0.5
        painter.drawLine(QPointF(room.left(), middle), QPointF(max(room.left(), end), middle))
        if self.hasFocus():
            painter.setPen(QPen(colours.color(role.Accent), 1))
            painter.drawRoundedRect(self.rect().adjusted(0, 1, -1, -2), 4, 4)

    def _paint_chevron(self, painter: QPainter, pen: QPen) -> None:
        x, y = SIGN / 2 - 2, self.height() / 2
        down = [QPointF(x - 3.5, y - 1.75), QPointF(x, y + 1.75), QPointF(x + 3.5, y - 1.75)]
        right = [QPointF(x - 1.75, y - 3.5), QPointF(x + 1.75, y), QPointF(x - 1.75, y + 3.5)]
        painter.setPen(pen)
        painter.drawPolyline(QPolygonF(down if self.isChecked() else right))

    def _small(self) -> QFont:
        font = self.font()
        font.setPointSizeF(font.pointSizeF() * SMALL)
        return font


_LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
_RIGHT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight


class Fold(QWidget):
    """A heading and the widget that it unfolds."""

    def __init__(self, key: str, title: str, body: QWidget, *, unfolded: bool = False) -> None:
        super().__init__()
        self.key = key
        self.header = FoldHeader(title)
        self.body = body
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.header)
        column.addWidget(body)
        self.unfold(unfolded)
        self.header.toggled.connect(body.setVisible)

    @property
    def is_unfolded(self) -> bool:
        return self.header.isChecked()

    def unfold(self, unfolded: bool = True) -> None:
        """Show the section's inputs, or hide them."""
        self.header.setChecked(unfolded)
        self.body.setVisible(unfolded)

    def set_summary(self, text: str) -> None:
        """What the section holds, shown while it is folded."""
        self.header.set_summary(text)
