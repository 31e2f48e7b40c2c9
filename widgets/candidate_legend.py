"""The legend of the candidates: line style, marker, text and the drafter's probability, beside the plot's data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QSizePolicy, QWidget

from widgets.painting import painting
from widgets.palette import DARK, Theme
from widgets.theme import SMALL

STYLES = (
    (Qt.PenStyle.SolidLine, "o"),
    (Qt.PenStyle.DashLine, "t1"),
    (Qt.PenStyle.DotLine, "s"),
    (Qt.PenStyle.DashDotLine, "d"),
)
"""Line style and marker by candidate, so that no two curves differ in colour alone."""

_SAMPLE, _SHORT = 24, 10
"""Pixels of a line's sample; the short one, where an entry has little room, is hardly more than its marker."""
_LITTLE = 72
_GAP = 12
KEPT = 1024
"""Widths of texts that are kept."""
_LEAST = 16
"""Letters for an entry, below which a row is too crowded. The rows hang on the width alone, not on the texts: a plot
that changed its height from token to token could not be compared."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One candidate."""

    text: str
    probability: float
    emitted: bool


class CandidateLegend(QWidget):
    """One row of entries where they fit, else two; long texts are cut short, the tooltip has them whole."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._entries: tuple[Entry, ...] = ()
        self._theme = DARK
        self._types: dict[bool, tuple[QFont, QFontMetricsF]] = {}
        """By boldness: the font and its measures, kept because every new token asks for them a dozen times."""
        self._widths: dict[tuple[str, bool], float] = {}
        """By text and boldness: pixels, because each is asked for several times, and shares come again and again."""
        self._next: tuple[tuple[Entry, ...], QPixmap] | None = None
        """What is expected, and a picture of it."""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Candidates")

    def set_entries(self, entries: tuple[Entry, ...]) -> None:
        """Show these, the drafter's best guess first."""
        if entries == self._entries:
            return
        rows, self._entries = self._rows(self.width(), len(self._entries)), entries
        self.setToolTip("\n".join(f"{e.text}  {e.probability:.1%}{'  emitted' * e.emitted}" for e in entries))
        self.setAccessibleDescription("; ".join(f"{e.text} {e.probability:.0%}" for e in entries))
        if self._rows(self.width(), len(entries)) != rows:
            self.updateGeometry()  # only then: it makes the main window lay out all its docks anew
        self.update()

    def expect(self, entries: tuple[Entry, ...]) -> None:
        """Paint these, which will probably come next, into a picture; nothing that is seen changes."""
        ratio = self.devicePixelRatioF()
        picture = QPixmap(self.size() * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(QColor(self._theme.surface))
        if not picture.isNull() and entries:
            painter = QPainter(picture)
            try:
                self._paint_entries(painter, entries)
            finally:
                painter.end()
            self._next = entries, picture

    def apply_theme(self, theme: Theme) -> None:
        self._theme, self._next = theme, None
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(320, self.heightForWidth(self.width()))

    def minimumSizeHint(self) -> QSize:
        return QSize(2 * (_SHORT + 18), self._row_height())  # two markers, each with a letter

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._row_height() * self._rows(width, len(self._entries))

    def _rows(self, width: int, count: int) -> int:
        least = _LEAST * self._type(False)[1].averageCharWidth()
        return 1 if count * least <= width or count < 3 else 2

    def _row_height(self) -> int:
        return round(self._type(True)[1].height()) + 4

    def _type(self, bold: bool) -> tuple[QFont, QFontMetricsF]:
        if bold not in self._types:
            font = QFont(self.font())
            font.setPointSizeF(font.pointSizeF() * SMALL)
            font.setBold(bold)
            self._types[bold] = font, QFontMetricsF(font)
        return self._types[bold]

    def _wide(self, text: str, bold: bool) -> float:
        """Pixels that a text takes."""
        key = (text, bold)
        if key not in self._widths:
            if len(self._widths) >= KEPT:
                self._widths.clear()
            self._widths[key] = self._type(bold)[1].horizontalAdvance(text)
        return self._widths[key]

    def changeEvent(self, event: QEvent) -> None:
        if event.type() is QEvent.Type.FontChange:
            self._types.clear()
            self._widths.clear()
            self._next = None
        super().changeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._entries:
            return
        with painting(self) as painter:
            made = self._next[1] if self._next is not None and self._next[0] == self._entries else None
            if made is not None and made.deviceIndependentSize() == self.size().toSizeF():
                painter.drawPixmap(0, 0, made)
            else:
                self._paint_entries(painter, self._entries)

    def _paint_entries(self, painter: QPainter, entries: tuple[Entry, ...]) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rows = self._rows(self.width(), len(entries))
        columns = -(-len(entries) // rows)
        widths = self._column_widths(entries, columns)
        sample = _SAMPLE if self.width() >= columns * _LITTLE else _SHORT
        for i, entry in enumerate(entries):
            row, column = divmod(i, columns)
            left = sum(widths[:column])
            height = self._row_height()
            self._paint_entry(painter, i, entry, QRectF(left, row * height, widths[column], height), sample)

    def _column_widths(self, entries: tuple[Entry, ...], columns: int) -> list[float]:
        """As wide as the entries ask, and where that is too much, the widest give way first."""
        wanted = [0.0] * columns
        for i, entry in enumerate(entries):
            column = i % columns
            wanted[column] = max(wanted[column], self._wanted(entry))
        most = max(wanted)
        if sum(wanted) > self.width():
            most = max(_widest(wanted, self.width()), _SAMPLE + _GAP)
        return [min(w, most) for w in wanted]

    def _wanted(self, entry: Entry) -> float:
        return _SAMPLE + 6 + self._wide(f"{entry.text}  {entry.probability:.0%}", entry.emitted) + _GAP + 2

    def _paint_entry(self, painter: QPainter, index: int, entry: Entry, room: QRectF, sample: int) -> None:
        middle = room.center().y()
        colour = QColor(self._theme.candidates[index % 4])
        style, marker = STYLES[index % 4]
        painter.setPen(QPen(colour, 2.5 if entry.emitted else 1.5, style))
        painter.drawLine(QPointF(room.left() + 1, middle), QPointF(room.left() + sample, middle))
        paint_marker(painter, marker, QPointF(room.left() + sample / 2, middle), 7, colour)
        share = f"  {entry.probability:.0%}"
        font, metrics = self._type(entry.emitted)
        free = room.width() - sample - 6 - (_GAP if sample == _SAMPLE else 2)
        whole = self._wide(entry.text, entry.emitted)
        if free < self._wide(share, entry.emitted) + min(whole, _SAMPLE):
            share = ""  # the tooltip has it; what a line stands for must be told here
        free = max(free - self._wide(share, entry.emitted), 12.0) + 4
        text = entry.text if whole < free else metrics.elidedText(entry.text, Qt.TextElideMode.ElideRight, free)
        painter.setFont(font)
        painter.setPen(QColor(self._theme.text))
        start = room.left() + sample + 6
        baseline = middle + metrics.ascent() / 2 - metrics.descent() / 2
        painter.drawText(QPointF(start, baseline), text)
        painter.setPen(QColor(self._theme.muted))
        painter.drawText(QPointF(start + self._wide(text, entry.emitted), baseline), share)


def _widest(widths: list[float], room: float) -> float:
    """How wide the widest of these may stay, where all of them are too wide for the room together."""
    left, ascending = room, sorted(widths)
    for count, width in zip(range(len(ascending), 0, -1), ascending, strict=True):
        if width * count > left:
            return left / count
        left -= width
    return ascending[-1]


def paint_marker(painter: QPainter, marker: str, at: QPointF, size: float, colour: QColor) -> None:
    """One of the markers of `STYLES`."""
    painter.fillPath(_shape(marker, size).translated(at), colour)


@cache
def _shape(marker: str, size: float) -> QPainterPath:
    """A marker around the origin; a plot paints dozens at once, in two sizes each."""
    half = size / 2
    path = QPainterPath()
    if marker == "o":
        path.addEllipse(QPointF(0, 0), half, half)
    elif marker == "s":
        path.addRect(-half * 0.9, -half * 0.9, size * 0.9, size * 0.9)
    else:
        corners = _DIAMOND if marker == "d" else _TRIANGLE
        path.moveTo(QPointF(*corners[-1]) * half)
        for corner in corners:
            path.lineTo(QPointF(*corner) * half)
    return path


_TRIANGLE = ((-1.05, 0.9), (1.05, 0.9), (0, -1.1))
_DIAMOND = ((-0.95, 0), (0, -1.25), (0.95, 0), (0, 1.25))
