"""A new token paints its own end of the exit chart only: all that changes lies there, and fits what was painted."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QRect, QRectF
from pytestqt.qtbot import QtBot

from core.analysis.summaries import ExitSeries, Outcome, running_mean
from tests.widgets.plots import DEPTH, alike, part, pixel, shown
from widgets.exit_chart import ExitChart


@pytest.fixture
def chart(qtbot: QtBot) -> ExitChart:
    chart = ExitChart()
    shown(qtbot, chart)
    return chart


def mixed_exits(count: int) -> ExitSeries:
    """Every kind of outcome, close together."""
    random = np.random.default_rng(0)
    kinds = [Outcome.EARLY_EXIT, Outcome.FULL_DEPTH, Outcome.REFUSED, Outcome.WRONG_EXIT]
    outcomes = random.choice(np.array(kinds, np.uint8), 10_000)[:count]
    layers = random.integers(5, DEPTH + 1, 10_000)[:count]
    return ExitSeries(layers, outcomes, running_mean(layers), DEPTH)


def canvas(chart: ExitChart) -> QRect:
    """All of the canvas, laid out."""
    chart.grab()
    return chart.canvas.viewport().rect()


@pytest.mark.parametrize(("count", "zoomed_out"), [(1, False), (30, False), (100, False), (3000, False), (3000, True)])
def test_that_a_new_token_changes_nothing_beyond_what_it_paints_and_paints_that_right(
    chart: ExitChart, monkeypatch: pytest.MonkeyPatch, count: int, zoomed_out: bool
) -> None:
    chart.set_series(mixed_exits(count))
    if zoomed_out:
        chart._leave_newest()
        chart.view.setXRange(0.5, count + 1.5, padding=0)
    everything = canvas(chart)
    before, asked = part(chart, everything), list[QRectF]()
    for item in (chart.bars, chart.mean, chart.marks):
        monkeypatch.setattr(item, "update", asked.append)
    chart.set_series(mixed_exits(count + 1), count)
    edge = pixel(chart, min(rect.left() for rect in asked), 1).x()
    left, right = everything.adjusted(0, 0, edge - everything.right() - 1, 0), everything.adjusted(edge, 0, 0, 0)
    assert everything.width() > right.width() > 0
    after = part(chart, everything)
    assert alike(after.copy(left), before.copy(left))
    assert alike(part(chart, right), after.copy(right))


def test_that_new_tokens_beyond_the_view_change_nothing_in_it(chart: ExitChart) -> None:
    chart.set_series(mixed_exits(300))
    chart._leave_newest()
    chart.view.setXRange(10, 40, padding=0)
    before = part(chart, canvas(chart))
    chart.set_series(mixed_exits(310), 300)
    assert alike(part(chart, canvas(chart)), before)


def test_that_tokens_in_the_middle_can_be_painted_alone(chart: ExitChart) -> None:
    chart.set_series(mixed_exits(60))
    everything = canvas(chart)
    whole = part(chart, everything)
    for left in range(everything.left(), everything.right() - 40, 37):
        room = QRect(left, everything.top(), 40, everything.height())
        assert alike(part(chart, room), whole.copy(room))
