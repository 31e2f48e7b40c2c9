"""Where the user names an exit policy of their own."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.forms import Note, named
from app.own_policy import class_in
from core.errors import UserError

WARNING = "The file is code: a run executes it with all your rights. Choose only files you trust."


class OwnPolicyField(QWidget):
    """FILE.py:Class, to be typed or chosen; the file is only read here, never run."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.text = named(
            QLineEdit(), "Your own class", "An exit policy as FILE.py:Class; docs/own-policy.md shows one"
        )
        self.text.setPlaceholderText("FILE.py:Class")
        self.browse = named(QPushButton("Bro&wse…"), "Browse for a policy file", "Choose a Python file")
        self.note = Note()
        self.note.show_caution(WARNING)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.text, 1)
        row.addWidget(self.browse)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addLayout(row)
        column.addWidget(self.note)
        self.setFocusProxy(self.text)
        self.browse.clicked.connect(self._choose)
        self.text.textChanged.connect(self._edited)

    def value(self) -> str:
        return self.text.text().strip()

    def setValue(self, reference: str) -> None:
        self.text.setText(reference)
        self.text.setCursorPosition(len(reference))  # the class, not the start of a long path

    def take_file(self, path: Path) -> None:
        """Name this file and the class in it that most likely is the policy."""
        try:
            self.setValue(f"{path}:{class_in(path)}")
        except UserError as error:
            self.setValue(f"{path}:")
            self.note.show_error(str(error))

    @Slot()
    def _choose(self) -> None:
        named_now = Path(self.value().rpartition(":")[0])
        start = named_now.parent if named_now.is_file() else Path.home()
        path, _ = QFileDialog.getOpenFileName(self, "Choose your exit policy", str(start), "Python files (*.py)")
        if path:
            self.take_file(Path(path))

    @Slot()
    def _edited(self) -> None:
        self.text.setToolTip(self.value() or self.text.accessibleDescription())
        self.note.show_caution(WARNING)
        self.changed.emit()
