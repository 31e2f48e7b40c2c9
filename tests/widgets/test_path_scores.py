from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from core.choices import Mapping
from tests.tree_passes import JUDGED, TreePlan
from tests.widgets.plots import click, painted, shown
from tests.widgets.tree_stage import tree_of
from widgets.palette import DARK, LIGHT
from widgets.path_scores import PathScores, readout, summary
from widgets.selection import Selection

PATH = 3
"""The accepted one of `TreePlan`."""


@pytest.fixture
def view(qtbot: QtBot) -> PathScores:
    made = PathScores()
    shown(qtbot, made, 260, 180)
    return made


def test_that_the_merged_score_and_the_nodes_curves_are_drawn_whatever_the_mapping(view: PathScores) -> None:
    pictures = set()
    for mapping in Mapping:
        view.set_path(tree_of(TreePlan(mapping=mapping)), PATH)
        pictures.add(bytes(painted(view).constBits()))
    assert len(pictures) == 3


def test_that_a_refused_walk_is_marked_over_its_layer(view: PathScores) -> None:
    view.set_path(tree_of(TreePlan()), PATH)
    without = painted(view)
    view.set_path(tree_of(TreePlan(refused=(18,))), PATH)
    assert painted(view) != without


def test_that_a_click_selects_the_layer_below_it_and_keeps_the_node(qtbot: QtBot, view: PathScores) -> None:
    view.set_path(tree_of(TreePlan()), PATH)
    view.set_selection(Selection(2, None, 4))
    with qtbot.waitSignal(view.selected, timeout=1000) as asked:
        click(qtbot, view, 20.0, 0.5)
    assert asked.args == [Selection(2, 19, 4)]


@pytest.mark.parametrize(
    ("key", "layer"),
    [(Qt.Key.Key_Left, 18), (Qt.Key.Key_Right, 20), (Qt.Key.Key_Home, JUDGED[0]), (Qt.Key.Key_End, 23)],
)
def test_that_arrow_keys_go_from_one_judged_layer_to_the_next(
    qtbot: QtBot, view: PathScores, key: Qt.Key, layer: int
) -> None:
    view.set_path(tree_of(TreePlan()), PATH)
    view.set_selection(Selection(2, 19))
    with qtbot.waitSignal(view.selected, timeout=1000) as asked:
        qtbot.keyClick(view, key)
    assert asked.args == [Selection(2, layer)]


def test_that_the_readout_has_the_path_and_each_of_its_nodes() -> None:
    text = readout(tree_of(TreePlan()), PATH, 23)
    assert "layer 24" in text
    assert text.count("<tr>") == 1 + 5
    assert "<b>path</b>" in text


@pytest.mark.parametrize(("layer", "words"), [(5, "no predictor was asked"), (27, "not run")])
def test_that_the_readout_says_why_a_layer_has_no_scores(layer: int, words: str) -> None:
    assert words in readout(tree_of(TreePlan()), PATH, layer)


def test_that_a_token_that_looks_like_markup_stays_text() -> None:
    assert "&lt;b&gt;" in readout(tree_of(TreePlan(texts=("<b>",))), PATH, 23)


def test_that_a_screen_reader_hears_the_merged_score_and_the_rearmost_exit() -> None:
    assert summary(tree_of(TreePlan()), PATH) == (
        "Path ·blue ·because ·of ·a: merged score 0.56 > 0.50 at layer 24; first proposed at layer 24; "
        "the rearmost exit of its nodes is 24."
    )
    assert "no merged score" in summary(tree_of(TreePlan(mapping=Mapping.INDEPENDENT)), PATH)


def test_that_the_selected_layer_is_highlighted_in_both_themes(view: PathScores) -> None:
    view.set_path(tree_of(TreePlan()), PATH)
    for theme in (DARK, LIGHT):
        view.apply_theme(theme)
        view.set_selection(Selection(1, 14))
        plain = painted(view)
        view.set_selection(Selection(1, 20))
        assert painted(view) != plain
