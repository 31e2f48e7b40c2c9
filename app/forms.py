"""Small pieces that the window's forms share."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QWidget

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


def rule(text: str) -> QWidget:
    """A section heading with a line to its right."""
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 4, 0, 0)
    row.setSpacing(8)
    row.addWidget(labelled(text, "muted"))
    line = QFrame()
    line.setFrameShape(QFrame.Shape.NoFrame)
    line.setProperty("role", "rule")
    line.setFixedHeight(1)
    line.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    row.addWidget(line)
    return holder


class Note(QLabel):
    """One sentence under a form, with a sign beside its colour; takes no room while there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.clear()

    def show_error(self, sentence: str) -> None:
        self._show("error", f"✕ {sentence}")

    def show_caution(self, sentence: str) -> None:
        self._show("caution", f"▲ {sentence}")

    def show_hint(self, sentence: str) -> None:
        self._show("muted", sentence)

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
