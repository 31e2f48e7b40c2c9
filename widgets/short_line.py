"""One line of words that may be longer than its room, such as a legend in a narrow panel's title."""

from __future__ import annotations

import html
import math
import re

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF, QResizeEvent, QTextDocument
from PySide6.QtWidgets import QLabel, QWidget

from widgets.quiet_label import QuietLabel

_BETWEEN = re.compile(r"( &nbsp;| · )")
"""What stands between the parts of a legend, in rich text."""
_MARKUP = re.compile("[<&]")
_REST = " …"
_SPARE = 1
"""Pixels: at fractional scales letters are drawn a little wider than they are measured."""


class ShortLine(QuietLabel):
    """Rich text in parts: the last ones that find no room are left out, and the tooltip tells them all. A first
    part of mere words stands without dots where only they find no room, and is cut where even that is too long.

    It asks for no room, so it neither keeps a panel from becoming narrow nor moves what is below it by wrapping.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, placed=True)
        self._text = ""
        self._font = ""
        """The type that the widths are of."""
        self._widths: dict[str, float] = {}
        """Of each part with markup, in pixels; legends say the same for long."""
        self._shown = self._tip = ""
        self.lead = QLabel(self)
        """The first parts, as far as they are mere words: these change with every token, a legend after them does not,
        and rich text is laid out at some cost."""
        self.lead.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setTextFormat(Qt.TextFormat.RichText)
        self.label.restyled.connect(self._measure_anew)

    def set_role(self, role: str) -> None:
        """Have it styled as labels in this role are."""
        for label in (self.lead, self.label):
            label.setProperty("role", role)

    def text(self) -> str:
        """The whole text, shown or not."""
        return self._text

    def shown(self) -> str:
        """What of it there is room for, and dots for the rest."""
        return self._shown

    def setText(self, text: str) -> None:
        """Show this, as far as there is room."""
        if text != self._text:
            self._text = text
            self._shorten()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._shorten()

    def _measure_anew(self) -> None:
        """Only in other type: another theme restyles each label several times."""
        if (font := self.label.font().key()) != self._font:
            self._font = font
            self._widths.clear()
            self._shorten()

    def _shorten(self) -> None:
        parts = _BETWEEN.split(self._text)  # every other one is what stands between
        count = len(parts)
        room = self.width() - _SPARE
        if self._width(parts) > room:
            while count > 1 and self._width([*parts[:count], _REST]) > room:
                count -= 2
        shown = "".join(parts) if count == len(parts) else "".join(parts[:count]) + _REST
        if count == 1 and "<" not in shown and self._width([shown]) > room:
            # Whole words without the dots rather than dots in place of words.
            shown = parts[0] if self._width(parts[:1]) <= room else shown
            words = self.label.fontMetrics().elidedText(html.unescape(shown), Qt.TextElideMode.ElideRight, room)
            shown = html.escape(words)
        self._shown = shown
        self._place(*_split(shown))
        tip = "" if shown == self._text else self._text
        if tip != self._tip:
            self._tip = tip
            self.setToolTip(tip)

    def _place(self, words: str, rest: str) -> None:
        """Show mere words, and after them what is more."""
        self.lead.setText(words)
        left = math.ceil(QFontMetricsF(self.lead.font()).horizontalAdvance(words)) if words else 0
        self.lead.setGeometry(0, 0, left, self.height())
        self.label.setGeometry(left, 0, self.width(), self.height())  # of another width it would be laid out anew
        if rest != self.label.text():
            self.label.setText(rest)
            self.label.sizeHint()  # lays it out; while it is painted that would have it painted once more

    def _width(self, parts: list[str]) -> float:
        return sum(self._width_of(part) for part in parts)

    def _width_of(self, part: str) -> float:
        if part not in self._widths:
            if not _MARKUP.search(part) and not _BETWEEN.fullmatch(part) and part != _REST:
                return QFontMetricsF(self.label.font()).horizontalAdvance(part)  # words change with every token
            document = QTextDocument()
            document.setDocumentMargin(0)
            document.setDefaultFont(self.label.font())
            # Rich text drops spaces at its ends, but not those that never break.
            document.setHtml(part.replace(" ", "&nbsp;") if _BETWEEN.fullmatch(part) or part == _REST else part)
            self._widths[part] = document.idealWidth()
        return self._widths[part]


def _split(text: str) -> tuple[str, str]:
    """Rich text in parts: its first ones that are mere words, as plain text, and the rest."""
    parts = _BETWEEN.split(text)
    count = next((at for at, part in enumerate(parts) if "<" in part), len(parts))
    rest = "".join(parts[count:])
    return html.unescape("".join(parts[:count])), rest
