"""The plot of a training stage: what it says where it is empty, what it paints, and how it is read without eyes."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from core.analysis.training_curves import TrainingCurves
from tests.widgets.plots import painted, shown
from widgets.palette import DARK, LIGHT
from widgets.training_curves import NOTHING_YET, TrainingCurvesView, summary
from widgets.training_items import loss_top


@pytest.fixture
def view(qtbot: QtBot) -> TrainingCurvesView:
    view = TrainingCurvesView()
    shown(qtbot, view)
    return view


def course(steps: int = 40) -> TrainingCurves:
    curves = TrainingCurves()
    for step in range(1, steps + 1):
        hits = {"top1": 0.01 * step, "top4": 0.02 * step} if step % 10 == 0 else {}
        curves.add({"step": float(step), "loss": 4 / step, **hits})
    return curves


def test_that_a_stage_without_curves_says_why(view: TrainingCurvesView) -> None:
    assert view.message == NOTHING_YET
    view.show_curves(course())
    assert view.message == ""
    view.show_curves(TrainingCurves(), "Nothing is trained here.")
    assert view.message == view.accessibleDescription() == "Nothing is trained here."
    assert view.legend.isHidden()


def test_that_a_screen_reader_hears_where_loss_and_hit_rates_began_and_are(view: TrainingCurvesView) -> None:
    view.show_curves(course())
    assert view.accessibleDescription() == (
        "40 steps; loss from 4.000 to 0.100; top-1 hit rate from 10.0% to 40.0%; top-4 hit rate from 20.0% to 80.0%."
    )


def test_that_one_step_and_hits_alone_can_be_shown(view: TrainingCurvesView) -> None:
    view.show_curves(course(1))
    assert not painted(view).isNull()
    hits = TrainingCurves()
    hits.add({"top1": 0.3, "top4": 0.5})
    view.show_curves(hits)
    assert not painted(view).isNull()
    assert summary(hits) == "0 steps; top-1 hit rate 30.0%; top-4 hit rate 50.0%."


def test_that_each_kind_of_curve_is_painted_in_both_themes(view: TrainingCurvesView) -> None:
    whole, no_hits = course(), course(9)
    for theme in (DARK, LIGHT):
        view.apply_theme(theme)
        view.show_curves(whole)
        with_hits = painted(view)
        pixels = {with_hits.pixelColor(x, y).name() for x in range(40, 500) for y in range(30, 230)}
        assert {theme.accent, theme.right, theme.caution} <= pixels
        view.show_curves(no_hits)
        assert painted(view) != with_hits


def test_that_arrow_keys_read_the_curves_step_by_step(view: TrainingCurvesView, qtbot: QtBot) -> None:
    view.show_curves(course())
    view.grab()
    readouts = []
    for key in (Qt.Key.Key_End, Qt.Key.Key_Left, Qt.Key.Key_Home, Qt.Key.Key_Right):
        qtbot.keyClick(view, key)
        readouts.append(view._readout.text().split("</b>")[0])
    assert readouts == ["<b>step 40", "<b>step 39", "<b>step 1", "<b>step 2"]


def test_that_the_readout_gives_the_hit_rates_that_were_known_by_then(view: TrainingCurvesView) -> None:
    view.show_curves(course())
    assert view.readout(5.0, 0.5) == "<b>step 5</b><br>loss 0.800"
    assert "top-1 20.0% at step 20" in (view.readout(25.5, 0.5) or "")


@pytest.mark.parametrize(
    ("losses", "top"), [([], 1.0), ([0.9], 1.0), ([1.0], 1.0), ([1.01], 2.0), ([7.3, 2.0], 8.0), ([0.03], 0.04)]
)
def test_that_the_loss_axis_ends_at_a_round_number_above_all(losses: list[float], top: float) -> None:
    assert loss_top(losses) == pytest.approx(top)
