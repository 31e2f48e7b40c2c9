"""What to look for: a text or pattern, a range of exit layers, an outcome."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from app.choices import Choice
from app.forms import Note, combo, labelled, named, spin
from core.analysis.search import Query
from core.analysis.summaries import Outcome
from core.analysis.text_conditions import LONGEST_TEXT

MOST_LAYERS = 999
TYPING_MS = 150
"""A pause in typing after which the search begins."""
OUTCOMES = (
    Choice("", "any outcome", "However the token left"),
    Choice(str(int(Outcome.EARLY_EXIT)), "early exit", "Left before the last layer"),
    Choice(str(int(Outcome.WRONG_EXIT)), "wrong exit", "Left early, and full depth gives another token (audit)"),
    Choice(str(int(Outcome.REFUSED)), "full depth, refused", "Ran to the end although exits were proposed"),
    Choice(str(int(Outcome.FULL_DEPTH)), "full depth", "Ran to the end, and no exit was proposed"),
    Choice(str(int(Outcome.GIVEN)), "given to a branch", "Taken over from the run that was left, or put in its place"),
    Choice(str(int(Outcome.PREFILL)), "from prefill", "The first token, of the prompt’s own pass"),
)


class FindForm(QWidget):
    """Tells what is asked once the user stops typing."""

    asked = Signal(object)
    """A `Query`."""
    moved = Signal(bool)
    """To the next token found, or the previous one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = named(
            QLineEdit(), "Text to find", "Characters of the generated text, across tokens; · ⏎ ⇥ find what they mark"
        )
        self.text.setPlaceholderText("Find in the text…")
        self.text.setMaxLength(LONGEST_TEXT)
        self.text.setClearButtonEnabled(True)
        self.pattern = named(QCheckBox(".*"), "Regular expression", "Try the text as a pattern on each token")
        self.case = named(QCheckBox("Aa"), "Match case", "Tell capitals from small letters")
        self.least = spin(1, MOST_LAYERS, 1, "Least exit layer", "Exit layers from here on")
        self.most = spin(0, MOST_LAYERS, 0, "Most exit layer", "Exit layers up to here")
        self.most.setSpecialValueText("L")
        self.outcome = combo(OUTCOMES, "Outcome", "How the token left")
        self.note = Note()
        self._pause = QTimer(self, singleShot=True, interval=TYPING_MS)
        self._pause.timeout.connect(self.ask)
        self._lay_out()
        self.text.textChanged.connect(self._pause.start)
        for box in (self.pattern, self.case):
            box.toggled.connect(self.ask)
        for number in (self.least, self.most):
            number.valueChanged.connect(self._pause.start)
        self.outcome.currentIndexChanged.connect(self.ask)

    def query(self) -> Query:
        """What is entered."""
        text, outcome = self.text.text(), self.outcome.currentData()
        return Query(
            text=text,
            pattern=bool(text) and self.pattern.isChecked(),
            match_case=bool(text) and self.case.isChecked(),
            least_layers=self.least.value(),
            most_layers=self.most.value() or None,
            outcomes=frozenset({Outcome(int(outcome))} if outcome else ()),
        )

    def set_depth(self, depth: int | None) -> None:
        """How many layers the model of the run on show has; None where there is none."""
        for number in (self.least, self.most):
            number.setMaximum(depth or MOST_LAYERS)
        self.most.setSpecialValueText(f"{depth}" if depth else "L")

    @Slot()
    def ask(self) -> None:
        """Tell now what is asked."""
        self._pause.stop()
        self.asked.emit(self.query())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter goes to the next token found, with Shift to the previous one."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.ask()
            self.moved.emit(not event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        else:
            super().keyPressEvent(event)

    def _lay_out(self) -> None:
        first, second = QHBoxLayout(), QHBoxLayout()
        for row in (first, second):
            row.setSpacing(6)
        first.addWidget(self.outcome, 1)
        first.addWidget(self.pattern)
        first.addWidget(self.case)
        second.addWidget(labelled("Exit layers", "muted"))
        second.addWidget(self.least, 1)
        second.addWidget(labelled("–", "muted"))
        second.addWidget(self.most, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self.text)
        column.addLayout(first)
        column.addLayout(second)
        column.addWidget(self.note)
