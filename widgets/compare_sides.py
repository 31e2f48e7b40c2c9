"""One token as both runs have it, side by side, with B's reasons: text that is read and copied."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QTextEdit, QWidget

from widgets.palette import DARK, Theme
from widgets.theme import mixed

PLACEHOLDER = "Select a row to see the token as both runs have it, and why B left where it did."


class CompareSides(QTextEdit):
    """Shows HTML made of `<table>`, `<p>`, `<b>` and `<i>`; it can be selected, scrolled and copied, not edited."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._html = ""
        self._theme = DARK
        self.setReadOnly(True)
        self.setProperty("role", "plain")
        self.setPlaceholderText(PLACEHOLDER)
        self.setTabChangesFocus(True)
        self.setAccessibleName("The selected token in both runs")
        self.document().setDocumentMargin(0)

    def show_html(self, html: str) -> None:
        """Show this; "" says how to get something."""
        if html != self._html:  # the reader's selection and place survive what says the same again
            self._html = html
            self._show()

    def apply_theme(self, theme: Theme) -> None:
        """Take over these colours, live."""
        self._theme = theme
        self._show()

    def sizeHint(self) -> QSize:
        return QSize(360, self.fontMetrics().lineSpacing() * 9)

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self.fontMetrics().lineSpacing() * 3)

    def _show(self) -> None:
        theme = self._theme
        words = mixed(theme.text, theme.muted, 0.45)
        self.document().setDefaultStyleSheet(
            f"p, td {{ color: {words}; }} b {{ color: {theme.text}; }} th {{ color: {theme.muted}; font-weight: normal;"
            f" text-align: left; }} i {{ color: {theme.caution}; font-style: normal; }}"
        )
        self.setHtml(self._html)
        self.setAccessibleDescription(self.toPlainText().replace("\u00a0", " "))
