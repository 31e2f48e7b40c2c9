"""Asks which token to go to."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.forms import labelled, named, spin


class GoToDialog(QDialog):
    """A number and Enter."""

    chosen = Signal(int)
    """The 0-based token."""

    def __init__(self, count: int, selected: int | None, parent: QWidget | None = None) -> None:
        """`count` tokens, of which the 0-based `selected` one is filled in."""
        super().__init__(parent)
        self.setWindowTitle("Go to token")
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.number = spin(1, count, (selected or 0) + 1, "Token", f"Which token to go to, 1 to {count}")
        self.number.selectAll()
        self.cancel = named(QPushButton("Cancel"), "Cancel", "Stay (Esc)")
        self.go = named(QPushButton("&Go"), "Go", "Select this token (Enter)")
        self.go.setProperty("role", "primary")
        self.go.setDefault(True)
        self.go.clicked.connect(self.accept)
        self.cancel.clicked.connect(self.reject)
        self.accepted.connect(self._tell)
        self._lay_out(count)

    def _lay_out(self, count: int) -> None:
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(labelled("Token", ""))
        row.addWidget(self.number, 1)
        row.addWidget(labelled(f"of {count}", "muted"))
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 20, 20, 16)
        column.setSpacing(16)
        column.addLayout(row)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel)
        buttons.addWidget(self.go)
        column.addLayout(buttons)

    def _tell(self) -> None:
        self.chosen.emit(self.number.value() - 1)
