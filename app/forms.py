"""Small pieces that the window's forms share."""

from __future__ import annotations

import re
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

W = TypeVar("W", bound=QWidget)


def named(widget: W, name: str, tip: str) -> W:
    """Give a widget what a screen reader says of it, and the same words as its tooltip."""
    widget.setAccessibleName(name)
    widget.setAccessibleDescription(tip)
    widget.setToolTip(tip)
    return widget


def labelled(text: str, role: str) -> QLabel:
    """A label in one of the theme's roles: title, muted, caution, error."""
    label = QLabel(text)
    label.setProperty("role", role)
    return label


def plain(sentence: str) -> str:
    """A sentence as a window shows it: the command line's backquotes become quotation marks."""
    return re.sub("`([^`]*)`", "“\\1”", sentence)


def rule(text: str) -> QWidget:
    """A section heading with a line to its right."""
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 4, 0, 0)
    row.setSpacing(8)
    row.addWidget(labelled(text, "muted"))
    row.addWidget(_Line(), 1)
    return holder


class _Line(QWidget):
    """A hairline in the theme's line colour."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(1)

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), self.palette().color(QPalette.ColorRole.Mid))


class Note(QLabel):
    """One sentence under a form, with a sign beside its colour; takes no room while there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWordWrap(True)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.clear()

    def show_error(self, sentence: str) -> None:
        self._show("error", f"✕ {plain(sentence)}")

    def show_caution(self, sentence: str) -> None:
        self._show("caution", f"▲ {plain(sentence)}")

    def clear(self) -> None:
        self.setText("")
        self.hide()

    def _show(self, role: str, text: str) -> None:
        self.setProperty("role", role)
        self.style().unpolish(self)
        self.style().polish(self)
        self.setText(text)
        self.setAccessibleName(text)
        self.show()
