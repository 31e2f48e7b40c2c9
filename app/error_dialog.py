"""How a failure is told: one sentence, and the traceback and a report only to those who ask for them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import QDialogButtonBox, QPlainTextEdit, QPushButton, QWidget

from app.bug_report import bug_report, without_home
from app.failure import Failure
from app.forms import labelled, named, plain
from app.message_dialog import MessageDialog
from app.message_head import message_head
from widgets.palette import Theme

WIDTH = 520


class ErrorDialog(MessageDialog):
    """A failure's sentence; details and a report to copy where there is a traceback."""

    def __init__(
        self,
        failure: Failure,
        theme: Theme,
        parent: QWidget | None = None,
        report: Callable[[Failure], str] = bug_report,
    ) -> None:
        """`report` makes the text to copy for whoever fixes it."""
        super().__init__("Cannot do that" if failure.user_error else "Something went wrong", WIDTH, parent)
        self._failure, self._report = failure, report
        self.sentence = labelled(plain(failure.sentence), "")
        self.sentence.setWordWrap(True)
        self.sentence.setTextFormat(Qt.TextFormat.PlainText)
        self.sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setAccessibleDescription(failure.sentence)
        self.details = self._details_box()
        self._lay_out(theme)

    def _details_box(self) -> QPlainTextEdit:
        box = named(QPlainTextEdit(without_home(self._failure.details)), "Details", "The traceback, for a bug report")
        box.setReadOnly(True)
        box.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        box.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        box.setMinimumHeight(200)
        box.hide()
        return box

    def _lay_out(self, theme: Theme) -> None:
        sign, colour = ("warning", theme.caution) if self._failure.user_error else ("error", theme.wrong)
        column = self.say(message_head(self, sign, colour, self.windowTitle(), self.sentence), spacing=14)
        column.addWidget(self.details, 1)
        buttons = self._buttons()
        column.addWidget(buttons)
        buttons.button(QDialogButtonBox.StandardButton.Close).setFocus()

    def _buttons(self) -> QDialogButtonBox:
        box = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        box.rejected.connect(self.reject)
        close = box.button(QDialogButtonBox.StandardButton.Close)
        close.setToolTip("Close this message (Esc)")
        if self._failure.details:
            self.toggle = box.addButton("Show details", QDialogButtonBox.ButtonRole.ActionRole)
            self.toggle.clicked.connect(self._toggle_details)
            self.copy = QPushButton("Copy report")
            self.copy.setToolTip("Put the fault, versions, settings and the log on the clipboard; no folder of yours")
            box.addButton(self.copy, QDialogButtonBox.ButtonRole.ActionRole)
            self.copy.clicked.connect(self._copy)
        close.setDefault(True)
        return box

    def _toggle_details(self) -> None:
        self.details.setVisible(self.details.isHidden())
        self.toggle.setText("Show details" if self.details.isHidden() else "Hide details")
        self.fit()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._report(self._failure))
        self.copy.setText("Copied")
