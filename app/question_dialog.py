"""A question that has to be answered before anything else: a sentence and two to three answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from app.forms import labelled, named
from app.message_dialog import MessageDialog
from app.message_head import message_head
from widgets.palette import Theme

WIDTH = 460


@dataclass(frozen=True, slots=True)
class Answer:
    """One of the buttons."""

    key: str
    """What `QuestionDialog.answered` says."""
    text: str
    """With its mnemonic."""
    tip: str


class QuestionDialog(MessageDialog):
    """Asks once. Esc and the close button give the last answer, which has to be the harmless one."""

    answered = Signal(str)
    """The key of the answer, once the dialog is gone."""

    def __init__(
        self, title: str, sentence: str, answers: Sequence[Answer], theme: Theme, parent: QWidget | None = None
    ) -> None:
        """The first answer is the one that Enter gives."""
        super().__init__(title, WIDTH, parent)
        self.setAccessibleDescription(sentence)
        self._answer = answers[-1].key
        self.sentence = labelled(sentence, "")
        self.sentence.setWordWrap(True)
        self.sentence.setTextFormat(Qt.TextFormat.PlainText)
        self.buttons = {answer.key: self._button(answer) for answer in answers}
        self._lay_out(title, theme)
        first = self.buttons[answers[0].key]
        first.setProperty("role", "primary")
        first.setDefault(True)
        first.setFocus()
        self.finished.connect(self._tell)

    def _button(self, answer: Answer) -> QPushButton:
        button = named(QPushButton(answer.text), answer.text.replace("&", ""), answer.tip)
        button.setObjectName(answer.key)
        button.clicked.connect(self._choose)
        return button

    def _lay_out(self, title: str, theme: Theme) -> None:
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addStretch(1)
        for button in reversed(self.buttons.values()):
            row.addWidget(button)
        column = self.say(message_head(self, "session", theme.accent, title, self.sentence), spacing=16)
        column.addLayout(row)

    def _choose(self) -> None:
        self._answer = self.sender().objectName()
        self.accept()

    def _tell(self) -> None:
        self.answered.emit(self._answer)
