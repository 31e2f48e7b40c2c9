"""A dock that looks like a card: bold title, muted subtitle that doubles as legend, the view, or why there is none."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction, QMouseEvent, QPainter, QPaintEvent, QPalette, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QDockWidget,
    QHBoxLayout,
    QLabel,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.forms import labelled, named
from app.icons import icon, pixmap
from app.named_keys import say, with_keys
from app.places import Place
from widgets.painting import painting
from widgets.palette import Theme
from widgets.short_line import ShortLine
from widgets.theme import RADIUS, RESTYLED, mixed

BUTTON = 24
EMPTY_ICON = 40
LEAST_EMPTY = 44
"""Pixels of height that a sentence in a view's place asks for: two lines of it."""
SIGN_FROM = 116
"""Pixels of height from which a sign stands above the sentence."""
BODY_MARGINS = (12, 2, 12, 10)
HEADER_MARGINS = (12, 7, 8, 4)
BUTTON_ICON = 14


class Header(QWidget):
    """The title bar by which a panel is moved."""

    double_clicked = Signal()

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = labelled(title, "title")
        self.subtitle = ShortLine()
        self.subtitle.set_role("muted")
        self.explain_button = _small_button(f"What is {title}?", "What this panel shows, and how it is read (Shift+F1)")
        self.float_button = _small_button(f"Float {title}", "Float this panel, or put it back")
        self.hide_button = _small_button(f"Hide {title}", "Hide this panel; the View menu brings it back")
        self._row = row = QHBoxLayout(self)
        row.setContentsMargins(*HEADER_MARGINS)
        row.setSpacing(6)
        row.addWidget(self.title)
        row.addWidget(self.subtitle, 1)
        row.addWidget(self.explain_button)
        row.addWidget(self.float_button)
        row.addWidget(self.hide_button)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in RESTYLED:
            self._fit()

    def _fit(self) -> None:
        """Be as high as buttons and title ask for."""
        line = max(BUTTON, self.title.sizeHint().height())
        self.setFixedHeight(line + HEADER_MARGINS[1] + HEADER_MARGINS[3])

    def apply_theme(self, theme: Theme) -> None:
        faint = mixed(theme.muted, theme.surface, 0.35)
        self.explain_button.setIcon(icon("help", theme.muted, faint))
        self.float_button.setIcon(icon("float", theme.muted, faint))
        self.hide_button.setIcon(icon("close", theme.muted, faint))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """The dock would float."""
        event.accept()
        self.double_clicked.emit()

    def add_action(self, action: QAction, *, small: bool = False) -> None:
        """A quiet button for `action`, left of the window buttons; a small one, as these are, for its icon alone."""
        button = _small(QToolButton()) if small else QToolButton()
        button.setProperty("role", "quiet")
        button.setDefaultAction(action)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._row.insertWidget(self._row.indexOf(self.explain_button), button)


