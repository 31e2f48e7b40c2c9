from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.choices import Mapping
from core.trace.events import WalkEnd
from tests.core.handmade import DEPTH
from tests.tree_passes import CJK, TreePlan, bushy, widths_to_parents
from tests.widgets.tree_stage import TreeStage, tree_of
from widgets.palette import DARK, LIGHT
from widgets.path_scores import NO_SCORES
from widgets.selection import Selection
from widgets.tree_view import NO_TOKEN, NO_TREE, TreeView


@pytest.fixture
def stage(qtbot: QtBot) -> TreeStage:
    return TreeStage(qtbot)


def at(stage: TreeStage, node: int) -> QPoint:
    """The middle of a node's box in the canvas' viewport."""
    look = stage.view.canvas.look
    assert look is not None
    return stage.view.canvas.mapFromScene(look.shape.rects[node].center())


def test_that_a_token_without_a_tree_is_told_what_to_choose(stage: TreeStage) -> None:
    assert stage.view.message.text() == NO_TOKEN
    stage.show(TreePlan())
    assert not stage.view.message.isVisible()
    stage.view.set_figure(None)
    assert stage.view.message.isVisible()
    assert stage.view.message.text() == NO_TREE
    assert stage.view.accessibleDescription() == NO_TREE
    stage.view.clear()
    assert stage.view.message.text() == NO_TOKEN


@pytest.mark.parametrize(
    "plan",
    [
        TreePlan((-1, 0, 0, 0), accepted=(1,)),
        TreePlan(bushy(64), accepted=(1,)),
        TreePlan(widths_to_parents(*[1] * 20), accepted=(1, 2)),
        TreePlan(widths_to_parents(30), accepted=(2,)),
        TreePlan(texts=CJK),
        TreePlan(texts=("x" * 400, " \n", "\u0301", "<b>")),
        TreePlan(mapping=Mapping.MEAN),
        TreePlan(mapping=Mapping.INDEPENDENT),
        TreePlan(judged=()),
        TreePlan((-1,), accepted=(), bonus=" it", exit_layer=DEPTH),
    ],
)
def test_that_any_tree_is_drawn_with_no_two_boxes_on_each_other(stage: TreeStage, plan: TreePlan) -> None:
    stage.show(plan)
    assert not stage.picture().isNull()
    look = stage.view.canvas.look
    assert look is not None
    boxes = [*look.shape.rects, *(slot.rect for slot in look.shape.slots)]
    assert not any(one.intersects(other) for i, one in enumerate(boxes) for other in boxes[:i])
    assert all(look.shape.bounds.contains(box) for box in boxes)


def test_that_a_tree_without_predictors_says_that_it_has_no_scores(stage: TreeStage) -> None:
    stage.show(TreePlan(judged=(), exit_layer=DEPTH))
    assert stage.view.scores.message == NO_SCORES


def test_that_accepted_path_bonus_refusal_ngrams_and_selection_each_change_the_picture(stage: TreeStage) -> None:
    """None of them by colour alone: see the marks of the boxes and the lines' dashes."""
    pictures = set()
    for plan, selection in (
        (TreePlan(), Selection()),
        (TreePlan(), Selection(layer=20)),
        (TreePlan(accepted=(1, 4)), Selection()),
        (TreePlan(bonus=" dark"), Selection()),
        (TreePlan(refused=(18,)), Selection(layer=18)),
        (TreePlan(refused=(18,), refusal=WalkEnd.NOT_PROPOSED), Selection(layer=18)),
        (TreePlan(ngrams=(5,)), Selection()),
        (TreePlan(), Selection(2)),
        (TreePlan(), Selection(4)),
        (TreePlan(), Selection(1, None, 5)),
    ):
        stage.show(plan, selection)
        pictures.add(bytes(stage.picture().constBits()))
    assert len(pictures) == 10


def test_that_both_themes_paint_the_tree_in_their_own_colours(stage: TreeStage) -> None:
    stage.show(TreePlan())
    for theme in (LIGHT, DARK):
        stage.view.apply_theme(theme)
        assert stage.picture().pixelColor(3, 3).name() == theme.surface


def test_that_the_layer_on_show_is_the_selected_one_as_far_as_the_pass_ran(stage: TreeStage) -> None:
    stage.show(TreePlan())
    for layer, shown in ((None, 23), (0, 0), (18, 18), (23, 23), (29, 23)):
        stage.view.set_selection(Selection(1, layer))
        assert stage.view.layer == shown
        assert stage.view.player.slider.value() == shown + 1


