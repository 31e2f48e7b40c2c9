"""What questions and failures have in common: a dialog of a few words, which has room for all of them in any type."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.forms import named

MARGINS = (20, 20, 20, 16)
LETTERS = 64
"""Of the type in a line, where that is wider than the dialog is at least."""
FRAME = 40
"""Pixels of the screen left for the window's own frame."""


class MessageDialog(QDialog):
    """Holds up the window that it belongs to. What is said scrolls where the screen is too small for it."""

    def __init__(self, title: str, least_width: int, parent: QWidget | None) -> None:
        """`least_width` is in pixels."""
        super().__init__(parent)
        self._least_width, self._column = least_width, QVBoxLayout(self)
        self._column.setContentsMargins(*MARGINS)
        self.setWindowTitle(title)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

    def say(self, head: QHBoxLayout, spacing: int) -> QVBoxLayout:
        """Lay the head out, as `message_head` makes it; gives the column in which more comes below."""
        self._head, words = head, QWidget()
        head.setContentsMargins(0, 0, 0, 0)
        words.setLayout(head)
        self.said = named(QScrollArea(), self.windowTitle(), "")
        self.said.setFrameShape(QFrame.Shape.NoFrame)
        self.said.setWidgetResizable(True)
        self.said.setWidget(words)
        self._column.setSpacing(spacing)
        self._column.addWidget(self.said, 1)
        return self._column

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.fit()

    def fit(self) -> None:
        """Take the room that all the words need: Qt itself gives a dialog two thirds of the screen at most."""
        room, column, (left, _, right, _) = self.screen().availableSize(), self._column, MARGINS
        self.said.setMinimumHeight(0)  # what was needed before
        letters = LETTERS * self.fontMetrics().averageCharWidth()
        width = min(max(self._least_width, column.totalMinimumSize().width(), letters), room.width() - FRAME)
        words = self._head.totalHeightForWidth(width - left - right)
        wanted = words + column.totalSizeHint().height() - self.said.sizeHint().height()
        most = room.height() - FRAME
        self.said.setFocusPolicy(Qt.FocusPolicy.TabFocus if wanted > most else Qt.FocusPolicy.NoFocus)
        self.said.setMinimumHeight(words if wanted <= most else 0)  # or details below would share its room
        self.resize(width, min(wanted, most))
