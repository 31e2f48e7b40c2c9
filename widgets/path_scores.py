"""How one path of a token tree scored over the layers: the merged score beside the curves of its nodes."""

from __future__ import annotations

import html
import math

import numpy as np
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF
from PySide6.QtWidgets import QWidget

from core.analysis.tree_figure import TreeFigure
from widgets.palette import Theme
from widgets.path_items import CheckMarks, MergedCurve, NodeCurves, PathGround, PathItem
from widgets.plot_base import PlotView
from widgets.plot_items import Cursor, whole_ticks
from widgets.runs_line import RunsLine
from widgets.selection import Selection
from widgets.theme import SMALL
from widgets.tree_words import Run, against, path_text

NO_SCORES = "No predictor was asked in this pass: it is plain speculative decoding."

_TOP_ROOM = 18


class PathScores(PlotView):
    """x is the layer 1…L, y the score 0…1. Clicks and arrow keys choose a layer."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Scores of the lit path over layers", ("layer", ""), (whole_ticks(36), _y_ticks), parent)
        self.figure: TreeFigure | None = None
        self.path = 0
        self.title = RunsLine("Lit path", self)
        self.column.insertWidget(0, self.title)
        self.setMinimumSize(120, 90)
        self.band, self.frame = Cursor(filled=True), Cursor(filled=False)
        self.pointer = Cursor(filled=False, role="muted")
        self._items: tuple[PathItem, ...] = (PathGround(), NodeCurves(), CheckMarks(), MergedCurve())
        for depth, item in enumerate((self.band, self.frame, self.pointer, *self._items)):
            self.add(item, depth)
        self.apply_theme(self.theme)

    def set_path(self, figure: TreeFigure | None, path: int) -> None:
        """Show one path of this figure."""
        self.figure, self.path = figure, path
        self.set_message(NO_SCORES if figure is not None and not len(figure.layers) else None)
        if figure is not None:
            self.x_axis.set_ticks(whole_ticks(36, always=(figure.depth,)))
            self.view.setXRange(_lowest(figure) - 0.5, figure.depth + 0.5, padding=0)
            self.set_y_range(-0.03, 1.0, _TOP_ROOM)
            self.title.set_runs(Run("━ ", "accent", bold=True), Run(path_text(figure, path), "text"))
            self.describe(summary(figure, path))
        for item in self._items:
            item.set_path(figure, path)
        self.show_selection()
        self.refresh_hover()

    def apply_theme(self, theme: Theme) -> None:
        super().apply_theme(theme)
        font = QFont(self.font())
        font.setPointSizeF(font.pointSizeF() * SMALL)
        for item in self._items:
            item.font = font
        self.y_axis.setWidth(round(QFontMetricsF(font).horizontalAdvance("layer")) + 8)
        self.title.apply_theme(theme)

    def readout(self, x: float, y: float) -> str | None:
        layer = self._layer_at(x)
        return None if self.figure is None or layer is None else readout(self.figure, self.path, layer)

    def pick(self, x: float, y: float) -> Selection | None:
        layer = self._layer_at(x)
        return None if layer is None else Selection(self.selection.token, layer, self.selection.node)

    def step(self, key: Qt.Key) -> Selection | None:
        """Arrows go from one judged layer to the next: between them there is nothing to read."""
        layers = [] if self.figure is None else self.figure.layers.tolist()
        if not layers:
            return None
        now = self.selection.layer if self.selection.layer is not None else layers[-1]
        found = {
            Qt.Key.Key_Home: layers[0],
            Qt.Key.Key_End: layers[-1],
            Qt.Key.Key_Right: next((layer for layer in layers if layer > now), layers[-1]),
            Qt.Key.Key_Left: next((layer for layer in reversed(layers) if layer < now), layers[0]),
        }.get(key)
        return None if found is None else Selection(self.selection.token, found, self.selection.node)

    def show_selection(self) -> None:
        layer = self.selection.layer
        shown = self.figure is not None and layer is not None and layer < self.figure.depth
        for cursor in (self.band, self.frame):
            cursor.place(layer + 1.0 if shown and layer is not None else None)

    def hover(self, x: float | None, y: float | None) -> None:
        layer = None if x is None else self._layer_at(x)
        self.pointer.place(None if layer is None else layer + 1.0)

    def sizeHint(self) -> QSize:
        return QSize(210, 130)

    def _layer_at(self, x: float) -> int | None:
        layer = math.floor(x - 0.5)
        return layer if self.figure is not None and 0 <= layer < self.figure.depth else None


def readout(figure: TreeFigure, path: int, layer: int) -> str:
    """The merged score and those of the nodes at a layer, as HTML."""
    head = f"<b>layer {layer + 1}</b>"
    column = figure.column(layer)
    if layer >= figure.layers_run:
        return f"{head} · not run"
    if column is None or figure.layers[column] != layer:
        return f"{head} · no predictor was asked"
    threshold = float(figure.thresholds[column])
    merged = float(figure.paths.scores[path, column])
    rows = [] if np.isnan(merged) else [_row("path", merged, bold=True)]
    for node in figure.paths.nodes[path].tolist():
        score = float(figure.nodes.scores[node, column])
        rows += [] if np.isnan(score) else [_row(figure.nodes.texts[node], score)]
    return f"{head} · threshold {threshold:.2f}<table cellspacing='0'>{''.join(rows)}</table>"


def summary(figure: TreeFigure, path: int) -> str:
    """The plot in a sentence."""
    start = f"Path {path_text(figure, path)}: "
    scores = figure.paths.scores[path]
    if not len(figure.layers) or np.isnan(scores).all():
        return f"{start}no merged score."
    first, exit_layer = int(figure.paths.first_proposed[path]), int(figure.paths.exits[path])
    proposed = f"first proposed at layer {first}" if first else "never proposed"
    rearmost = f"; the rearmost exit of its nodes is {exit_layer}" if exit_layer else ""
    last = against(float(scores[-1]), float(figure.thresholds[-1]))
    return f"{start}merged score {last} at layer {int(figure.layers[-1]) + 1}; {proposed}{rearmost}."


def _lowest(figure: TreeFigure) -> int:
    """The lowest layer to show, from 1: predictors leave the bottom ones alone."""
    return max(int(figure.layers[0]) // 5 * 5, 1) if len(figure.layers) else 1


def _row(text: str, score: float, bold: bool = False) -> str:
    shown = html.escape(text)
    name = f"<b>{shown}</b>" if bold else shown
    return f"<tr><td>{name}&nbsp;&nbsp;</td><td align='right'>{score:.3f}</td></tr>"


def _y_ticks(_low: float, _high: float, _pixels: float) -> list[tuple[float, str]]:
    return [(0.0, "0"), (0.5, "0.5"), (1.0, "1")]