@pytest.mark.parametrize(
    ("key", "node"),
    [
        (Qt.Key.Key_Left, 1),
        (Qt.Key.Key_Right, 7),
        (Qt.Key.Key_Up, 4),
        (Qt.Key.Key_Down, 5),
        (Qt.Key.Key_Home, 0),
        (Qt.Key.Key_End, 10),
    ],
)
def test_that_arrow_keys_walk_from_node_to_node_and_light_its_path(
    stage: TreeStage, qtbot: QtBot, key: Qt.Key, node: int
) -> None:
    figure = stage.show(TreePlan(), Selection(2, 20, 4))
    qtbot.keyClick(stage.view.canvas, key)
    assert [(asked.layer, asked.node) for asked in stage.asked] == [(20, node)]
    assert stage.view.lit == figure.path_of(node)


def test_that_choosing_an_accepted_node_chooses_the_token_that_it_became(stage: TreeStage, qtbot: QtBot) -> None:
    stage.show(TreePlan())
    qtbot.mouseClick(stage.view.canvas.viewport(), Qt.MouseButton.LeftButton, pos=at(stage, 7))
    qtbot.mouseClick(stage.view.canvas.viewport(), Qt.MouseButton.LeftButton, pos=at(stage, 2))
    assert stage.asked == [Selection(3, None, 7), Selection(3, None, 2)]


def test_that_a_chosen_token_marks_its_node_and_the_bonus_its_own_place(stage: TreeStage) -> None:
    stage.show(TreePlan())
    for token, node, bonus in ((1, 1, False), (2, 4, False), (3, 7, False), (4, None, True)):
        stage.view.set_selection(Selection(token))
        look = stage.view.canvas.look
        assert look is not None
        assert (look.node, look.marks.bonus, look.lit) == (node, bonus, None)


def test_that_escape_lets_the_node_go(stage: TreeStage, qtbot: QtBot) -> None:
    stage.show(TreePlan(), Selection(2, 20, 5))
    qtbot.keyClick(stage.view.canvas, Qt.Key.Key_Escape)
    qtbot.keyClick(stage.view.canvas, Qt.Key.Key_Escape)
    assert stage.asked == [Selection(2, 20)]


def test_that_hovering_lights_a_path_without_choosing_anything(stage: TreeStage, qtbot: QtBot) -> None:
    figure = stage.show(TreePlan())
    viewport = stage.view.canvas.viewport()
    qtbot.mouseMove(viewport, at(stage, 9))
    assert stage.view.lit == figure.path_of(9)
    assert stage.view.scores.path == figure.path_of(9)
    qtbot.mouseMove(viewport, QPoint(2, 2))
    assert stage.view.lit is None
    assert stage.asked == []


def test_that_a_ribbon_can_be_hovered_and_chosen_between_its_nodes(stage: TreeStage, qtbot: QtBot) -> None:
    figure = stage.show(TreePlan())
    canvas = stage.view.canvas
    assert canvas.look is not None
    rects = canvas.look.shape.rects
    middle = QPointF((rects[5].right() + rects[9].left()) / 2, rects[9].center().y())
    qtbot.mouseMove(canvas.viewport(), canvas.mapFromScene(middle))
    assert stage.view.lit == figure.path_of(9)
    qtbot.mouseClick(canvas.viewport(), Qt.MouseButton.LeftButton, pos=canvas.mapFromScene(middle))
    assert stage.asked[-1].node == 9


def test_that_the_wheel_zooms_with_control_and_keys_and_buttons_without(stage: TreeStage, qtbot: QtBot) -> None:
    stage.show(TreePlan())
    canvas = stage.view.canvas
    fitted = canvas.zoom
    assert canvas.fitted
    _turn(canvas.viewport(), 120)
    assert canvas.zoom > fitted
    assert not canvas.fitted
    qtbot.keyClick(canvas, Qt.Key.Key_Minus)
    qtbot.keyClick(canvas, Qt.Key.Key_Minus)
    assert canvas.zoom < fitted
    qtbot.keyClick(canvas, Qt.Key.Key_0)
    assert canvas.zoom == pytest.approx(fitted)
    stage.view.zoom_buttons[1].click()
    assert canvas.zoom > fitted
    stage.view.zoom_buttons[2].click()
    assert canvas.zoom == pytest.approx(fitted)


