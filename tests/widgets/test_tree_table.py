from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from tests.tree_passes import TreePlan
from tests.widgets.tree_stage import tree_of
from widgets.tree_table import TreeTable, TreeTableModel


@pytest.fixture
def table(qtbot: QtBot) -> TreeTable:
    made = TreeTable()
    qtbot.addWidget(made)
    return made


def row(model: TreeTableModel, node: int) -> dict[str, str]:
    titles = [model.headerData(column, Qt.Orientation.Horizontal) for column in range(model.columnCount())]
    return {title: model.index(node, column).data() for column, title in enumerate(titles)}


def test_that_the_model_keeps_qts_rules_whatever_it_shows(qtmodeltester: ModelTester) -> None:
    model = TreeTableModel()
    qtmodeltester.check(model, force_py=True)  # from here on every change is checked, too
    figure = tree_of(TreePlan(refused=(18,)))
    for layer in (-1, 18, 23):
        model.set_figure(figure, layer)
    model.set_figure(None, -1)
    assert model.rowCount() == 0


def test_that_a_row_tells_what_the_drawing_shows_of_a_node() -> None:
    model = TreeTableModel()
    model.set_figure(tree_of(TreePlan(ngrams=(5,))), 23)
    assert row(model, 7) == {
        "Node": "7",
        "Token": "·of",
        "After": "·because",
        "Drafter": "44%",
        "Exit": "19",
        "Score": "0.98 > 0.50 at layer 24",
        "Check": "accepted, says ‘·light’, the bonus",
        "Source": "drafter",
        "Level": "3",
        "Path": "14%",
    }
    assert row(model, 5)["Source"] == "n-gram"
    assert row(model, 0)["Source"] == "newest token"


def test_that_another_layer_changes_cells_and_resets_nothing(qtbot: QtBot) -> None:
    model = TreeTableModel()
    figure = tree_of(TreePlan())
    model.set_figure(figure, 23)
    with qtbot.assertNotEmitted(model.modelReset), qtbot.waitSignal(model.dataChanged, timeout=1000):
        model.set_figure(figure, 20)
    assert row(model, 7)["Check"] == ""


def test_that_accepted_rows_are_bold_once_the_pass_has_ended() -> None:
    model = TreeTableModel()
    figure = tree_of(TreePlan())
    for layer, bold in ((20, []), (23, [0, 1, 4, 7])):
        model.set_figure(figure, layer)
        fonts = [model.index(node, 0).data(Qt.ItemDataRole.FontRole) for node in range(model.rowCount())]
        assert [node for node, font in enumerate(fonts) if font is not None] == bold


def test_that_the_whole_node_is_told_to_a_screen_reader() -> None:
    model = TreeTableModel()
    model.set_figure(tree_of(TreePlan()), 23)
    words = model.index(1, 0).data(Qt.ItemDataRole.AccessibleDescriptionRole)
    assert words.startswith("‘·blue’, level 1, after ‘·appears’")


def test_that_moving_the_cursor_asks_for_the_node_and_being_shown_one_does_not(qtbot: QtBot, table: TreeTable) -> None:
    asked: list[int] = []
    table.node_wanted.connect(asked.append)
    figure = tree_of(TreePlan())
    table.show_tree(figure, 23, 4)
    table.show_tree(figure, 20, None)
    table.show_tree(figure, 20, 7)
    assert asked == []
    qtbot.keyClick(table, Qt.Key.Key_Up)
    assert asked == [6]
