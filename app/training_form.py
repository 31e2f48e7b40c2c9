"""What the user decides before training: prompts, folder, time, and whether to go on from an earlier run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app import training_words as words
from app.forms import Note, NumberSpin, Rows, labelled, named
from core.training.options import TrainOptions, is_unfinished
from resources.paths import PROMPTS

BUDGET = (0.01, 100_000.0, 12.0)
"""Minutes: least, most, and at first."""
FILTER = "JSON Lines (*.jsonl);;All files (*)"


@dataclass(frozen=True, slots=True)
class TrainingSubject:
    """The model to train for."""

    name: str
    ref: str
    """As `core.model.store.ModelStore.resolve` takes it."""
    parts: Path
    """Where its parts go unless the user says otherwise."""


class TrainingForm(QWidget):
    """Inputs that make a `TrainOptions`."""

    changed = Signal()

    def __init__(self, subject: TrainingSubject, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.subject = subject
        self.files = named(QListWidget(), "Prompt files", "JSON Lines with a prompt in each line; their order matters")
        self.files.setMaximumHeight(110)
        self.files.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.add = _button("&Add…", "Add prompt files", "Choose JSON Lines files to learn from", self._add)
        self.remove = _button("Re&move", "Remove the prompt file", "Take the chosen file off the list", self._remove)
        self.own = _button("&Default", "The program’s own prompts", "Learn from the program’s own prompts", self._own)
        self.folder = named(QLineEdit(str(subject.parts)), "Folder for the parts", "Where the trained parts go")
        self.browse = _button("&Browse…", "Choose the folder", "Choose where the trained parts go", self._browse)
        least, most, first = BUDGET
        self.budget = NumberSpin(least, most, first, 1.0, "Budget in minutes", "About how long all stages may take")
        self.resume = named(
            QCheckBox(f"&{words.RESUME}"), words.RESUME, "Takes the same model and the same prompts in the same order"
        )
        self.note = Note()
        self._lay_out()
        self._own()
        self.files.currentRowChanged.connect(self._refresh)
        self.budget.valueChanged.connect(self.changed)
        self.folder.textChanged.connect(self.look_for_unfinished)
        self.resume.toggled.connect(self._warn)
        self.look_for_unfinished()

    def options(self) -> TrainOptions:
        """What is entered.

        Raises:
            UserError: there are no prompt files.
        """
        return TrainOptions(
            model=self.subject.ref,
            prompts=tuple(self._paths()),
            out=self._out(),
            budget_minutes=self.budget.value(),
            resume=self.resume.isEnabled() and self.resume.isChecked(),
        )

    def look_for_unfinished(self) -> None:
        """Offer to go on where there is something to go on from."""
        try:
            there = is_unfinished(self._out())
        except (OSError, ValueError):  # no such folder can be: training will say so
            there = False
        self.resume.setEnabled(there)
        self.resume.setChecked(there)
        self._warn()

    def _out(self) -> Path:
        text = self.folder.text().strip()
        if text.startswith("~/"):
            return Path.home() / text[2:]
        return Path(text) if text else self.subject.parts

    def _paths(self) -> list[Path]:
        return [self.files.item(row).data(Qt.ItemDataRole.UserRole) for row in range(self.files.count())]

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        rows = Rows()
        rows.setVerticalSpacing(10)
        model = labelled(self.subject.name, "")
        model.setToolTip(self.subject.ref)
        rows.add("Model", model)
        rows.add("Prompts", self._files_row(), self.files)
        rows.add("Parts", _row(self.folder, self.browse), self.folder)
        rows.add("Minutes", _row(self.budget, None))
        rows.add_wide(self.resume)
        column.addLayout(rows)
        about = labelled(words.BUDGET_NOTE, "muted")
        about.setWordWrap(True)
        column.addWidget(about)
        column.addWidget(self.note)
        column.addStretch(1)

    def _files_row(self) -> QWidget:
        holder, buttons = QWidget(), QVBoxLayout()
        for button in (self.add, self.remove, self.own):
            buttons.addWidget(button)
        buttons.addStretch(1)
        row = QHBoxLayout(holder)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.files, 1)
        row.addLayout(buttons)
        return holder

    def _show(self, paths: list[Path]) -> None:
        self.files.clear()
        for path in dict.fromkeys(paths):
            own = path.parent == PROMPTS
            item = QListWidgetItem(f"The program’s own: {path.name}" if own else str(path))
            item.setData(Qt.ItemDataRole.UserRole, path)
            item.setToolTip(str(path))
            self.files.addItem(item)
        self._refresh()
        self.changed.emit()

    def _add(self) -> None:
        names, _ = QFileDialog.getOpenFileNames(self, "Prompts to learn from", "", FILTER)
        self._show([*self._paths(), *map(Path, names)])

    def _remove(self) -> None:
        at = self.files.currentRow()
        self._show([path for row, path in enumerate(self._paths()) if row != at])

    def _own(self) -> None:
        self._show(sorted(PROMPTS.glob("*.jsonl")))

    def _browse(self) -> None:
        name = QFileDialog.getExistingDirectory(self, "Where the trained parts go", str(self._out().parent))
        if name:
            self.folder.setText(name)

    def _refresh(self) -> None:
        self.remove.setEnabled(self.files.currentRow() >= 0)

    def _warn(self) -> None:
        if self.resume.isEnabled() and not self.resume.isChecked():
            self.note.show_caution(words.THROWS_AWAY)
        else:
            self.note.clear()


def _button(text: str, name: str, tip: str, action: object) -> QPushButton:
    made = named(QPushButton(text), name, tip)
    made.setAutoDefault(False)
    made.clicked.connect(action)
    return made


def _row(field: QWidget, button: QWidget | None) -> QWidget:
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.addWidget(field, int(button is not None))
    if button is None:
        row.addStretch(1)
    else:
        row.addWidget(button)
    return holder
