"""A dock that looks like a card: bold title, muted subtitle that doubles as legend, the view, or why there is none."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import (
    QDockWidget,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.forms import labelled, named
from app.icons import icon, pixmap
from widgets.palette import Theme
from widgets.theme import RADIUS, mixed

BUTTON = 24
EMPTY_ICON = 40


class Header(QWidget):
    """The title bar by which a panel is moved; a double click floats it or puts it back."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = labelled(title, "title")
        self.subtitle = labelled("", "muted")
        # A long legend may not keep the panel from becoming narrow.
        self.subtitle.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.subtitle.setMinimumWidth(0)
        self.float_button = _small_button(f"Float {title}", "Float this panel, or put it back (double-click its title)")
        self.hide_button = _small_button(f"Hide {title}", "Hide this panel; the View menu brings it back")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 6, 2)
        row.setSpacing(8)
        row.addWidget(self.title)
        row.addWidget(self.subtitle, 1)
        row.addWidget(self.float_button)
        row.addWidget(self.hide_button)


class EmptyState(QWidget):
    """What a panel shows while its view has nothing to show: a sign, and a sentence that says what to do next."""

    def __init__(self, icon_name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icon_name = icon_name
        self._sign = QLabel()
        self._sign.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.sentence = labelled("", "muted")
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.sentence.setWordWrap(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 8, 24, 16)
        column.setSpacing(8)
        column.addStretch(1)
        column.addWidget(self._sign)
        column.addWidget(self.sentence)
        column.addStretch(1)

    def apply_theme(self, theme: Theme) -> None:
        colour = mixed(theme.muted, theme.surface, 0.45)
        self._sign.setPixmap(pixmap(self._icon_name, colour, EMPTY_ICON, self.devicePixelRatioF()))


class Panel(QDockWidget):
    """One dockable view. `key` is its object name, by which its place is remembered."""

    def __init__(self, key: str, title: str, icon_name: str, view: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(title, parent)
        self.setObjectName(key)
        self.view = view
        self.header = Header(title)
        self.setTitleBarWidget(self.header)
        self.empty = EmptyState(icon_name)
        body = QWidget()
        self._stack = QStackedLayout(body)
        self._stack.setContentsMargins(1, 0, 1, 1)
        self._stack.addWidget(view)
        self._stack.addWidget(self.empty)
        self.setWidget(body)
        self.header.float_button.clicked.connect(self._toggle_floating)
        self.header.hide_button.clicked.connect(self.close)

    def set_subtitle(self, text: str) -> None:
        """The muted words after the title; rich text is allowed."""
        if text != self.header.subtitle.text():
            self.header.subtitle.setText(text)

    def set_empty(self, sentence: str | None) -> None:
        """Show this sentence in place of the view; None shows the view."""
        if sentence is not None:
            self.empty.sentence.setText(sentence)
            self.empty.setAccessibleName(sentence)
        self._stack.setCurrentIndex(0 if sentence is None else 1)

    @property
    def is_empty(self) -> bool:
        """Whether a sentence stands in place of the view."""
        return self._stack.currentIndex() == 1

    def apply_theme(self, theme: Theme) -> None:
        faint = mixed(theme.muted, theme.surface, 0.35)
        self.header.float_button.setIcon(icon("float", theme.muted, faint))
        self.header.hide_button.setIcon(icon("close", theme.muted, faint))
        self.empty.apply_theme(theme)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """One card around title bar and view; a floating panel fills its window."""
        painter = QPainter(self)
        colours = self.palette()
        if self.isFloating():
            painter.fillRect(self.rect(), colours.color(QPalette.ColorRole.Base))
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colours.color(QPalette.ColorRole.Mid), 1))
        painter.setBrush(colours.color(QPalette.ColorRole.Base))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)

    def _toggle_floating(self) -> None:
        size, place = self.size(), self.mapToGlobal(QPoint(24, 24))
        self.setFloating(not self.isFloating())
        if self.isFloating():
            self.resize(size.expandedTo(QSize(360, 240)))
            self.move(place)


def _small_button(name: str, tip: str) -> QToolButton:
    button = named(QToolButton(), name, tip)
    button.setProperty("role", "small")
    button.setFixedSize(BUTTON, BUTTON)
    button.setStyleSheet("padding: 2px;")
    return button
