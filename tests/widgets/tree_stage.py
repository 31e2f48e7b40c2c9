"""A tree view that is shown, and a selection that follows its wishes as the session's does."""

from __future__ import annotations

from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from core.analysis.tree_figure import TreeFigure
from core.analysis.tree_view import tree_figure
from tests.tree_passes import TreePlan, tree_trace
from widgets.selection import Selection
from widgets.tree_view import TreeView


def tree_of(plan: TreePlan, token: int = 1) -> TreeFigure:
    """The figure of one pass."""
    made = tree_figure(tree_trace(plan), token)
    assert made is not None
    return made


class TreeStage:
    """The view, and what it has asked for."""

    def __init__(self, qtbot: QtBot, width: int = 640, height: int = 340) -> None:
        self.view = TreeView()
        qtbot.addWidget(self.view)
        self.view.resize(width, height)
        self.view.show()
        self.asked: list[Selection] = []
        self.view.selected.connect(self._follow)

    def show(self, plan: TreePlan, selection: Selection | None = None) -> TreeFigure:
        """This pass, with this selection."""
        made = tree_of(plan)
        self.view.set_figure(made)
        self.view.set_selection(selection or Selection(1))
        return made

    def picture(self) -> QImage:
        return self.view.canvas.grab().toImage()

    def _follow(self, wanted: Selection) -> None:
        self.asked.append(wanted)
        self.view.set_selection(wanted)