def test_that_a_zoom_of_the_users_outlives_the_next_pass(stage: TreeStage, qtbot: QtBot) -> None:
    stage.show(TreePlan())
    stage.view.canvas.zoom_by(1.5)
    zoom = stage.view.canvas.zoom
    stage.view.set_figure(replace(tree_of(TreePlan(bushy(40), accepted=(1,))), token=9))
    assert stage.view.canvas.zoom == pytest.approx(zoom)


def test_that_a_large_tree_is_shown_legibly_first_and_whole_when_asked(stage: TreeStage, qtbot: QtBot) -> None:
    stage.show(TreePlan(bushy(64), accepted=(1,)))
    canvas = stage.view.canvas
    legible = canvas.zoom
    assert canvas.look is not None
    assert canvas.look.shape.fonts.compact
    qtbot.keyClick(canvas, Qt.Key.Key_0)
    assert canvas.zoom < legible
    seen = canvas.mapToScene(canvas.viewport().rect()).boundingRect()
    assert seen.adjusted(-4, -4, 4, 4).contains(canvas.look.shape.bounds)


def test_that_the_selected_node_of_a_large_tree_is_in_sight(stage: TreeStage) -> None:
    stage.show(TreePlan(bushy(64), accepted=(1,)))
    for node in (0, 20, 40, 63):
        stage.view.set_selection(Selection(1, None, node))
        assert stage.view.canvas.viewport().rect().contains(at(stage, node)), node


def test_that_page_keys_go_layer_by_layer(stage: TreeStage, qtbot: QtBot) -> None:
    stage.show(TreePlan(), Selection(1, 22))
    for key in (Qt.Key.Key_PageDown, Qt.Key.Key_PageDown, Qt.Key.Key_PageUp):
        qtbot.keyClick(stage.view.canvas, key)
    assert [asked.layer for asked in stage.asked] == [23, 23, 22]


def test_that_a_click_in_the_scores_chooses_a_layer_and_keeps_token_and_node(stage: TreeStage, qtbot: QtBot) -> None:
    stage.show(TreePlan(), Selection(2, None, 5))
    qtbot.keyClick(stage.view.scores, Qt.Key.Key_Left)
    assert stage.asked == [Selection(2, 22, 5)]


def test_that_the_scores_stand_beside_the_tree_where_the_panel_is_wide_and_below_it_where_it_is_not(
    stage: TreeStage,
) -> None:
    stage.show(TreePlan())
    assert stage.view.splitter.orientation() is Qt.Orientation.Horizontal
    stage.view.resize(400, 500)
    assert stage.view.splitter.orientation() is Qt.Orientation.Vertical
    assert stage.view.canvas.height() > stage.view.scores.height()


def test_that_a_screen_reader_hears_the_chosen_node_and_else_the_pass(stage: TreeStage) -> None:
    stage.show(TreePlan())
    assert stage.view.canvas.accessibleDescription().startswith("Tree of the pass from token 2 on")
    stage.view.set_selection(Selection(1, None, 5))
    assert stage.view.canvas.accessibleDescription().startswith("‘·due’, level 2, after ‘·blue’")


def test_that_the_table_takes_the_drawings_place_and_has_the_same_selection(stage: TreeStage, qtbot: QtBot) -> None:
    stage.show(TreePlan(), Selection(1, None, 5))
    stage.view.table_action.trigger()
    assert stage.view.table.isVisible()
    assert not stage.view.canvas.isVisible()
    assert stage.view.table.currentIndex().row() == 5
    qtbot.keyClick(stage.view.table, Qt.Key.Key_Down)
    assert stage.asked == [Selection(1, None, 6)]
    stage.view.table_action.trigger()
    assert stage.view.canvas.isVisible()


def test_that_every_part_has_a_name_for_a_screen_reader(stage: TreeStage) -> None:
    view = stage.view
    parts = (view, view.canvas, view.table, view.scores, view.player.slider, view.player.play_button)
    assert all(part.accessibleName() for part in (*parts, *view.zoom_buttons))
    assert len({part.accessibleName() for part in parts[1:]}) == 5


def test_that_the_legend_names_each_mark_and_not_colours_alone() -> None:
    for theme in (DARK, LIGHT):
        legend = TreeView.legend_html(theme)
        assert all(mark in legend for mark in ("✓", "◆", "⊘", "❐"))


def _turn(viewport: object, angle: int) -> None:
    """The wheel with Ctrl held."""
    event = QWheelEvent(
        QPointF(50, 50),
        QPointF(50, 50),
        QPoint(),
        QPoint(0, angle),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.ControlModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(viewport, event)  # type: ignore[arg-type]
