"""How probable each candidate looks to the layers of one token's pass, and what the predictors made of it."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QButtonGroup, QCheckBox, QHBoxLayout, QToolButton, QWidget

from core.analysis.summaries import CandidateCurves
from widgets.candidate_legend import CandidateLegend, Entry
from widgets.curve_items import STRIP, CurvesPicture, exit_label, shown_curves, strip_y
from widgets.palette import Theme
from widgets.plot_base import PlotView, keep_room
from widgets.plot_items import Cursor, whole_ticks
from widgets.selection import Selection
from widgets.theme import SMALL

NO_TOKEN = "Select a token to see its candidates over the layers."
NO_DRAFT = "No draft: this policy looks at no candidates."
PREFILL = "The first token comes from the prompt's own pass: nothing was drafted for it."

LOCAL_TIP = "Probability among the candidates alone: what the predictors see. It always adds up to 1."
FULL_TIP = (
    "Probability in the whole vocabulary. Where the final token is a candidate, its curve jumps at some layer while the"
    " others stay low; where it is none, all stay low. Only this view can show that: among the candidates alone the"
    " probabilities always add up to 1."
)
NO_AUDIT_TIP = (
    "Only an audit records probabilities in the whole vocabulary, and this token was not audited: set Record to audit"
    " and run again. The predictors see the candidates alone, and those always add up to 1: where the final token is"
    " none of them, nothing here shows that all of them are unlikely."
)
TOO_EARLY_TIP = "Probabilities in the whole vocabulary come with the audit, once the token has left."

NARROW = 46
"""Letters of width below which the legend stands above the choices and not beside them."""
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
        super().__init__("Candidates over layers", ("layer", "prob."), (whole_ticks(40), self._y_ticks), parent)
        self.curves: CandidateCurves | None = None
        self.band, self.frame = Cursor(filled=True), Cursor(filled=False)
        self.pointer = Cursor(filled=False, role="muted")
        self.picture = CurvesPicture()
        for depth, item in enumerate((self.band, self.frame, self.pointer, self.picture)):
            self.add(item, depth)
        self._wants_full = False
        self._axes: tuple[int, float, bool] | None = None
        """Depth, threshold, and whether scores are shown: what the axes were set for."""
        self._build_header()
        self.apply_theme(self.theme)
        self.set_curves(None, NO_TOKEN)

    def _build_header(self) -> None:
        self.legend = CandidateLegend(self)
        self.score_box = QCheckBox("score", self)
        self.score_box.setChecked(True)
        self.score_box.setToolTip("The predictor's score at each evaluated layer, against the threshold")
        self.score_box.setAccessibleName("Show the predictor's scores")
        self.score_box.toggled.connect(self._on_score_toggled)
        self._build_scale()
        self._header, choices = QHBoxLayout(), QHBoxLayout()
        self._header.setContentsMargins(8, 0, 8, 0)
        for row in (self._header, choices):
            row.setSpacing(10)
        choices.addWidget(self.scale, 0, Qt.AlignmentFlag.AlignTop)
        choices.addWidget(self.score_box, 0, Qt.AlignmentFlag.AlignTop)
        choices.addStretch(1)
        self._header.addWidget(self.legend, 100, Qt.AlignmentFlag.AlignVCenter)
        self._header.addLayout(choices)
        for one in (self.legend, self.scale, self.score_box):
            keep_room(one)
        self.column.insertLayout(0, self._header)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Where there is little width the legend has a line of its own."""
        super().resizeEvent(event)
        narrow = self.width() < NARROW * self.fontMetrics().averageCharWidth()
        wanted = QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        if self._header.direction() is not wanted:
            self._header.setDirection(wanted)
            self._header.setSpacing(6 if narrow else 10)

    def _build_scale(self) -> None:
        """The toggle *local / full vocabulary*."""
        self.scale = QWidget(self)
        row = QHBoxLayout(self.scale)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        self._group = QButtonGroup(self.scale)
        self.local_button, self.full_button = QToolButton(), QToolButton()
        looks = ((self.local_button, "local", "left"), (self.full_button, "full vocab.", "right"))
        for (button, text, end), name in zip(looks, ("local", "full vocabulary"), strict=True):
            button.setText(text)
            button.setProperty("end", end)
            button.setCheckable(True)
            button.setProperty("role", "segment")
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setAccessibleName(f"Probabilities: {name}")
            self._group.addButton(button)
            row.addWidget(button)
        self.local_button.setToolTip(_wrapped(LOCAL_TIP))
        self._group.buttonClicked.connect(self._on_scale_chosen)

    @staticmethod
    def legend_html(theme: Theme, audited: bool = False) -> str:
        """The panel's subtitle; which curve is which candidate stands above the plot."""
        audit = " &nbsp;┈ not run" if audited else ""
        return (
            f'<b style="color:{theme.text}">━</b> emitted'
            f' &nbsp;<span style="color:{theme.text}">●</span> proposed{audit}'
        )

    @property
    def show_score(self) -> bool:
        return self.score_box.isChecked()

    @property
    def full(self) -> bool:
        """Whether probabilities in the whole vocabulary are shown."""
        return self._is_full(self.curves)

    def _is_full(self, curves: CandidateCurves | None) -> bool:
        return self._wants_full and curves is not None and curves.audit is not None

    def set_curves(self, curves: CandidateCurves | None, why_empty: str = NO_DRAFT) -> None:
        """Show these curves, or the sentence that says why there are none."""
        self.curves = curves
        self.set_message(why_empty if curves is None else None)
        self.legend.setVisible(curves is not None)
        self.score_box.setVisible(curves is not None)
        self.scale.setVisible(curves is not None)
        if curves is not None:
            self.legend.set_entries(_entries(curves))
            self._set_axes(curves)
            self._set_scale(curves)
            self.describe(summary(curves, self.full))
        self.picture.set_data(curves, self.show_score, self.full)
        self.show_selection()
        self.refresh_hover()

    def expect(self, curves: CandidateCurves) -> None:
        """Get ready for these, which will probably come next."""
        for _ in self.get_ready(curves):
            pass

    def appear(self, curves: CandidateCurves) -> Iterator[None]:
        """In turns: where a message is on show, have the plot take its place, still without these curves."""
        if self.message:
            for control in (self.legend, self.score_box, self.scale):
                control.setVisible(True)
            yield
            self.set_message(None)
            self._set_axes(curves)
            yield

    def get_ready(self, curves: CandidateCurves) -> Iterator[None]:
        """As `expect`, in turns."""
        yield from self.picture.expect(curves, self.show_score, self._is_full(curves))
        self.legend.expect(_entries(curves))
        yield

    def clear(self) -> None:
        """Show no token."""
        self.set_curves(None, NO_TOKEN)

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        font = QFont(self.font())
        font.setPointSizeF(font.pointSizeF() * SMALL)
        self.picture.set_font(font)
        for control in (self.score_box, self.local_button, self.full_button):
            control.setFont(font)
        self.legend.apply_theme(theme)

    def readout(self, x: float, y: float) -> str | None:
        layer = self._layer_at(x)
        if self.curves is None or layer is None:
            return None
        return readout(self.curves, layer, self.theme, self.full)

    def pick(self, x: float, y: float) -> Selection | None:
        layer = self._layer_at(x)
        return None if self.curves is None or layer is None else self._chosen(layer)

    def step(self, key: Qt.Key) -> Selection | None:
        """Arrows go from one layer with values to the next: between them there is nothing to read."""
        layers = [] if self.curves is None else shown_curves(self.curves, self.full)[0].tolist()
        if self.curves is None or not layers:
            return None
        layer = _next_layer(key, layers, self.selection.layer)
        return None if layer is None else self._chosen(layer)

    def show_selection(self) -> None:
        layer = self.selection.layer
        shown = self.curves is not None and layer is not None and layer < self.curves.depth
        for cursor in (self.band, self.frame):
            cursor.place(layer + 1.0 if shown and layer is not None else None)

    def hover(self, x: float | None, y: float | None) -> None:
        layer = None if x is None else self._layer_at(x)
        self.pointer.place(None if layer is None else layer + 1.0)

    def _chosen(self, layer: int) -> Selection:
        """This layer of the token on show; a node of its tree stays selected."""
        assert self.curves is not None, "without curves there is nothing to choose"
        node = self.selection.node if self.selection.token == self.curves.token else None
        return Selection(self.curves.token, layer, node)

    def _layer_at(self, x: float) -> int | None:
        layer = math.floor(x - 0.5)
        return layer if self.curves is not None and 0 <= layer < self.curves.depth else None

    def _on_score_toggled(self, _checked: bool) -> None:
        self.set_curves(self.curves) if self.curves is not None else None

    def _on_scale_chosen(self, button: QToolButton) -> None:
        self._wants_full = button is self.full_button
        self.set_curves(self.curves) if self.curves is not None else None

    def _set_scale(self, curves: CandidateCurves) -> None:
        """The choice outlives tokens that have no audit, such as the one in flight."""
        self.full_button.setEnabled(curves.audit is not None)
        (self.full_button if self.full else self.local_button).setChecked(True)
        no_audit = NO_AUDIT_TIP if curves.exit_layer else TOO_EARLY_TIP
        self.full_button.setToolTip(_wrapped(FULL_TIP if curves.audit is not None else no_audit))

    def _set_axes(self, curves: CandidateCurves) -> None:
        wanted = (curves.depth, curves.threshold, self.show_score)
        if wanted == self._axes:  # set anew they would be painted anew, with every token
            return
        self._axes = wanted
        self.x_axis.set_ticks(whole_ticks(40, always=(curves.depth,)))
        self.view.setXRange(0.5, curves.depth + 0.5, padding=0)
        self.set_y_range(STRIP[0] + _BOTTOM if self.show_score else _BOTTOM, 1.0, _TOP_ROOM)
        self.y_axis.update()

    def _y_ticks(self, _low: float, _high: float, _pixels: float) -> list[tuple[float, str]]:
        probabilities = [(0.0, "0"), (0.5, "0.5"), (1.0, "1")]
        _, threshold, scored = self._axes or (0, 0.0, False)
        if not scored:
            return probabilities
        return [*probabilities, (float(strip_y(threshold)), f"{threshold:.2g}")]


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


