"""The why panel: one paragraph with its numbers in bold, and an action that copies it."""

from __future__ import annotations

import html
import re

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import (
    QAction,
    QColor,
    QFont,
    QGuiApplication,
    QPaintEvent,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
)
from PySide6.QtWidgets import QTextEdit, QVBoxLayout, QWidget

from widgets.painting import painting
from widgets.palette import DARK, Theme
from widgets.theme import mixed

COPIED_MS = 1500
"""How long the button says that it has copied."""

_BOLD = re.compile("</?b>")
_LINE_HEIGHT = 140
"""Percent."""

PLACEHOLDER = "Select a token, or a layer of one, and this says why the pass did or did not end there."


class Paper(QTextEdit):
    """A text on the ground of its panel, which it paints itself: else all that it lies in is painted anew with it."""

    def __init__(self) -> None:
        super().__init__()
        self.ground = QColor(DARK.surface)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self.viewport()) as painter:
            painter.fillRect(event.rect(), self.ground)
        super().paintEvent(event)


class WhyView(QWidget):
    """Shows HTML whose only tag is `<b>`; it can be selected, scrolled and copied, not edited.

    `copy_action` is for the header of the panel that shows this.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._html = ""
        self._text = Paper()
        self._text.setReadOnly(True)
        self._text.setProperty("role", "plain")
        self._text.setPlaceholderText(PLACEHOLDER)
        self._text.setTabChangesFocus(True)
        self._text.setAccessibleName("Why")
        self._text.document().setDocumentMargin(0)
        self._text.setUndoRedoEnabled(False)  # or it would keep every paragraph
        self._words, self._numbers = QTextCharFormat(), QTextCharFormat()
        self._numbers.setFontWeight(QFont.Weight.Bold)
        self.copy_action = QAction("Copy", self)
        self.copy_action.setToolTip("Copy this paragraph as plain text")
        self.copy_action.triggered.connect(self.copy)
        self.addAction(self.copy_action)
        self._copied = QTimer(self, singleShot=True, interval=COPIED_MS)
        self._copied.timeout.connect(self._rest)
        self._arrange()
        self.setAccessibleName("Why")
        self.setFocusProxy(self._text)
        self.apply_theme(DARK)

    def set_text(self, html: str) -> None:
        """Show this paragraph; "" shows what to do to get one."""
        if html == self._html and bool(html) == self.copy_action.isEnabled():
            return  # The paragraph is set again at each event; the reader's selection and place must survive that.
        self._html = html
        self._show()

    def apply_theme(self, theme: Theme) -> None:
        self._text.ground = QColor(theme.surface)
        # Plain words step back a little, so that the bold numbers can be found at a glance.
        self._words.setForeground(QColor(mixed(theme.text, theme.muted, 0.45)))
        self._numbers.setForeground(QColor(theme.text))
        self._show()

    def clear(self) -> None:
        self._html = ""
        self._show()

    def text(self) -> str:
        """What is shown, without markup; "" where nothing is selected."""
        return self._text.toPlainText().replace("\u00a0", " ")

    def copy(self) -> None:
        """Put the paragraph on the clipboard, as plain text."""
        QGuiApplication.clipboard().setText(self.text())
        self.copy_action.setText("Copied ✓")
        self._copied.start()

    def sizeHint(self) -> QSize:
        return QSize(480, self.fontMetrics().lineSpacing() * 4)

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self.fontMetrics().lineSpacing() * 2)

    def _show(self) -> None:
        if self._html:
            self._write()
        else:
            self._text.clear()
        self._text.setAccessibleDescription(self.text())
        self.copy_action.setEnabled(bool(self._html))
        self._rest()

    def _write(self) -> None:
        """Half as dear as to have Qt read the HTML, and a new token comes often."""
        spacing = QTextBlockFormat()
        spacing.setLineHeight(_LINE_HEIGHT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        cursor = QTextCursor(self._text.document())
        cursor.beginEditBlock()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.removeSelectedText()  # a document that is cleared makes its frames anew
        cursor.setBlockFormat(spacing)
        for at, piece in enumerate(_BOLD.split(self._html)):
            if piece:
                cursor.insertText(html.unescape(piece), self._numbers if at % 2 else self._words)
        cursor.endEditBlock()
        self._text.moveCursor(QTextCursor.MoveOperation.Start)

    def _rest(self) -> None:
        self._copied.stop()
        self.copy_action.setText("Copy")

    def _arrange(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._text)
