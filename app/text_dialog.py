"""Asks for one line of text, such as a name."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.forms import labelled, named

WIDTH = 340


class TextDialog(QDialog):
    """A line and Enter; an empty one gives nothing."""

    given = Signal(str)
    """The text, without spaces around it."""

    def __init__(self, title: str, label: str, go: tuple[str, str], parent: QWidget | None = None) -> None:
        """`go` is the button that takes the text: its words, with a mnemonic, and what it does."""
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setMinimumWidth(WIDTH)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.text = named(QLineEdit(), label, title)
        self.text.textChanged.connect(self._look)
        self.cancel = named(QPushButton("Cancel"), "Cancel", "Leave it (Esc)")
        self.go = named(QPushButton(go[0]), go[0].replace("&", ""), f"{go[1]} (Enter)")
        self.go.setProperty("role", "primary")
        self.go.setDefault(True)
        self.go.clicked.connect(self.accept)
        self.cancel.clicked.connect(self.reject)
        self.accepted.connect(self._tell)
        self._lay_out(label)
        self._look()

    def _lay_out(self, label: str) -> None:
        words = labelled(label, "")
        words.setBuddy(self.text)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel)
        buttons.addWidget(self.go)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 20, 20, 16)
        column.setSpacing(8)
        column.addWidget(words)
        column.addWidget(self.text)
        column.addSpacing(8)
        column.addLayout(buttons)

    @Slot()
    def _look(self) -> None:
        self.go.setEnabled(bool(self.text.text().strip()))

    @Slot()
    def _tell(self) -> None:
        self.given.emit(self.text.text().strip())