def readout(curves: CandidateCurves, layer: int, theme: Theme, full: bool = False) -> str:
    """All values at one layer, as HTML."""
    head = f"<b>layer {layer + 1}</b> · {_layer_words(curves, layer)}"
    layers, values = shown_curves(curves, full)
    at = np.flatnonzero(layers == layer)
    if not len(at):
        return head
    rows = "".join(_readout_row(curves, i, float(p), theme) for i, p in enumerate(values[at[0]]))
    return f"{head}<table cellspacing='0'>{rows}</table>"


def _layer_words(curves: CandidateCurves, layer: int) -> str:
    """The score of a layer, or why there is none."""
    at, threshold = np.flatnonzero(curves.layers == layer), float(curves.thresholds[layer])
    if len(at):
        return f"score {_against(float(curves.scores[at[0]]), threshold)}"
    reached = curves.exit_layer == 0 or layer < curves.exit_layer
    why = "not evaluated" if reached else f"not run: the token left at {curves.exit_layer}"
    silent = float("nan") if curves.audit is None else float(curves.audit.scores[layer])
    return why if math.isnan(silent) else f"{why}<br>audited score {_against(silent, threshold)}"


def _against(score: float, threshold: float) -> str:
    return f"{score:.2f} {'&gt;' if score > threshold else '≤'} {threshold:.2f}"


