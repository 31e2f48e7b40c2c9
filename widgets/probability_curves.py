"""How probable each candidate looks to the layers of one token's pass, and what the predictors made of it."""

from __future__ import annotations

import html
import math

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QWidget

from core.analysis.summaries import CandidateCurves
from widgets.candidate_legend import CandidateLegend, Entry
from widgets.curve_items import STRIP, Curves, ExitLine, Ground, Scores, exit_label, strip_y
from widgets.palette import Theme
from widgets.plot_base import PlotView
from widgets.plot_items import Cursor, whole_ticks
from widgets.selection import Selection
from widgets.theme import SMALL

NO_TOKEN = "Select a token to see its candidates over the layers."
NO_DRAFT = "No draft: a dense run has no candidates."
PREFILL = "The first token comes from the prompt's own pass: nothing was drafted for it."

_TOP_ROOM = 18
_BOTTOM = -0.03
_MARKS = ("●", "▲", "■", "◆")
_LONGEST = 28
"""Characters of a candidate's text in the readout."""


class ProbabilityCurvesView(PlotView):
    """x is the layer 1…L, y the local probability 0…1 of each candidate; below them the predictor's scores.

    The legend stands above the plot, where it can never cover a curve.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Candidates over layers", ("layer", ""), (whole_ticks(40), self._y_ticks), parent)
        self.curves: CandidateCurves | None = None
        self.band, self.frame = Cursor(filled=True), Cursor(filled=False)
        self.pointer = Cursor(filled=False, role="muted")
        self._items = (Ground(), Scores(), ExitLine(), Curves())
        for depth, item in enumerate((self.band, self.frame, self.pointer, *self._items)):
            self.add(item, depth)
        self._build_header()
        self.apply_theme(self.theme)
        self.set_curves(None, NO_TOKEN)

    def _build_header(self) -> None:
        self.legend = CandidateLegend(self)
        self.score_box = QCheckBox("show score", self)
        self.score_box.setChecked(True)
        self.score_box.setToolTip("The predictor's score at each evaluated layer, against the threshold")
        self.score_box.toggled.connect(self._on_score_toggled)
        row = QHBoxLayout()
        row.setContentsMargins(8, 0, 8, 0)
        row.setSpacing(10)
        row.addWidget(self.legend, 1, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.score_box, 0, Qt.AlignmentFlag.AlignTop)
        self.column.insertLayout(0, row)

    @staticmethod
    def legend_html(theme: Theme) -> str:
        """The card's subtitle; which curve is which candidate stands above the plot."""
        return (
            f'probability among the candidates &nbsp;<b style="color:{theme.text}">━</b> emitted'
            f' &nbsp;○ score &nbsp;<span style="color:{theme.text}">●</span> above the threshold'
        )

    @property
    def show_score(self) -> bool:
        return self.score_box.isChecked()

    def set_curves(self, curves: CandidateCurves | None, why_empty: str = NO_DRAFT) -> None:
        """Show these curves, or the sentence that says why there are none."""
        self.curves = curves
        self.set_message(why_empty if curves is None else None)
        self.legend.setVisible(curves is not None)
        self.score_box.setVisible(curves is not None)
        if curves is not None:
            self.legend.set_entries(_entries(curves))
            self._set_axes(curves)
            self.describe(summary(curves))
        for item in self._items:
            item.set_data(curves, self.show_score)
        self.show_selection()
        self.refresh_hover()

    def clear(self) -> None:
        """Show no token."""
        self.set_curves(None, NO_TOKEN)

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        font = QFont(self.font())
        font.setPointSizeF(font.pointSizeF() * SMALL)
        for item in self._items:
            item.font = font
        self.score_box.setFont(font)
        self.legend.apply_theme(theme)

    def readout(self, x: float, y: float) -> str | None:
        layer = self._layer_at(x)
        if self.curves is None or layer is None:
            return None
        return readout(self.curves, layer, self.theme)

    def pick(self, x: float, y: float) -> Selection | None:
        layer = self._layer_at(x)
        return None if self.curves is None or layer is None else Selection(self.curves.token, layer)

    def step(self, key: Qt.Key) -> Selection | None:
        """Arrows go from one evaluated layer to the next: between them there is nothing to read."""
        if self.curves is None or not len(self.curves.layers):
            return None
        layer = _next_layer(key, self.curves.layers.tolist(), self.selection.layer)
        return None if layer is None else Selection(self.curves.token, layer)

    def show_selection(self) -> None:
        layer = self.selection.layer
        shown = self.curves is not None and layer is not None and layer < self.curves.depth
        for cursor in (self.band, self.frame):
            cursor.place(layer + 1.0 if shown and layer is not None else None)

    def hover(self, x: float | None, y: float | None) -> None:
        layer = None if x is None else self._layer_at(x)
        self.pointer.place(None if layer is None else layer + 1.0)

    def _layer_at(self, x: float) -> int | None:
        layer = math.floor(x - 0.5)
        return layer if self.curves is not None and 0 <= layer < self.curves.depth else None

    def _on_score_toggled(self, _checked: bool) -> None:
        self.set_curves(self.curves) if self.curves is not None else None

    def _set_axes(self, curves: CandidateCurves) -> None:
        self.x_axis.set_ticks(whole_ticks(40, always=(curves.depth,)))
        self.view.setXRange(0.5, curves.depth + 0.5, padding=0)
        self.set_y_range(STRIP[0] + _BOTTOM if self.show_score else _BOTTOM, 1.0, _TOP_ROOM)
        self.y_axis.update()

    def _y_ticks(self, _low: float, _high: float, _pixels: float) -> list[tuple[float, str]]:
        probabilities = [(0.0, "0"), (0.5, "0.5"), (1.0, "1")]
        if self.curves is None or not self.show_score:
            return probabilities
        threshold = self.curves.threshold
        return [*probabilities, (strip_y(threshold), f"{threshold:.2g}")]


