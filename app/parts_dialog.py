"""The trained parts' card: how drafter and predictors were made, and how good they are."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QHeaderView,
    QLabel,
    QTableWidget,
    QTableWidgetItem,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from app.card_words import Section, Table
from app.forms import labelled, named, plain
from app.parts_card import sections
from app.settings_dock import ModelFacts
from widgets.plain_table import make_plain

SIZE = (940, 540)
NOTHING = "The parts say nothing about themselves."
NO_MODEL = "No model is open; trained parts belong to one."


class PartsDialog(QDialog):
    """Shows the card of the loaded model's parts, or the sentence that says how to make some. Nothing is editable."""

    def __init__(self, facts: ModelFacts | None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Trained parts")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.tabs = named(QTabWidget(), "Trained parts", "What the parts of this model say of themselves")
        self.note = labelled("", "")
        self.note.setWordWrap(True)
        self.note.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        shown = sections(facts.card) if facts and facts.has_parts else ()
        for section in shown:
            self.tabs.addTab(_page(section), section.title)
        self._lay_out(facts, bool(shown))
        if shown:
            self.resize(*SIZE)
        else:
            self.setMinimumWidth(SIZE[0] * 2 // 3)

    def _lay_out(self, facts: ModelFacts | None, has_card: bool) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 16)
        column.setSpacing(12)
        column.addWidget(labelled(f"Trained parts of {facts.name}" if facts else "Trained parts", "title"))
        if has_card:
            column.addWidget(self.tabs, 1)
        else:
            self.note.setText(plain(_why_nothing(facts)))
            column.addWidget(self.note)
            column.addStretch(1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column.addWidget(buttons)


def _why_nothing(facts: ModelFacts | None) -> str:
    if facts is None:
        return NO_MODEL
    return NOTHING if facts.has_parts else facts.parts_problem


def _page(section: Section) -> QWidget:
    page = QWidget()
    column = QVBoxLayout(page)
    column.setContentsMargins(14, 12, 14, 12)
    column.setSpacing(10)
    if section.facts:
        column.addLayout(_facts(section))
    if section.table is not None:
        if section.note:
            column.addWidget(_words(section.note, "muted"))
        column.addWidget(_table(section.title, section.table), 1)
    else:
        column.addStretch(1)
    return page


def _facts(section: Section) -> QGridLayout:
    grid = QGridLayout()
    grid.setHorizontalSpacing(18)
    grid.setVerticalSpacing(6)
    grid.setColumnStretch(1, 1)
    for row, (name, text) in enumerate(section.facts):
        grid.addWidget(labelled(name, "muted"), row, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(_words(text, ""), row, 1)
    return grid


def _words(text: str, role: str) -> QLabel:
    label = labelled(text, role)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def _table(title: str, table: Table) -> QTableWidget:
    shown = named(QTableWidget(len(table.rows), len(table.heads)), title, "Read-only; the arrow keys move the cell")
    shown.setHorizontalHeaderLabels(list(table.heads))
    make_plain(shown, several=True)
    shown.setAlternatingRowColors(True)
    for row, cells in enumerate(table.rows):
        for column, text in enumerate(cells):
            item = QTableWidgetItem(text)
            item.setTextAlignment(_NAME if column == 0 else _FIGURE)
            shown.setItem(row, column, item)
    for column in range(len(table.heads)):
        head = shown.horizontalHeaderItem(column)
        if head is not None:
            head.setTextAlignment(_NAME if column == 0 else _FIGURE)
    shown.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
    shown.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
    shown.horizontalHeader().setHighlightSections(False)
    return shown


_NAME = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
_FIGURE = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
