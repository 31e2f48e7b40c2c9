"""The folding part of the settings form on token trees: shape, size, mapping, and n-grams (SpecEE §6)."""

from __future__ import annotations

from math import prod

from PySide6.QtCore import QRegularExpression, QSignalBlocker, Signal, Slot
from PySide6.QtGui import QRegularExpressionValidator
from PySide6.QtWidgets import QCheckBox, QLineEdit, QVBoxLayout, QWidget

from app.choices import MAPPINGS, TREE_SHAPES
from app.forms import Note, Rows, choose, columns, combo, named, spin
from core.choices import Mapping
from core.config import MOST_NODES, TreeSettings
from core.errors import UserError

SPEC = "spec"
"""The row of the shapes at which children a level are typed."""
FIRST_SPEC = "4-2-2-1-1"


class TreeForm(QWidget):
    """Holds the last tree that can be; one that is being typed and cannot be yet is told in a note."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._settings = TreeSettings()
        self._problem = ""
        self._mapped = True
        self._make()
        self._lay_out()
        for box in (self.shape, self.mapping):
            box.currentIndexChanged.connect(self._edited)
        for number in (self.nodes, self.levels, self.expand):
            number.valueChanged.connect(self._edited)
        self.spec.textChanged.connect(self._edited)
        self.ngrams.toggled.connect(self._edited)
        self._edited()

    def value(self) -> TreeSettings:
        """What is entered, or the last that could be."""
        return self._settings

    def setValue(self, tree: TreeSettings) -> None:
        named_shape = self.shape.findData(tree.shape) >= 0
        with QSignalBlocker(self):
            choose(self.shape, tree.shape if named_shape else SPEC)
            self.spec.setText(FIRST_SPEC if named_shape else tree.shape)
            self.nodes.setValue(tree.nodes)
            self.levels.setValue(tree.depth)
            self.expand.setValue(tree.expand)
            choose(self.mapping, tree.mapping)
            self.ngrams.setChecked(tree.ngrams)
        self._edited()

    def check(self) -> None:
        """Refuse what cannot be run.

        Raises:
            UserError: what is typed is no tree.
        """
        if self._problem:
            raise UserError(self._problem)

    def allow_mapping(self, mapped: bool) -> None:
        """Whether the chosen policy has predictors, which a mapping is for."""
        self._mapped = mapped
        self._show()

    def summary(self) -> str:
        """What is entered, in a few words."""
        tree = self._settings
        if not tree.on:
            return "off"
        size = f"dynamic, {tree.nodes} nodes" if tree.shape == "dynamic" else tree.shape
        mapping = f", {tree.mapping.value}" if self._mapped and tree.mapping is not Mapping.REARMOST else ""
        return size + mapping + (", n-grams" if tree.ngrams else "")

    def _make(self) -> None:
        usual = TreeSettings()
        self.shape = combo(TREE_SHAPES, "Tree shape", "Whether a tree of tokens is drafted and verified in one pass")
        self.spec = named(
            QLineEdit(FIRST_SPEC), "Children a level", "Children of each node, a level at a time, as in 4-2-2-1-1"
        )
        self.spec.setValidator(QRegularExpressionValidator(QRegularExpression("[0-9-]{0,64}"), self.spec))
        self.nodes = spin(1, MOST_NODES, usual.nodes, "Tree nodes", "Drafted nodes that dynamic growth keeps")
        self.levels = spin(1, 32, usual.depth, "Tree depth", "Levels of dynamic growth")
        self.expand = spin(1, MOST_NODES, usual.expand, "Tree expand", "Nodes a level that dynamic growth expands")
        self.mapping = combo(MAPPINGS, "Mapping", "How predictors judge a tree (SpecEE §6)")
        self.ngrams = named(
            QCheckBox("&n-grams of the text join"),
            "n-grams of the text join",
            "Continuations found earlier in the text become nodes of the tree, too",
        )
        self.note = Note()

    def _lay_out(self) -> None:
        self._rows = Rows()
        self._rows.add("Tree s&hape", self.shape)
        self._rows.add("C&hildren", self.spec)
        self._dynamic = QWidget()
        numbers = columns(("Nodes", self.nodes), ("Depth", self.levels), ("Expand", self.expand))
        numbers.setContentsMargins(0, 0, 0, 0)
        self._dynamic.setLayout(numbers)
        self._rows.add_wide(self._dynamic)
        self._rows.add("Ma&pping", self.mapping)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addLayout(self._rows)
        column.addWidget(self.ngrams)
        column.addWidget(self.note)

    @Slot()
    def _edited(self) -> None:
        self._problem = ""
        try:
            self._settings = self._entered()
        except UserError as error:
            self._problem = str(error)
        self._show()
        self.changed.emit()

    def _entered(self) -> TreeSettings:
        shape = self.shape.currentData()
        typed = self.spec.text().strip()
        if shape == SPEC and not typed:
            raise UserError("The tree has no levels; write children a level, as in 4-2-2-1-1, or turn the tree off.")
        return TreeSettings(
            shape=typed if shape == SPEC else shape,
            nodes=self.nodes.value(),
            depth=self.levels.value(),
            expand=self.expand.value(),
            mapping=Mapping(self.mapping.currentData()),
            ngrams=self.ngrams.isChecked(),
        )

    def _show(self) -> None:
        shape = self.shape.currentData()
        self._rows.show_row(self.spec, shape == SPEC)
        self._dynamic.setVisible(shape == "dynamic")
        self._rows.show_row(self.mapping, shape != "off" and self._mapped)
        self.ngrams.setVisible(shape != "off")
        if self._problem:
            self.note.show_error(self._problem)
        elif shape == SPEC:
            self.note.show_remark(size_words(self._settings))
        else:
            self.note.clear()


def size_words(tree: TreeSettings) -> str:
    """How large a static tree is."""
    widths = tree.widths
    nodes = sum(prod(widths[: level + 1]) for level in range(len(widths)))
    paths = prod(widths)
    return (
        f"{nodes} draft node{'' if nodes == 1 else 's'} in {len(widths)} level{'' if len(widths) == 1 else 's'}, "
        f"{paths} hyper-token{'' if paths == 1 else 's'}"
    )
