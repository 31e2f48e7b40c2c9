"""How a dialog that says something begins: a sign, and beside it the title over the text."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.forms import labelled
from app.icons import pixmap

SIGN = 32
"""Pixels of the sign's side."""


def message_head(dialog: QWidget, sign: str, colour: str, title: str, text: QLabel, *, gap: int = 14) -> QHBoxLayout:
    """The head of `dialog`; `sign` names an icon, `gap` is in pixels."""
    picture = QLabel()
    picture.setPixmap(pixmap(sign, colour, SIGN, dialog.devicePixelRatioF()))
    words = QVBoxLayout()
    words.setSpacing(4)
    heading = labelled(title, "title")
    heading.setWordWrap(True)
    words.addWidget(heading)
    words.addWidget(text)
    words.addStretch(1)
    head = QHBoxLayout()
    head.setSpacing(gap)
    head.addWidget(picture, 0, Qt.AlignmentFlag.AlignTop)
    head.addLayout(words, 1)
    return head
