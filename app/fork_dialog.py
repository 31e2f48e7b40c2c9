"""Asks how a run is to be left at one of its tokens: what stands there instead, and with which settings to go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from app.forms import labelled, named
from core.analysis.forks import Alternative
from core.analysis.texts import quoted
from widgets.plain_table import make_plain

WIDTH, HEIGHT = 520, 560
LONGEST_TEXT = 2000
"""Characters that can be typed; the model’s context ends long before."""
ROWS_SHOWN = 6
CHANGES_SHOWN = 4
"""Changed settings that are told one by one."""


@dataclass(frozen=True, slots=True)
class ForkQuestion:
    """What the dialog asks about."""

    run: int
    """0-based number of the run that is left."""
    token: int
    before: str
    """The text right before the token."""
    alternatives: Sequence[Alternative]
    """The token itself first."""
    changes: tuple[str, ...]
    """What the Engine panel's settings would change, a clause each."""
    no_own: str = ""
    """Why the run's own settings cannot be used again; "" where they can."""
    no_panel: str = ""
    """Why the panel's cannot be used."""


@dataclass(frozen=True, slots=True)
class ForkAnswer:
    """What the user wants."""

    choice: Alternative | None
    """None keeps the token."""
    text: str
    """Typed in its place; "" where nothing was typed."""
    panel: bool
    """Whether to take the Engine panel's settings."""


class ForkDialog(QDialog):
    """A list to choose from, a line to type in, and whose settings to use."""

    answered = Signal(object)
    """The `ForkAnswer`; nothing is said where the user cancels."""

    def __init__(self, question: ForkQuestion, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._question = question
        self.setWindowTitle(f"Fork at token {question.token + 1}")
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.table = self._make_table(question)
        self.text = named(QLineEdit(), "Text instead", "Type what is to stand there; it may be several tokens")
        self.text.setPlaceholderText("or type another text, of one token or several")
        self.text.setMaxLength(LONGEST_TEXT)
        self.text.textChanged.connect(self._typed)
        self.own = QRadioButton(f"As in r&un {question.run + 1}")
        self.panel = QRadioButton("As the &Engine panel says now")
        self.fork = named(QPushButton("&Fork"), "Fork", "Generate a branch from here (Enter)")
        self.cancel = named(QPushButton("Cancel"), "Cancel", "Change nothing (Esc)")
        self._connect()
        self._lay_out(question)
        self.resize(WIDTH, HEIGHT)
        self.table.setFocus()

    def _make_table(self, question: ForkQuestion) -> QTableView:
        model = QStandardItemModel(0, 2, self)
        model.setHorizontalHeaderLabels(["Token", "Where it was recorded"])
        for one in question.alternatives:
            model.appendRow([QStandardItem(quoted(one.text, one.special)), QStandardItem(one.why)])
        table = named(QTableView(), "Token", "What stands at this place in the branch")
        table.setModel(model)
        make_plain(table)
        table.horizontalHeader().setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        table.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        table.horizontalHeader().resizeSection(0, WIDTH // 2)
        table.setMinimumHeight(table.verticalHeader().defaultSectionSize() * ROWS_SHOWN)
        table.selectRow(0)
        table.doubleClicked.connect(self._chosen)
        return table

    def _connect(self) -> None:
        question = self._question
        self.own.setEnabled(not question.no_own)
        self.panel.setEnabled(not question.no_panel)
        (self.panel if question.no_own else self.own).setChecked(True)
        self.fork.setProperty("role", "primary")
        self.fork.setDefault(True)
        self.fork.setEnabled(not (question.no_own and question.no_panel))
        self.fork.clicked.connect(self.accept)
        self.cancel.clicked.connect(self.reject)
        self.accepted.connect(self._tell)

    def _lay_out(self, question: ForkQuestion) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 20, 20, 16)
        column.setSpacing(8)
        column.addWidget(labelled(f"What stands at token {question.token + 1}?", "title"))
        column.addWidget(_wrapped(f"after ‘{question.before}’" if question.before else "at the start of the answer"))
        column.addWidget(self.table, 1)
        column.addWidget(self.text)
        column.addSpacing(8)
        column.addWidget(labelled("Settings from there on", "title"))
        column.addWidget(self.own)
        if question.no_own:
            column.addWidget(_wrapped(question.no_own))
        column.addWidget(self.panel)
        column.addWidget(_wrapped(question.no_panel or _changes(question.changes)))
        column.addSpacing(8)
        column.addLayout(self._row())

    def _row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addStretch(1)
        row.addWidget(self.cancel)
        row.addWidget(self.fork)
        return row

    def _typed(self, text: str) -> None:
        """What is typed counts, and the list does not."""
        self.table.setEnabled(not text)
        if text:
            self.table.clearSelection()
        elif not self.table.selectionModel().hasSelection():
            self.table.selectRow(self.table.currentIndex().row())

    def _chosen(self, _: QModelIndex) -> None:
        if self.fork.isEnabled():
            self.accept()

    def _tell(self) -> None:
        row, text = self.table.currentIndex().row(), self.text.text()
        choice = self._question.alternatives[row] if row > 0 and not text else None
        self.answered.emit(ForkAnswer(choice, text, self.panel.isChecked()))


def _wrapped(text: str) -> QLabel:
    label = labelled(text, "muted")
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def _changes(changes: tuple[str, ...]) -> str:
    if not changes:
        return "Nothing differs."
    more = len(changes) - CHANGES_SHOWN
    told = "; ".join(changes[:CHANGES_SHOWN])
    return f"Changes {told}{f'; and {more} more' if more > 0 else ''}."
