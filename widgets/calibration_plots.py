"""The plots of a predictor's quality: a reliability diagram whose bins can be chosen, and a curve to be read off."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QKeyEvent
from PySide6.QtWidgets import QWidget

from widgets.calibration_items import COUNTS_FROM, QualityCurve, Reliability, axes
from widgets.calibration_words import Quality, Tab, bin_words, headline, point_words
from widgets.palette import Theme
from widgets.plot_base import PlotView
from widgets.selection import Selection
from widgets.theme import SMALL

_TOP_ROOM = 14
_NEXT = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}


class QualityPlot(PlotView):
    """Both axes go from 0 to 1."""

    def __init__(self, name: str, captions: tuple[str, str], parent: QWidget | None = None) -> None:
        super().__init__(name, captions, (unit_ticks, unit_ticks), parent)
        self.found: Quality | None = None
        self.setMinimumSize(160, 110)
        self.view.setXRange(-0.02, 1.02, padding=0)
        self.set_y_range(-0.02, 1.0, _TOP_ROOM)

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        widest = QFontMetricsF(_small(self)).horizontalAdvance(self.y_axis.caption)
        self.y_axis.setWidth(round(widest) + 12)

    def show_selection(self) -> None:
        """Nothing that other views show is selected in the plot itself."""

    def pick(self, x: float, y: float) -> Selection | None:
        return None

    def step(self, key: Qt.Key) -> Selection | None:
        return None

    def point_at(self, x: float, y: float) -> None:
        """Show the hover readout as if the pointer were here, for the keyboard."""
        self._on_hover(self.view.mapViewToScene(QPointF(x, y)))


_CURVES = {
    Tab.ROC: ("ROC curve", ("false", "recall")),
    Tab.PRECISION_RECALL: ("Precision and recall", ("recall", "precision")),
}
"""Names, and captions of both axes."""


class ReliabilityPlot(QualityPlot):
    """Clicking a bin chooses it; arrow keys go from bin to bin, and Return chooses."""

    bin_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Calibration of the layer’s predictor", ("score", "true"), parent)
        self.dots = Reliability()
        self.set_y_range(COUNTS_FROM, 1.0, _TOP_ROOM)
        self.add(self.dots, 1)
        self._at = -1
        self.apply_theme(self.theme)

    def show_quality(self, found: Quality | None, chosen: int | None) -> None:
        """Show this, with a bin marked."""
        self.found = found
        self.dots.show_quality(found)
        self.dots.choose(chosen)
        if found is not None:
            self.describe(f"{headline(found)}. Arrow keys go from bin to bin, Return selects a bin’s tokens.")
        self.refresh_hover()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        self.dots.font = _small(self)

    def readout(self, x: float, y: float) -> str | None:
        at = self.bin_at(x)
        return None if at is None or self.found is None else bin_words(self.found.calibration, at)

    def bin_at(self, x: float) -> int | None:
        """The bin at this score; None beside all."""
        bins = len(self.found.calibration.counts) if self.found else 0
        return min(int(x * bins), bins - 1) if bins and 0 <= x <= 1 else None

    def pick(self, x: float, y: float) -> Selection | None:
        at = self.bin_at(x)
        if at is not None:
            self._at = at
            self.bin_chosen.emit(at)
        return None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, found = Qt.Key(event.key()), self.found
        if found is None or (key not in _NEXT and key not in (Qt.Key.Key_Return, Qt.Key.Key_Enter)):
            super().keyPressEvent(event)
            return
        event.accept()
        if key in _NEXT:
            bins = len(found.calibration.counts)
            self._at = min(max(self._at + _NEXT[key], 0), bins - 1)
            self.point_at((self._at + 0.5) / bins, 0.5)
        elif self._at >= 0:
            self.bin_chosen.emit(self._at)


class CurvePlot(QualityPlot):
    """ROC or precision-recall; arrow keys read it off point by point."""

    def __init__(self, tab: Tab, parent: QWidget | None = None) -> None:
        super().__init__(*_CURVES[tab], parent)
        self.tab = tab
        self.curve = QualityCurve()
        self.curve.tab = tab
        self.add(self.curve, 1)
        self._at = 0
        self.apply_theme(self.theme)

    def show_quality(self, found: Quality | None) -> None:
        """Show this."""
        self.found = found
        self._at = found.place if found else 0
        self.curve.show_quality(found)
        if found is not None:
            here = point_words(found.curves, found.place, self.tab).replace("<br>", ", ")
            words = here.replace("<b>", "").replace("</b>", "")
            self.describe(f"{headline(found)}. At the run’s threshold {found.threshold:.2f}: {words}.")
        self.refresh_hover()

    def readout(self, x: float, y: float) -> str | None:
        at = self.nearest(x, y)
        return None if at is None or self.found is None else point_words(self.found.curves, at, self.tab)

    def nearest(self, x: float, y: float) -> int | None:
        """The curve's point nearest to this place."""
        if self.found is None:
            return None
        across, share = axes(self.found, self.tab)
        away = np.hypot(across - x, share.values - y)
        return None if np.isnan(away).all() else int(np.nanargmin(away))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, found = Qt.Key(event.key()), self.found
        if found is None or key not in _NEXT:
            super().keyPressEvent(event)
            return
        event.accept()
        across, share = axes(found, self.tab)
        known = np.flatnonzero(~(np.isnan(across) | np.isnan(share.values)))
        if len(known):
            place = int(np.searchsorted(known, self._at)) + _NEXT[key]
            self._at = int(known[min(max(place, 0), len(known) - 1)])
            self.point_at(float(across[self._at]), float(share.values[self._at]))


def unit_ticks(_low: float, _high: float, pixels: float) -> list[tuple[float, str]]:
    """Ticks of an axis from 0 to 1, fewer where there is little room."""
    levels = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0) if pixels > 150 else (0.0, 0.5, 1.0)
    return [(level, f"{level:g}") for level in levels]


def _small(widget: QWidget) -> QFont:
    font = QFont(widget.font())
    font.setPointSizeF(font.pointSizeF() * SMALL)
    return font
