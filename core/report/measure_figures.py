"""Pictures of what a run comes to: ledger, frontier, costs, calibration."""

from __future__ import annotations

import numpy as np

from core.analysis.calibration import Calibration
from core.analysis.costs import PARTS, STAGES, Costs
from core.analysis.frontier import Frontier, FrontierPoint
from core.analysis.ledger import Entry, Ledger
from core.report.drawing import SHARES, Drawing, Frame, frame_in, whole_ticks
from core.report.inks import Inks

WIDTH, HEIGHT = 920, 300
_LABELS = 150
"""Pixels left of horizontal bars."""
_APART = 24.0
"""Pixels between two thresholds' labels."""


def ledger_figure(found: Ledger, inks: Inks, width: int = WIDTH) -> Drawing:
    """A bar a class, as long as it has tokens, with the layers that it saved or lost in words."""
    rows = found.rows
    draw = Drawing(width, 24 + 26 * len(rows), inks, f"Outcome ledger of {found.told} tokens")
    most, room = max([row.count for row in rows] + [1]), width - _LABELS - 190
    looks = {Entry.RIGHT_EXIT: inks.right, Entry.WRONG_EXIT: inks.wrong, Entry.NOTHING_TO_GAIN: inks.muted}
    for at, row in enumerate(rows):
        y = 14 + 26 * at
        draw.text(_LABELS - 10, y + 13, row.label, ink=inks.text, anchor="end")
        draw.rect(_LABELS, y, room * row.count / most, 18, looks.get(row.entry, inks.caution))
        layers = f", {row.saved} layers saved" if row.saved else f", {row.lost} layers lost" if row.lost else ""
        draw.text(_LABELS + room * row.count / most + 8, y + 13, f"{row.count}{layers}")
    return draw


def frontier_figure(
    found: Frontier, live: tuple[float, float] | None, inks: Inks, width: int = WIDTH, height: int = HEIGHT
) -> Drawing:
    """Agreement against mean exit layer, a point a threshold, hollow where most tokens are an estimate, and the run."""
    points = found.points
    title = f"Agreement with full depth against mean exit layer, {len(points)} thresholds on {found.tokens} tokens"
    draw = Drawing(width, height, inks, title)
    layers = [point.mean_exit_layer for point in points] + ([live[0]] if live else [])
    agrees = [point.agreement for point in points if not np.isnan(point.agreement)] + ([live[1]] if live else [])
    low = np.floor(min(agrees, default=0.0) * 10) / 10
    frame = frame_in(draw, _room(layers), (float(low), 1.0))
    ticks = [round(low + 0.1 * step, 1) for step in range(round((1 - low) * 10) + 1)]
    frame.axes(("mean exit layer", "agreement with full depth"), _layer_ticks(frame), ticks)
    draw.text(frame.right, 16, "● a threshold · ○ mostly an estimate · ◆ this run", anchor="end")
    draw.curve([(frame.x(p.mean_exit_layer), frame.y(p.agreement)) for p in points], inks.accent)
    told = [-_APART, -_APART]
    for at, point in enumerate(points):
        _point(frame, point, found.tokens, told, at % 2)
    if live:
        draw.text(frame.x(live[0]), frame.y(live[1]) + 5, "◆", ink=inks.caution, anchor="middle", size=15)
    return draw


def _room(layers: list[float]) -> tuple[float, float]:
    low, high = min(layers, default=0.0), max(layers, default=1.0)
    return float(np.floor(low - 0.2)), float(np.ceil(high))


def _layer_ticks(frame: Frame) -> list[int]:
    return whole_ticks(int(frame.x_range[0]), int(frame.x_range[1]))


def _point(frame: Frame, point: FrontierPoint, tokens: int, told: list[float], below: int) -> None:
    """A point and its threshold; `told` says where the last ones above and below were, which none may run into."""
    draw, x, y = frame.drawing, frame.x(point.mean_exit_layer), frame.y(point.agreement)
    mostly_exact = 2 * point.exact_tokens >= tokens
    draw.dot(x, y, 3.5, draw.inks.accent if mostly_exact else draw.inks.surface, outline=draw.inks.accent)
    if x - told[below] >= _APART:
        told[below] = x
        draw.text(x, y + 16 if below else y - 8, f"{point.threshold:g}", anchor="middle", size=9)


def cost_figure(found: Costs, inks: Inks, width: int = WIDTH) -> Drawing:
    """Where the time went, stage by stage, and what exits saved and cost, in milliseconds over the whole run."""
    stages = found.stages[1:].sum(0) * 1e3
    bars = [(name, float(ms), inks.accent) for name, ms in zip(STAGES, stages, strict=True)]
    if found.paid is not None:
        bars += [("layers saved", float(found.saved.sum()) * 1e3, inks.right)]
        spent = found.spent.sum(0) * 1e3
        bars += [(f"spent: {name}", float(ms), inks.wrong) for name, ms in zip(PARTS, spent, strict=True)]
    draw = Drawing(width, 24 + 24 * len(bars), inks, "Time of the run by stage, and what exits saved and cost")
    most, room = max([ms for _, ms, _ in bars] + [1e-9]), width - _LABELS - 120
    for at, (name, ms, ink) in enumerate(bars):
        y, long = 12 + 24 * at, room * max(ms, 0.0) / most
        draw.text(_LABELS - 10, y + 13, name, ink=inks.text, anchor="end")
        draw.rect(_LABELS, y, long, 16, ink)
        draw.text(_LABELS + long + 8, y + 13, f"{ms:.1f} ms")
    return draw


def calibration_figure(found: Calibration, layer: int, inks: Inks, width: int = WIDTH, height: int = HEIGHT) -> Drawing:
    """How often a score of so much came true, with its band and the tokens behind it; `layer` is 0-based."""
    total = int(found.counts.sum())
    draw = Drawing(width, height, inks, f"Calibration of layer {layer + 1}’s predictor on {total} tokens")
    frame = frame_in(draw, (0, 1), (0, 1))
    frame.axes(("predictor’s score", "came true"), SHARES, SHARES)
    error = "" if np.isnan(found.error) else f" · calibration error {found.error:.3f}"
    words = f"layer {layer + 1} · dashed: perfect · bars: 95 % bands, with tokens{error}"
    draw.text(frame.right, 16, words, anchor="end")
    draw.line(frame.x(0), frame.y(0), frame.x(1), frame.y(1), inks.muted, dash="3 4")
    true = found.came_true
    places = [(frame.x(float(found.mean_scores[at])), at) for at in np.flatnonzero(found.counts)]
    for x, at in places:
        draw.line(x, frame.y(float(true.low[at])), x, frame.y(float(true.high[at])), inks.accent, width=2)
        draw.text(x + 5, frame.y(float(true.high[at])) - 3, str(int(found.counts[at])), size=9)
    draw.curve([(x, frame.y(float(true.values[at]))) for x, at in places], inks.accent)
    for x, at in places:
        draw.dot(x, frame.y(float(true.values[at])), 3.5, inks.accent)
    return draw