def _entries(curves: CandidateCurves) -> tuple[Entry, ...]:
    texts, shares = curves.candidate_texts, curves.drafter_probabilities.tolist()
    return tuple(
        Entry(text, share, i == curves.emitted_candidate)
        for i, (text, share) in enumerate(zip(texts, shares, strict=True))
    )


def _next_layer(key: Qt.Key, layers: list[int], now: int | None) -> int | None:
    if key == Qt.Key.Key_Home:
        return layers[0]
    if key == Qt.Key.Key_End:
        return layers[-1]
    if key == Qt.Key.Key_Right:
        return next((layer for layer in layers if now is None or layer > now), layers[-1])
    if key == Qt.Key.Key_Left:
        return next((layer for layer in reversed(layers) if now is None or layer < now), layers[0])
    return None


def readout(curves: CandidateCurves, layer: int, theme: Theme) -> str:
    """All values at one layer, as HTML."""
    head = f"<b>layer {layer + 1}</b>"
    at = np.flatnonzero(curves.layers == layer)
    if not len(at):
        reached = curves.exit_layer == 0 or layer < curves.exit_layer
        return f"{head} · {'not evaluated' if reached else 'not run: the token left at ' + str(curves.exit_layer)}"
    score = float(curves.scores[at[0]])
    sign = "&gt;" if score > curves.threshold else "≤"
    rows = "".join(_readout_row(curves, i, float(p), theme) for i, p in enumerate(curves.probabilities[at[0]]))
    return f"{head} · score {score:.2f} {sign} {curves.threshold:.2f}<table cellspacing='0'>{rows}</table>"


def _readout_row(curves: CandidateCurves, index: int, probability: float, theme: Theme) -> str:
    text = curves.candidate_texts[index]
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    text = f"<b>{html.escape(text)}</b>" if index == curves.emitted_candidate else html.escape(text)
    mark = f'<span style="color:{theme.candidates[index % 4]}">{_MARKS[index % 4]}</span>'
    return f"<tr><td>{mark}&nbsp;{text}&nbsp;&nbsp;</td><td align='right'>{probability:.3f}</td></tr>"


def summary(curves: CandidateCurves) -> str:
    """The plot in a sentence."""
    head = f"Token {curves.token + 1}, {len(curves.layers)} of {curves.depth} layers evaluated"
    end = f"; {exit_label(curves)}" if curves.exit_layer else "; in flight"
    if not len(curves.layers):
        return f"{head}{end}."
    values = zip(curves.candidate_texts, curves.probabilities[-1].tolist(), strict=True)
    last = ", ".join(f"{text} {value:.2f}" for text, value in values)
    return f"{head}{end}. At layer {int(curves.layers[-1]) + 1}: {last}."
