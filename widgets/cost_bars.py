"""Where time went, as two stacked bars: of one token and of the whole run."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QToolTip, QWidget

from widgets.painting import painting
from widgets.palette import DARK, Theme
from widgets.theme import SMALL, mixed

BAR, GAP = 22, 8
"""Least height of a bar and room below it, in pixels."""


@dataclass(frozen=True, slots=True)
class CostBar:
    """One bar."""

    title: str
    seconds: tuple[float, ...]
    """One a stage, in the order of the stages' looks."""


@dataclass(frozen=True, slots=True)
class StageLook:
    """How a stage is told from the others: by colour, and by pattern where colours fail."""

    name: str
    role: str
    """A colour of the `Theme`."""
    share: float
    """How far that colour lies towards the ground."""
    pattern: Qt.BrushStyle


LOOKS = (
    StageLook("draft", "right", 0.35, Qt.BrushStyle.BDiagPattern),
    StageLook("layers", "accent", 0.35, Qt.BrushStyle.SolidPattern),
    StageLook("predictor", "caution", 0.15, Qt.BrushStyle.Dense4Pattern),
    StageLook("verification", "wrong", 0.25, Qt.BrushStyle.FDiagPattern),
    StageLook("recompute", "accent", 0.0, Qt.BrushStyle.HorPattern),
    StageLook("recording", "muted", 0.15, Qt.BrushStyle.VerPattern),
    StageLook("other", "muted", 0.55, Qt.BrushStyle.DiagCrossPattern),
)
"""By stage, in the order of `core.analysis.costs.STAGES`."""
WORDS = {
    "draft": "Draft",
    "layers": "Layers",
    "predictor": "Predictors",
    "verification": "Checks and LM head",
    "recompute": "K/V caught up",
    "recording": "Recording",
    "other": "Other",
}


def milliseconds(seconds: float) -> str:
    """As `12.3`, or `< 0.1` for what would round to nothing."""
    return "< 0.1" if 0 < seconds < 5e-5 else f"{seconds * 1e3:,.1f}"


def fill(painter: QPainter, area: QRectF, look: StageLook, theme: Theme) -> None:
    """A stage's colour under its pattern."""
    colour = mixed(getattr(theme, look.role), theme.surface, look.share)
    solid = look.pattern is Qt.BrushStyle.SolidPattern
    painter.fillRect(area, QColor(colour if solid else mixed(colour, theme.surface, 0.55)))
    if not solid:
        painter.fillRect(area, QBrush(QColor(colour), look.pattern))


class CostBars(QWidget):
    """Paints bars on one scale each, since a token and a run differ by orders of magnitude."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bars: tuple[CostBar, ...] = ()
        self.theme: Theme = DARK
        self.setAccessibleName("Time by stage")
        self.setMinimumWidth(160)

    def set_bars(self, bars: tuple[CostBar, ...]) -> None:
        """Show these."""
        changed = len(bars) != len(self.bars)
        self.bars = bars
        self.setAccessibleDescription(" ".join(bar_words(bar) for bar in bars))
        if changed:
            self.setFixedHeight(self.sizeHint().height())
        self.update()

    def apply_theme(self, theme: Theme) -> None:
        """Take over these colours, live."""
        self.theme = theme
        self.update()

    def changeEvent(self, event: QEvent) -> None:
        """Type of another size needs bars of another height."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange and self.bars:
            self.setFixedHeight(self.sizeHint().height())

    def sizeHint(self) -> QSize:
        return QSize(400, len(self.bars) * self._stride())

    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self) as painter:
            small = QFont(self.font())
            small.setPointSizeF(small.pointSizeF() * SMALL)
            painter.setFont(small)
            for at, bar in enumerate(self.bars):
                self._paint(painter, bar, at * self._stride())

    def event(self, event: QHelpEvent) -> bool:  # type: ignore[override]  # help events are told apart here
        if event.type() is QHelpEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), self.words_at(event.pos().x(), event.pos().y()), self)
            return True
        return super().event(event)

    def words_at(self, x: float, y: float) -> str:
        """What is at this place, for the tooltip; "" beside the bars."""
        height = self._stride()
        at = int(y // height)
        if not 0 <= at < len(self.bars) or y % height < self._line():
            return ""
        bar = self.bars[at]
        found = next((stage for stage, area in self._areas(bar, 0) if area.left() <= x < area.right()), None)
        return "" if found is None else f"{bar.title}: {stage_words(bar, found)}"

    def _line(self) -> int:
        return round(self.fontMetrics().height() * SMALL) + 4

    def _bar(self) -> int:
        """Pixels of a bar's height: its labels are whole in type of any size."""
        return max(BAR, self._line() + 6)

    def _stride(self) -> int:
        return self._line() + self._bar() + GAP

    def _areas(self, bar: CostBar, top: float) -> list[tuple[int, QRectF]]:
        """The stages that took time, and where they lie."""
        whole, left, found = sum(bar.seconds), 0.0, []
        for stage, seconds in enumerate(bar.seconds):
            if seconds > 0:
                width = seconds / whole * self.width()
                found.append((stage, QRectF(left, top, width, self._bar())))
                left += width
        return found

    def _paint(self, painter: QPainter, bar: CostBar, top: float) -> None:
        line, theme = self._line(), self.theme
        painter.setPen(QColor(theme.muted))
        total = f"{milliseconds(sum(bar.seconds))} ms"
        room = QRectF(0, top, self.width(), line)
        painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop, bar.title)
        painter.drawText(room, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop, total)
        for stage, area in self._areas(bar, top + line):
            fill(painter, area, LOOKS[stage], theme)
            self._label(painter, bar, stage, area)
            painter.setPen(QPen(QColor(theme.surface), 1))
            painter.drawLine(area.topRight(), area.bottomRight())

    def _label(self, painter: QPainter, bar: CostBar, stage: int, area: QRectF) -> None:
        """The stage's name where there is room, on a ground of its own so that patterns do not cross it."""
        text, metrics = f" {WORDS[LOOKS[stage].name]} ", painter.fontMetrics()
        width = metrics.horizontalAdvance(text)
        if width + 8 > area.width():
            return
        plate = QRectF(area.left() + 4, area.top() + 4, width, area.height() - 8)
        painter.fillRect(plate, QColor(self.theme.surface))
        painter.setPen(QColor(self.theme.text))
        painter.drawText(plate, Qt.AlignmentFlag.AlignCenter, text)


def stage_words(bar: CostBar, stage: int) -> str:
    """A stage's time and its share."""
    whole = sum(bar.seconds)
    share = f", {bar.seconds[stage] / whole:.1%}" if whole else ""
    return f"{WORDS[LOOKS[stage].name]} {milliseconds(bar.seconds[stage])} ms{share}"


def bar_words(bar: CostBar) -> str:
    """A bar in a sentence."""
    parts = ", ".join(stage_words(bar, stage) for stage, seconds in enumerate(bar.seconds) if seconds > 0)
    return f"{bar.title}: {parts or 'nothing was measured'}."
