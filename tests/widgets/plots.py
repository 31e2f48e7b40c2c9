"""Made-up data and gestures that the plots' tests share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QImage, QRegion
from pytestqt.qtbot import QtBot

from core.analysis.summaries import AuditCurves, CandidateCurves, ExitSeries, Outcome, SchedulerMap, running_mean
from core.trace.overview import CellState
from widgets.plot_base import PlotView

DEPTH = 30


def shown(qtbot: QtBot, view: PlotView, width: int = 560, height: int = 240) -> PlotView:
    """The view at this size, laid out and painted once."""
    qtbot.addWidget(view)
    view.resize(width, height)
    view.grab()
    return view


def painted(view: PlotView) -> QImage:
    return view.grab().toImage()


def click(qtbot: QtBot, view: PlotView, x: float, y: float) -> None:
    """Click at data coordinates."""
    view.grab()  # lays out what was hidden so far
    qtbot.mouseClick(view.canvas.viewport(), Qt.MouseButton.LeftButton, pos=pixel(view, x, y))


def pixel(view: PlotView, x: float, y: float) -> QPoint:
    """Where data coordinates lie in the canvas."""
    return view.canvas.mapFromScene(view.view.mapViewToScene(QPointF(x, y)))


def colour_at(view: PlotView, x: float, y: float) -> str:
    """The painted colour at data coordinates, as `#rrggbb`."""
    return painted(view).pixelColor(view.canvas.pos() + pixel(view, x, y)).name()


def alike(first: QImage, second: QImage) -> bool:
    """Whether no colour differs by more than what smoothing rounds at the edge of what is painted."""
    a, b = (np.frombuffer(image.constBits(), np.uint8).astype(int) for image in (first, second))
    return first.size() == second.size() and int(np.abs(a - b).max()) <= 2


def part(view: PlotView, room: QRect) -> QImage:
    """This part of the canvas, painted by itself into a picture of the whole, as Qt does where little has changed."""
    viewport = view.canvas.viewport()
    whole = QImage(viewport.size(), QImage.Format.Format_RGB32)
    viewport.render(whole, room.topLeft(), QRegion(room))
    return whole.copy(room)


def exits(*layers: int) -> ExitSeries:
    """A series of these exit layers, the first from prefill."""
    made = np.array(layers, np.int64)
    outcomes = np.where(made < DEPTH, Outcome.EARLY_EXIT, Outcome.FULL_DEPTH).astype(np.uint8)
    outcomes[:1] = Outcome.PREFILL
    return ExitSeries(made, outcomes, running_mean(made), DEPTH)


def many_exits(count: int) -> ExitSeries:
    return exits(*(12 + (np.arange(count) * 7) % 19).tolist())


def schedule(count: int, first: int = 0) -> SchedulerMap:
    """Counted from 1: layers 20…22 offline, 22…25 online, 20…24 evaluated, and the pass left after the 24th."""
    states = np.zeros((count, DEPTH), np.uint8)
    states[:, 19:22] |= np.uint8(CellState.OFFLINE)
    states[:, 21:25] |= np.uint8(CellState.ONLINE)
    states[:, 19:24] |= np.uint8(CellState.EVALUATED)
    states[:, 23] |= np.uint8(CellState.EXITED | CellState.PROPOSED)
    return SchedulerMap(first, states)


def candidates(layers: tuple[int, ...] = (11, 15, 19, 22), emitted: int = 0, exit_layer: int = 23) -> CandidateCurves:
    rising = np.linspace(0.1, 0.9, len(layers))
    rest = (1 - rising)[:, None] * np.array([[0.5, 0.3, 0.2]])
    return CandidateCurves(
        token=3,
        depth=DEPTH,
        layers=np.array(layers, np.int64),
        probabilities=np.column_stack([rising, rest]).astype(np.float32),
        scores=np.linspace(0.2, 0.8, len(layers)).astype(np.float32),
        threshold=0.5,
        thresholds=np.full(DEPTH, 0.5),
        candidate_texts=("·blue", "·<red>", "·하늘", "·so"),
        drafter_probabilities=np.array([0.41, 0.22, 0.08, 0.03], np.float32),
        emitted_candidate=emitted,
        exit_layer=exit_layer,
        early=0 < exit_layer < DEPTH,
    )


def audited(made: CandidateCurves) -> CandidateCurves:
    """The same token with an audit: layers 1…30, in the whole vocabulary a tenth of the local probabilities."""
    local = np.full((DEPTH, 4), 0.25, np.float32)
    local[made.layers] = made.probabilities
    scores = np.append(np.full(DEPTH - 1, 0.9, np.float32), np.float32("nan"))
    scores[made.layers] = made.scores
    return replace(made, audit=AuditCurves(local, local / 10, scores))