def _readout_row(curves: CandidateCurves, index: int, probability: float, theme: Theme) -> str:
    text = curves.candidate_texts[index]
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    text = f"<b>{html.escape(text)}</b>" if index == curves.emitted_candidate else html.escape(text)
    mark = f'<span style="color:{theme.candidates[index % 4]}">{_MARKS[index % 4]}</span>'
    return f"<tr><td>{mark}&nbsp;{text}&nbsp;&nbsp;</td><td align='right'>{probability:.3f}</td></tr>"


def summary(curves: CandidateCurves, full: bool = False) -> str:
    """The plot in a sentence."""
    head = f"Token {curves.token + 1}, {len(curves.layers)} of {curves.depth} layers evaluated"
    end = f"; {exit_label(curves)}" if curves.exit_layer else "; in flight"
    layers, values = shown_curves(curves, full)
    if not len(layers):
        return f"{head}{end}."
    last = _named(curves, values[-1].tolist())
    scale = ", in the whole vocabulary" if full else ""
    return f"{head}{end}. At layer {int(layers[-1]) + 1}{scale}: {last}."


def _named(curves: CandidateCurves, values: list[float]) -> str:
    return ", ".join(f"{text} {value:.2f}" for text, value in zip(curves.candidate_texts, values, strict=True))


def _wrapped(tip: str) -> str:
    """A tool tip that wraps: only rich text does."""
    return f"<p>{html.escape(tip)}</p>"
