"""Where the prompt is written."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.choices import NO_TEMPLATE
from app.forms import Note, named

EXAMPLES = (
    ("Explain", "Explain why the sky is blue in two sentences."),
    ("List", "List five everyday uses of a thermometer."),
    ("Code", "Write a Python function that returns the n-th Fibonacci number."),
    ("Rewrite", "Rewrite in a friendly tone: Your request was received and will be processed."),
    ("Korean", "하늘은 왜 파란가요?"),
    ("Repetition", "Repeat the word “layer” twenty times."),
)
"""Chosen to exit differently: free text, lists, code, copying, another script."""

EMPTY = "The prompt is empty; write what the model should answer."


class PromptPanel(QWidget):
    """The prompt, its chat template, and Run."""

    run_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = named(QPlainTextEdit(), "Prompt", "What the model is asked")
        self.text.setPlaceholderText("Ask the model something…")
        self.text.setTabChangesFocus(True)
        self.text.setMinimumHeight(40)  # a sentence below it must find room in a low window
        self.template = named(QCheckBox("&Chat template"), "Chat template", "")
        self.template.setChecked(True)
        self.examples = self._examples_button()
        self.run = named(QPushButton("Run"), "Run", "Run this prompt (Ctrl+Enter)")
        self.run.setProperty("role", "primary")
        self.note = Note()
        self._lay_out()
        self.set_template_available(True)
        self.run.clicked.connect(self.run_requested)
        self.text.textChanged.connect(self.note.clear)
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            shortcut = QShortcut(QKeySequence(Qt.Modifier.CTRL | key), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(self.run.click)

    def prompt(self) -> str | None:
        """The prompt; None, with a sentence in the form, where it is empty."""
        text = self.text.toPlainText()
        if text.strip():
            self.note.clear()
            return text
        self.note.show_error(EMPTY)
        self.text.setFocus()
        return None

    def use_template(self) -> bool:
        """Whether the prompt goes through the model's chat template."""
        return self.template.isEnabled() and self.template.isChecked()

    def set_template_available(self, available: bool) -> None:
        """Grey the template out, with the reason, where the model has none."""
        self.template.setEnabled(available)
        self.template.setToolTip(
            "Wrap the prompt as a user's turn, the way the model was trained" if available else NO_TEMPLATE
        )
        self.template.setAccessibleDescription(self.template.toolTip())

    def show_error(self, sentence: str) -> None:
        """Show a sentence about the prompt under it."""
        self.note.show_error(sentence)

    def set_runnable(self, runnable: bool) -> None:
        """Whether Run does anything now."""
        self.run.setEnabled(runnable)

    def _examples_button(self) -> QToolButton:
        button = named(QToolButton(), "Example prompts", "Prompts that exit in different ways")
        button.setText("E&xamples")
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(button)
        for title, prompt in EXAMPLES:
            action = menu.addAction(f"{title}: {prompt}")
            action.setData(prompt)
        menu.triggered.connect(self._use_example)
        button.setMenu(menu)
        return button

    def _use_example(self, action: QAction) -> None:
        self.text.setPlainText(str(action.data()))
        self.text.setFocus()

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(4)
        row.addWidget(self.template)
        row.addStretch(1)
        row.addWidget(self.examples)
        row.addWidget(self.run)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.text, 1)
        column.addWidget(self.note)
        column.addLayout(row)
