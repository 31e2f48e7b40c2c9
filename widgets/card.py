"""A rounded surface with a title, a subtitle that doubles as legend, and one view or the words for why it is empty."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QFontMetrics
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

EDGE = 3
"""Room in pixels that views keep for their focus ring; the header is set in by as much, so that both line up."""
SUBTITLE_LINES = 3
"""More than this is cut; the tool tip has all of it."""


class Card(QFrame):
    """Frames `view`, which it owns; the view's own actions become buttons in the header."""

    def __init__(self, title: str, view: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "card")
        self.setAccessibleName(title)
        if not view.accessibleName():
            view.setAccessibleName(title)
        self.view = view
        self._title = _label(title, "title")
        self._subtitle = _wrapping_label("muted")
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(2)
        self._empty_headline, self._empty_note = _wrapping_label("title"), _wrapping_label("muted")
        self._body = QStackedWidget()
        self._body.addWidget(view)
        self._body.addWidget(self._empty_page())
        self._arrange()
        for action in view.actions():
            self.add_action(action)
        self.setFocusProxy(view)

    @property
    def title(self) -> str:
        return self._title.text()

    @property
    def subtitle(self) -> str:
        """The subtitle as it was set, rich text included."""
        return self._subtitle.text()

    @property
    def empty_text(self) -> str | None:
        """What `set_empty` was given; None while the view is shown."""
        if self._body.currentWidget() is self.view:
            return None
        return "\n".join(filter(None, [self._empty_headline.text(), self._empty_note.text()]))

    def set_subtitle(self, text: str) -> None:
        """Show `text`, which may be rich, beside the title; it wraps where the card is narrow."""
        self._subtitle.setText(text)
        self._subtitle.setToolTip(text)

    def set_empty(self, text: str | None) -> None:
        """Show `text` in place of the view, its first line as a headline; None shows the view again."""
        headline, _, note = (text or "").partition("\n")
        self._empty_headline.setText(headline)
        self._empty_note.setText(note)
        self._empty_note.setVisible(bool(note))
        self._body.setCurrentIndex(0 if text is None else 1)
        self._body.setAccessibleDescription(text or "")

    def add_action(self, action: QAction) -> QToolButton:
        """A quiet button for `action` at the right of the header."""
        button = QToolButton()
        button.setDefaultAction(action)
        button.setProperty("role", "quiet")
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._buttons.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return button

    def _arrange(self) -> None:
        header = QHBoxLayout()
        header.setSpacing(8)
        header.setContentsMargins(EDGE, 0, EDGE, 0)
        header.addWidget(self._title, 0, Qt.AlignmentFlag.AlignTop)
        header.addWidget(self._subtitle, 1, Qt.AlignmentFlag.AlignTop)
        header.addLayout(self._buttons)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12 - EDGE, 9, 12 - EDGE, 9)
        layout.setSpacing(6)
        layout.addLayout(header)
        layout.addWidget(self._body, 1)
        drop = self._baseline_drop()
        self._subtitle.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._subtitle.setContentsMargins(0, drop, 0, 0)
        self._subtitle.setMaximumHeight(drop + SUBTITLE_LINES * QFontMetrics(self._subtitle.font()).lineSpacing() + 2)

    def _baseline_drop(self) -> int:
        """How much lower the smaller subtitle must start for both to stand on one line."""
        self._title.ensurePolished()
        self._subtitle.ensurePolished()
        return max(0, QFontMetrics(self._title.font()).ascent() - QFontMetrics(self._subtitle.font()).ascent())

    def _empty_page(self) -> QWidget:
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(16, 8, 16, 8)
        layout.setSpacing(4)
        layout.addStretch(2)
        for label in (self._empty_headline, self._empty_note):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            layout.addWidget(label)
        layout.addStretch(3)
        return page


def _label(text: str, role: str) -> QLabel:
    label = QLabel(text)
    label.setProperty("role", role)
    return label


def _wrapping_label(role: str) -> QLabel:
    label = _label("", role)
    label.setWordWrap(True)
    policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    # A wrapping label's own width hint is arbitrary; ignored, it takes what is there and grows downwards.
    policy.setHeightForWidth(True)
    label.setSizePolicy(policy)
    return label
