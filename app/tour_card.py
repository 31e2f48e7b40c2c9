"""What the tour lays over the window: a frame around a panel, and a card with words and buttons beside it."""

from __future__ import annotations

from PySide6.QtCore import QEasingCurve, QPoint, QPropertyAnimation, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeySequence, QPainter, QPaintEvent, QPalette, QPen, QShortcut
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.forms import labelled
from app.named_keys import say, with_keys
from widgets.painting import painting
from widgets.theme import RADIUS

WIDTH = 380
LETTERS = 46
"""That a line has room for, in type of any size."""
GAP = 10
"""Pixels between panel and card, and between card and the window's edge."""
MOVE_MS = 220


class TourFrame(QWidget):
    """A frame in the accent colour, which the mouse goes through."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._motion = QPropertyAnimation(self, b"geometry", self)
        self._motion.setDuration(MOVE_MS)
        self._motion.setEasingCurve(QEasingCurve.Type.InOutCubic)

    @property
    def is_moving(self) -> bool:
        return self._motion.state() is QPropertyAnimation.State.Running

    def surround(self, place: QRect, *, still: bool) -> None:
        """Go around this part of the window, at once where nothing may move by itself."""
        self._motion.stop()
        if still or not self.isVisible():
            self.setGeometry(place)
        elif place != self.geometry():
            self._motion.setStartValue(self.geometry())
            self._motion.setEndValue(place)
            self._motion.start()
        self.show()
        self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(self.palette().color(QPalette.ColorRole.Accent), 3))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5), RADIUS, RADIUS)


class Raised(QFrame):
    """A raised card with a border, over whatever lies below."""

    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self) as painter:
            colours = self.palette()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.fillRect(self.rect(), colours.color(QPalette.ColorRole.Window))
            painter.setPen(QPen(QColor(colours.color(QPalette.ColorRole.Accent)), 1))
            painter.setBrush(colours.color(QPalette.ColorRole.Light))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)


class TourCard(Raised):
    """Words with Back, Next and Skip; → and Return go on, ← goes back, Esc ends the tour."""

    forward = Signal()
    backward = Signal()
    ended = Signal()

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.count, self.title, self.text = labelled("", "muted"), labelled("", "title"), QLabel()
        self.text.setWordWrap(True)
        self.text.setTextFormat(Qt.TextFormat.RichText)
        self.skip, self.back, self.next = QPushButton("Skip"), QPushButton("Back"), QPushButton("Next")
        self.next.setProperty("role", "primary")
        self.next.setDefault(True)
        self._lay_out()
        for button, signal in ((self.skip, self.ended), (self.back, self.backward), (self.next, self.forward)):
            button.clicked.connect(signal)
        for key, signal in (
            (Qt.Key.Key_Escape, self.ended),
            (Qt.Key.Key_Left, self.backward),
            (Qt.Key.Key_Right, self.forward),
            (Qt.Key.Key_Return, self.forward),
        ):
            shortcut = QShortcut(QKeySequence(key), self, context=Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(signal)

    def show_stop(self, number: int, count: int, title: str, text: str) -> None:
        """Show one stop; `number` counts from 1."""
        self.count.setText(f"{number} of {count}")
        self.title.setText(title)
        say(self.text, text)
        self.back.setEnabled(number > 1)
        self.skip.setVisible(number < count)
        self.next.setText("Next" if number < count else "Done")
        self.setAccessibleName(f"Tour, {number} of {count}: {title}")
        self.next.setAccessibleDescription(f"{title}. {with_keys(text)}")

    def stand_beside(self, place: QRect, room: QRect) -> None:
        """Take the free place beside a panel; over its lower edge where there is none."""
        wanted = max(WIDTH, LETTERS * self.fontMetrics().averageCharWidth())
        self.setFixedWidth(min(wanted, room.width() - 2 * GAP))
        self.resize(self.width(), self.heightForWidth(self.width()))
        self.move(beside(place, self.size(), room))
        self.show()
        self.raise_()

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.addWidget(self.title, 1)
        head.addWidget(self.count)
        foot = QHBoxLayout()
        foot.addWidget(self.skip)
        foot.addStretch(1)
        foot.addWidget(self.back)
        foot.addWidget(self.next)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 14, 16, 14)
        column.setSpacing(10)
        column.addLayout(head)
        column.addWidget(self.text)
        column.addLayout(foot)


def beside(place: QRect, size: QSize, room: QRect) -> QPoint:
    """Where a card of this size stands in the room without covering `place`, or covers as little as can be."""
    width, height = size.width(), size.height()
    tried = (
        QPoint(place.left(), place.bottom() + GAP),
        QPoint(place.left(), place.top() - GAP - height),
        QPoint(place.right() + GAP, place.top()),
        QPoint(place.left() - GAP - width, place.top()),
    )
    inner = room.adjusted(GAP, GAP, -GAP, -GAP)
    kept = [_pushed(point, size, inner) for point in tried]
    covered = [QRect(point, size).intersected(place) for point in kept]
    areas = [max(0, part.width()) * max(0, part.height()) for part in covered]
    return kept[areas.index(min(areas))]


def _pushed(point: QPoint, size: QSize, room: QRect) -> QPoint:
    """The nearest place within the room."""
    x = max(room.left(), min(point.x(), room.right() - size.width()))
    y = max(room.top(), min(point.y(), room.bottom() - size.height()))
    return QPoint(x, y)


class TourOffer(QWidget):
    """A line in the status bar's corner that offers the tour; it covers nothing and takes no focus by itself."""

    taken = Signal()
    declined = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.take, self.decline = QPushButton("Take the tour"), QPushButton("Not now")
        self.take.clicked.connect(self.taken)
        self.decline.clicked.connect(self.declined)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 8, 0)
        row.setSpacing(8)
        row.addWidget(QLabel("New here? A tour of the views takes two minutes."))
        for button in (self.take, self.decline):
            button.setStyleSheet("padding: 0 10px; min-height: 0")  # the theme's are too high for the bar
            row.addWidget(button)
