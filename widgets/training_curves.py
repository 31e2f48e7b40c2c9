"""A training stage's loss on the left axis and its hit rates on held-out prompts on the right one, over its steps."""

from __future__ import annotations

from bisect import bisect_left

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFont, QKeyEvent
from PySide6.QtWidgets import QLabel, QWidget

from core.analysis.training_curves import TrainingCurves
from widgets.palette import Theme
from widgets.plot_base import PlotView
from widgets.plot_items import Cursor, whole_ticks
from widgets.selection import Selection
from widgets.text_axis import TextAxis
from widgets.theme import SMALL
from widgets.training_items import LEVELS, HitLines, Levels, LossLine, loss_top

NOTHING_YET = "Loss and hit rates appear here once there are any."
NAMES = {"top1": "top-1", "top4": "top-4"}
_TOP_ROOM, _BOTTOM = 20, -0.04
_NEXT = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_PageUp: -50, Qt.Key.Key_PageDown: 50}


class TrainingCurvesView(PlotView):
    """Shows a `TrainingCurves`; call `show_curves` again when it has grown. Arrow keys read it off step by step."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Training curves", ("step", "loss"), (whole_ticks(56), self._loss_ticks), parent)
        self.curves = TrainingCurves()
        self._at: int | None = None
        """Which of the losses is read off."""
        self.hit_axis = TextAxis("right", "hit rate", _hit_ticks)
        self.hit_axis.linkToView(self.view)
        self._grid.addItem(self.hit_axis, 0, 2)
        self.pointer = Cursor(filled=False, role="muted")
        self._items = (Levels(), LossLine(), HitLines())
        for depth, item in enumerate((*self._items, self.pointer)):
            self.add(item, depth)
        self.legend = QLabel(self)
        self.legend.setTextFormat(Qt.TextFormat.RichText)
        self.legend.setContentsMargins(8, 4, 8, 0)
        self.column.insertWidget(0, self.legend)
        self.set_y_range(_BOTTOM, 1.0, _TOP_ROOM)
        self.apply_theme(self.theme)
        self.show_curves(self.curves)

    def show_curves(self, curves: TrainingCurves, why_empty: str = NOTHING_YET) -> None:
        """Show this stage's, or the sentence that says why there is nothing to show."""
        if curves is not self.curves:
            self._at = None
            self.leave()
        self.curves = curves
        self.legend.setVisible(not curves.is_empty)
        self.set_message(why_empty if curves.is_empty else None)
        if curves.is_empty:
            self.describe(why_empty)
            return
        self.describe(summary(curves))
        first = curves.steps[0] if curves.steps else 0.0
        # A little room on both sides, so that the first and the last point are whole and can be pointed at.
        self.view.setXRange(min(first, curves.last_step - 1), curves.last_step, padding=0.015)
        for item in self._items:
            item.set_curves(curves)
        self.y_axis.update()
        self.refresh_hover()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        font = QFont(self.font())
        font.setPointSizeF(font.pointSizeF() * SMALL)
        self.hit_axis.apply_theme(theme, font)
        self.legend.setFont(font)
        self.legend.setStyleSheet(f"color: {theme.muted};")
        self.legend.setText(legend_html(theme))

    def readout(self, x: float, y: float) -> str | None:
        curves = self.curves
        if not curves.steps:
            return None
        after = min(bisect_left(curves.steps, x), len(curves.steps) - 1)
        index = min((max(after - 1, 0), after), key=lambda at: abs(curves.steps[at] - x))
        rows = [f"<b>step {curves.steps[index]:.0f}</b>", f"loss {curves.losses[index]:.3f}"]
        for name, hits in curves.hits.items():
            before = [hit for hit in hits if hit[0] <= curves.steps[index]]
            if before:
                rows.append(f"{NAMES[name]} {before[-1][1]:.1%} at step {before[-1][0]:.0f}")
        return "<br>".join(rows)

    def pick(self, x: float, y: float) -> Selection | None:
        return None

    def step(self, key: Qt.Key) -> Selection | None:
        return None

    def hover(self, x: float | None, y: float | None) -> None:
        self.pointer.place(x)

    def show_selection(self) -> None:
        """Nothing that other views show is selected here."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        count, key = len(self.curves.steps), Qt.Key(event.key())
        moves = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: count - 1}
        now = count - 1 if self._at is None else self._at
        if key in _NEXT:
            moves[key] = min(max(now + _NEXT[key], 0), count - 1)
        if not count or key not in moves:
            super().keyPressEvent(event)
            return
        event.accept()
        self._at = moves[key]
        x, y = self.curves.steps[self._at], self.curves.losses[self._at] / loss_top(self.curves.losses)
        self._on_hover(self.view.mapViewToScene(QPointF(x, min(y, 1.0))))

    def _loss_ticks(self, _low: float, _high: float, _pixels: float) -> list[tuple[float, str]]:
        top = loss_top(self.curves.losses)
        return [(level, f"{level * top:.3g}") for level in LEVELS]


def _hit_ticks(_low: float, _high: float, _pixels: float) -> list[tuple[float, str]]:
    return [(level, f"{level:.0%}") for level in LEVELS]


def legend_html(theme: Theme) -> str:
    """Which line is which, and whose axis it has."""
    return (
        f'<span style="color:{theme.accent}">━</span> loss (left) &nbsp;&nbsp; '
        f'<span style="color:{theme.right}">━●━</span> top-1 &nbsp; '
        f'<span style="color:{theme.caution}">╍▲╍</span> top-4 of held-out tokens (right)'
    )


def summary(curves: TrainingCurves) -> str:
    """The curves in a sentence."""
    parts = [f"{curves.last_step:.0f} steps"]
    if curves.losses:
        parts.append(f"loss from {curves.losses[0]:.3f} to {curves.losses[-1]:.3f}")
    for name, hits in curves.hits.items():
        if len(hits) > 1:
            parts.append(f"{NAMES[name]} hit rate from {hits[0][1]:.1%} to {hits[-1][1]:.1%}")
        elif hits:
            parts.append(f"{NAMES[name]} hit rate {hits[0][1]:.1%}")
    return f"{'; '.join(parts)}."