class EmptyState(QWidget):
    """What a panel shows while its view has nothing to show: a sign, and a sentence that says what to do next."""

    def __init__(self, icon_name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icon_name = icon_name
        self._sign = QLabel()
        self._sign.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.headline, self.note = labelled("", "title"), labelled("", "muted")
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 8, 24, 16)
        column.setSpacing(6)
        column.addStretch(2)
        column.addWidget(self._sign)
        for label in (self.headline, self.note):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            label.setWordWrap(True)
            column.addWidget(label)
        column.addStretch(3)

    def minimumSizeHint(self) -> QSize:
        """A line: what a panel may say some time shall not keep it from being low now."""
        return QSize(super().minimumSizeHint().width(), LEAST_EMPTY)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a low panel the words need the room."""
        super().resizeEvent(event)
        self._sign.setVisible(self.height() >= SIGN_FROM)

    def show_text(self, text: str) -> None:
        """The first line says how things are, the rest what to do; a text of one line only explains."""
        headline, note = text.split("\n", 1) if "\n" in text else ("", text)
        say(self.headline, headline)
        say(self.note, note)
        self.headline.setVisible(bool(headline))
        self.setAccessibleName(with_keys(text))

    def apply_theme(self, theme: Theme) -> None:
        colour = mixed(theme.muted, theme.surface, 0.45)
        self._sign.setPixmap(pixmap(self._icon_name, colour, EMPTY_ICON, self.devicePixelRatioF()))


class Panel(QDockWidget):
    """One dockable view, which may come later. `place.key` is the object name, by which its place is remembered.

    A double click on its title gives it all the room, or puts a floating one back.
    """

    maximise_wanted = Signal()
    explain_wanted = Signal()
    """The user asks what this panel shows."""
    filled = Signal()
    """Its view is on show, where a sentence was."""

    def __init__(self, place: Place, parent: QWidget | None = None) -> None:
        super().__init__(place.title, parent)
        self.setObjectName(place.key)
        self.view: QWidget | None = None
        self.header = Header(place.title)
        self.setTitleBarWidget(self.header)
        self.empty = EmptyState(place.icon)
        body = QWidget()
        room = QVBoxLayout(body)
        room.setContentsMargins(*BODY_MARGINS)
        self._stack = QStackedLayout()
        room.addLayout(self._stack)
        self._stack.addWidget(self.empty)
        self.setWidget(body)
        self.header.explain_button.clicked.connect(self.explain_wanted)
        self.header.float_button.clicked.connect(self._toggle_floating)
        self.header.hide_button.clicked.connect(self.close)
        self.header.double_clicked.connect(self._answer_double_click)

    def set_view(self, view: QWidget) -> None:
        """Hold this view from now on; out of sight until it is shown."""
        self.view = view
        self._stack.addWidget(view)

    def show_view(self, view: QWidget) -> None:
        """Hold this view, which always has something to show."""
        self.set_view(view)
        self.set_empty(None)

    def set_subtitle(self, text: str) -> None:
        """The muted words after the title, rich text in parts; what finds no room is in the tooltip."""
        self.header.subtitle.setText(text)

    def set_empty(self, sentence: str | None) -> None:
        """Show this sentence in place of the view; None shows the view, which must be there."""
        if sentence is not None:
            if sentence != self.empty.accessibleName():  # it is told again with every piece of a prompt that is read
                self.empty.show_text(sentence)
            self._stack.setCurrentWidget(self.empty)
        else:
            assert self.view is not None, "a panel without a view has nothing to show"
            was_empty = self.is_empty
            self._stack.setCurrentWidget(self.view)
            if was_empty:
                self.filled.emit()

    def add_action(self, action: QAction, *, small: bool = False) -> None:
        """A quiet button for `action` in the title bar; a small one for its icon alone."""
        self.header.add_action(action, small=small)

    @property
    def is_empty(self) -> bool:
        """Whether a sentence stands in place of the view."""
        return self._stack.currentWidget() is self.empty

    def bring_forward(self) -> None:
        """Of panels behind each other, show this one, which has something to show now."""
        if not self.isFloating():
            self.raise_()

    def apply_theme(self, theme: Theme) -> None:
        self.header.apply_theme(theme)
        self.empty.apply_theme(theme)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """One card around title bar and view; a floating panel fills its window."""
        with painting(self) as painter:
            colours, inner = self.palette(), self.rect().adjusted(RADIUS, RADIUS, -RADIUS, -RADIUS)
            if self.isFloating() or inner.contains(event.rect()):  # the ground below what changes in the view
                painter.fillRect(event.rect(), colours.color(QPalette.ColorRole.Base))
                return
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(colours.color(QPalette.ColorRole.Mid), 1))
            painter.setBrush(colours.color(QPalette.ColorRole.Base))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)

    @Slot()
    def _answer_double_click(self) -> None:
        if self.isFloating():
            self._toggle_floating()
        else:
            self.maximise_wanted.emit()

    @Slot()
    def _toggle_floating(self) -> None:
        self.raise_()  # behind others it has no place, and would open beyond the screen
        size, place = self.size(), self.mapToGlobal(QPoint(24, 24))
        self.setFloating(not self.isFloating())
        if self.isFloating():
            self.resize(size.expandedTo(QSize(360, 240)))
            self.move(place)
        else:
            self.raise_()  # whoever puts it back among others is reading it


def _small_button(name: str, tip: str) -> QToolButton:
    button = named(_small(QToolButton()), name, tip)
    button.setProperty("role", "quiet")
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


def _small(button: QToolButton) -> QToolButton:
    """The same, with room for an icon only."""
    button.setFixedSize(BUTTON, BUTTON)
    button.setIconSize(QSize(BUTTON_ICON, BUTTON_ICON))
    button.setProperty("bare", True)
    return button
