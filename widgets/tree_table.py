"""A token tree as a table, one row a node: for the keyboard and for screen readers, which a drawing tells nothing."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QItemSelectionModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHeaderView, QWidget

from core.analysis.tree_figure import TreeFigure
from widgets.small_table import SmallTable
from widgets.tree_shape import share
from widgets.tree_words import fate, node_words, parent_text, score_words

Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


_COLUMNS = (
    ("Node", "Number of the node; 0 is the root"),
    ("Token", "The node's text"),
    ("After", "The text of the node before"),
    ("Drafter", "The drafter's probability"),
    ("Exit", "First crossing of the threshold"),
    ("Score", "As it stands at the layer on show"),
    ("Check", "What the check at the layer on show made of it"),
    ("Source", "Where the node comes from"),
    ("Level", "Steps from the root"),
    ("Path", "The drafter's probabilities multiplied from the root on"),
)
_NUMBERS = frozenset({"Node", "Level", "Drafter", "Path", "Exit"})


def cells(figure: TreeFigure, node: int, layer: int) -> tuple[str, ...]:
    """A row, by `_COLUMNS`."""
    nodes = figure.nodes
    found = "n-gram" if nodes.from_ngram[node] else "drafter"
    return (
        f"{node}",
        nodes.texts[node],
        parent_text(figure, node),
        share(float(nodes.probabilities[node])) if node else "",
        f"{nodes.exits[node] or '–'}",
        score_words(figure, node, layer),
        fate(figure, node, layer),
        found if node else "newest token",
        f"{nodes.levels[node]}",
        share(float(nodes.path_probabilities[node])) if node else "",
    )


class TreeTableModel(QAbstractTableModel):
    """One row a node, as the tree is at one layer."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.figure: TreeFigure | None = None
        self._layer = -1
        self.font = QFont()
        """That the rows are shown in; the accepted ones are bold."""

    def set_figure(self, figure: TreeFigure | None, layer: int) -> None:
        """Show this tree as it is at this 0-based layer."""
        same = figure is self.figure
        if same and layer == self._layer:
            return
        if not same:
            self.beginResetModel()
        self.figure, self._layer = figure, layer
        if not same:
            self.endResetModel()
        elif figure is not None:
            self.dataChanged.emit(self.index(0, 0), self.index(self.rowCount() - 1, len(_COLUMNS) - 1))

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() or self.figure is None else len(self.figure.nodes.texts)

    def columnCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(_COLUMNS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if self.figure is None or not index.isValid():
            return None
        name = _COLUMNS[index.column()][0]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return cells(self.figure, index.row(), self._layer)[index.column()]
            case Qt.ItemDataRole.ToolTipRole | Qt.ItemDataRole.AccessibleDescriptionRole:
                return node_words(self.figure, index.row(), self._layer)
            case Qt.ItemDataRole.TextAlignmentRole if name in _NUMBERS:
                return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            case Qt.ItemDataRole.FontRole if self._is_accepted(index.row()):
                font = QFont(self.font)
                font.setBold(True)
                return font
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(_COLUMNS):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return _COLUMNS[section][0]
        return _COLUMNS[section][1] if role == Qt.ItemDataRole.ToolTipRole else None

    def _is_accepted(self, node: int) -> bool:
        figure = self.figure
        return figure is not None and self._layer + 1 == figure.exit_layer and bool(figure.nodes.accepted[node])


class TreeTable(SmallTable):
    """Shows the model; the row with the cursor is the selected node."""

    node_wanted = Signal(int)
    """The user chose this node."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._telling, self._sized = True, False
        self.rows = TreeTableModel()
        super().__init__("Token tree as a table", self.rows, parent, spare=8)
        self.rows.setParent(self)
        self.horizontalHeader().setStretchLastSection(True)

    def restyle(self, small: QFont) -> None:
        self.rows.font, self._sized = small, False

    def show_tree(self, figure: TreeFigure | None, layer: int, node: int | None) -> None:
        """This tree at this layer, with the cursor on this node; emits nothing."""
        self._telling = False
        self.rows.set_figure(figure, layer)
        if not self._sized and figure is not None:  # once: it asks for every cell, and columns that jump cannot be read
            self._sized = True
            self.horizontalHeader().resizeSections(QHeaderView.ResizeMode.ResizeToContents)
        if node is None:
            self.selectionModel().clear()
        elif node != self.currentIndex().row():
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            index = self.rows.index(node, 0)
            self.selectionModel().setCurrentIndex(index, flags)
            self.scrollTo(index)
        self._telling = True

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        if self._telling and current.isValid():
            self.node_wanted.emit(current.row())
