"""The curves are made into a picture when their data come, and copied from it afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QImage, QPainter
from pytestqt.qtbot import QtBot

from tests.widgets.plots import audited, candidates, painted, shown
from widgets.curve_items import CurvesPicture
from widgets.palette import DARK, LIGHT
from widgets.plot_items import Pixels
from widgets.probability_curves import ProbabilityCurvesView
from widgets.selection import Selection


@pytest.fixture
def view(qtbot: QtBot) -> ProbabilityCurvesView:
    view = ProbabilityCurvesView()
    shown(qtbot, view)
    view.set_curves(candidates())
    painted(view)
    return view


@pytest.fixture
def made(view: ProbabilityCurvesView, monkeypatch: pytest.MonkeyPatch) -> list[Pixels]:
    """What the curves of `view` were painted for from now on."""
    curves, made = view.picture.items[-1], list[Pixels]()
    paint = curves.draw
    monkeypatch.setattr(curves, "draw", lambda painter, pixels: made.append(pixels) or paint(painter, pixels))
    return made


def test_that_curves_are_made_when_they_come_and_copied_when_they_are_painted(
    view: ProbabilityCurvesView, made: list[Pixels]
) -> None:
    view.set_curves(candidates(emitted=2))
    assert len(made) == 1
    for layer in (4, 19):
        view.set_selection(Selection(3, layer))
        view.hover(layer + 2.0, 0.5)
        painted(view)
    assert len(made) == 1


def test_that_expected_curves_are_made_ahead_and_look_as_if_they_had_not_been(
    view: ProbabilityCurvesView, made: list[Pixels]
) -> None:
    before, coming = painted(view), audited(candidates(emitted=2))
    view.expect(coming)
    assert len(made) == 1
    assert painted(view) == before
    view.set_curves(coming)
    ahead = painted(view)
    assert len(made) == 1
    view.set_curves(audited(candidates(emitted=2)))
    assert len(made) == 2
    assert painted(view) == ahead


@pytest.mark.parametrize("change", ["scores", "theme", "size", "others"])
def test_that_what_was_expected_is_not_shown_where_something_else_came(
    view: ProbabilityCurvesView, change: str
) -> None:
    coming = audited(candidates(emitted=2))
    view.expect(coming)
    if change == "scores":
        view.score_box.click()
    elif change == "theme":
        view.apply_theme(LIGHT)
    elif change == "size":
        view.resize(480, 260)
    else:
        view.set_curves(candidates(emitted=1))
    view.set_curves(coming)
    seen = painted(view)
    view.picture.forget()
    assert painted(view) == seen


def test_that_another_size_or_theme_has_them_made_anew(view: ProbabilityCurvesView, made: list[Pixels]) -> None:
    view.resize(480, 260)
    painted(view)
    before = len(made)
    assert before
    view.apply_theme(LIGHT)
    painted(view)
    assert len(made) > before


@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0])
def test_that_a_copy_looks_like_what_would_be_painted(qtbot: QtBot, ratio: float) -> None:
    pixels = Pixels(17.3, 20.0, -150.0, 175.0, QRectF(31.0, 7.0, 520.0, 180.0), ratio)
    curves = CurvesPicture()
    curves.apply_theme(DARK)
    curves.set_data(audited(candidates()), True, False)
    pictures = []
    for paint in (curves.draw, curves.paint_all):
        image = QImage(round(560 * ratio), round(200 * ratio), QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(ratio)
        image.fill(Qt.GlobalColor.darkBlue)
        painter = QPainter(image)
        painter.setClipRect(pixels.area.adjusted(1, 0, -1, -1))  # as the plot's view does
        paint(painter, pixels)
        painter.end()
        pictures.append(np.frombuffer(image.constBits(), np.uint8).astype(int))
    assert np.abs(pictures[0] - pictures[1]).max() <= 3  # rounding where smoothed edges are laid over each other
