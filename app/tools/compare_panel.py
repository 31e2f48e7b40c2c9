"""The Compare panel's view: which run, what the two come to, and both side by side as plot, table and words."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSplitter,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.forms import Note, labelled, named
from app.tools.compare_choices import RunChoice
from core.analysis.compare_rows import Aligned
from widgets.compare_plot import ComparePlot
from widgets.compare_sides import CompareSides
from widgets.compare_table import CompareTable
from widgets.elided_combo import ElidedCombo
from widgets.palette import Theme
from widgets.selection import Selection

BESIDE_FROM = 1.35
"""Width over height from which the table stands beside plot and words and not below them."""
WITH_FROM = 340
"""Pixels of width from which there is room for the word before the choice of the run."""
ROW_FROM = 440
"""Pixels of width from which the choice of the run has room beside the buttons, for more than its first letters."""
WORDS_FROM = 260
"""Pixels of height from which what differs is told under where the runs part."""
TABLE_SHARE = 0.5
"""Of the panel, at most, until the user moves the line between."""
WITH_TIP = "Run B: what run A, the one on show, is held against; branches come first"
OPEN_TIP = "Take run B from another session file; the file is only read"


class ComparePanel(QWidget):
    """Only lays out; `app.tools.compare` brings it to life."""

    run_wanted = Signal(int)
    """The number of the run that the user chose."""
    selected = Signal(object)
    """A `Selection` that the user asks for; its token may be one that A does not have."""

    def __init__(self, actions: Sequence[QAction]) -> None:
        """`actions` go beside the choice of the run."""
        super().__init__()
        self._words = ("", "")
        self._moved = False
        """Whether the user has moved the line between table and plot."""
        self.setAccessibleName("Compare")
        self.runs = named(ElidedCombo(), "Compare with", WITH_TIP)
        self.runs.setPlaceholderText("no other run")
        self.runs.activated.connect(self._choose)
        self.open = named(QPushButton("Open…"), "Compare with a run of another file", OPEN_TIP)
        self.note, self.parting, self.nothing = Note(), labelled("", "muted"), labelled("", "muted")
        self.plot, self.table, self.sides = ComparePlot(), CompareTable(), CompareSides()
        for part in (self.plot, self.table):
            part.selected.connect(self.selected)
        for label in (self.parting, self.nothing):
            label.setWordWrap(True)
        self.parting.setTextFormat(Qt.TextFormat.RichText)
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._lay_out(actions)

    def show_choices(self, choices: Sequence[RunChoice], chosen: int | None) -> None:
        """List these runs, of which one is compared; emits nothing."""
        self.runs.clear()
        for choice in choices:
            self.runs.addItem(choice.words, choice.number)
            self.runs.setItemData(self.runs.count() - 1, choice.words, Qt.ItemDataRole.ToolTipRole)
        self.runs.setCurrentIndex(self.runs.findData(chosen) if chosen is not None else -1)
        self.runs.setEnabled(bool(choices))
        view = self.runs.view()
        view.setMinimumWidth(min(view.sizeHintForColumn(0) + 24, 900))

    def show_nothing(self, sentence: str) -> None:
        """Say why nothing is compared."""
        self.nothing.setText(sentence)
        self._pages.setCurrentIndex(0)
        self.plot.show_aligned(None)
        self.table.show_aligned(None)
        self.sides.show_html("")

    def show_aligned(self, aligned: Aligned, words: tuple[str, str], tip: str) -> None:
        """Show both runs; `words` say in minimal HTML where they part and what differs, `tip` lists all of that."""
        self._words = words
        self._show_words()
        self.parting.setToolTip(tip)
        self.plot.set_growing(any(one.ended is None for one in aligned.runs))
        self.plot.show_aligned(aligned)
        self.table.show_aligned(aligned)
        self._pages.setCurrentIndex(1)

    def set_selection(self, selection: Selection) -> None:
        """Mark this token in plot and table; emits nothing."""
        self.plot.set_selection(selection)
        self.table.set_selection(selection)

    def apply_theme(self, theme: Theme) -> None:
        for part in (self.plot, self.table, self.sides):
            part.apply_theme(theme)

    def sizeHint(self) -> QSize:
        return QSize(640, 340)

    def minimumSizeHint(self) -> QSize:
        """Less than its parts ask for: a panel behind others must not keep them from becoming narrow."""
        return QSize(220, 140)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._with.setVisible(self.width() >= WITH_FROM)
        across = self.width() >= ROW_FROM
        self._head.setDirection(QBoxLayout.Direction.LeftToRight if across else QBoxLayout.Direction.TopToBottom)
        self._show_words()
        beside = self.width() > BESIDE_FROM * self.height()
        self._parts.setOrientation(Qt.Orientation.Horizontal if beside else Qt.Orientation.Vertical)
        if not self._moved:
            whole = self.width() if beside else self.height()
            table = min(round(TABLE_SHARE * whole), self.table.whole_width() if beside else whole)
            self._parts.setSizes([whole - table, table])

    def _show_words(self) -> None:
        """In a low panel what differs stands in the tooltip: plot and table need the room."""
        self.parting.setText(" ".join(self._words if self.height() >= WORDS_FROM else self._words[:1]))

    def _note_move(self) -> None:
        self._moved = True

    def _choose(self, row: int) -> None:
        self.run_wanted.emit(self.runs.itemData(row))

    def _lay_out(self, actions: Sequence[QAction]) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(5)
        self._head = self._choice(actions)
        column.addLayout(self._head)
        column.addWidget(self.note)
        self._pages = QStackedLayout()
        self._pages.addWidget(self.nothing)
        self._pages.addWidget(self._body())
        column.addLayout(self._pages, 1)

    def _choice(self, actions: Sequence[QAction]) -> QBoxLayout:
        """The run, and the buttons beside it or, in a narrow panel, below it."""
        self._with = _buddy("with", self.runs)
        run, buttons = QHBoxLayout(), QHBoxLayout()
        run.addWidget(self._with)
        run.addWidget(self.runs, 1)
        buttons.addWidget(self.open)
        for action in actions:
            button = QToolButton()
            button.setDefaultAction(action)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
            button.setStyleSheet("padding: 4px")  # the theme's is made for words
            buttons.addWidget(button)
        buttons.addStretch(1)
        rows = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        for row in (run, buttons, rows):
            row.setSpacing(4)
        rows.addLayout(run, 1)
        rows.addLayout(buttons)
        return rows

    def _body(self) -> QWidget:
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.parting)
        told = QSplitter(Qt.Orientation.Vertical)
        told.addWidget(self.plot)
        told.addWidget(self.sides)
        self._parts = QSplitter(Qt.Orientation.Vertical)
        self._parts.addWidget(told)
        self._parts.addWidget(self.table)
        for splitter in (told, self._parts):
            splitter.setChildrenCollapsible(False)
        self._parts.splitterMoved.connect(self._note_move)
        told.setStretchFactor(0, 4)
        told.setStretchFactor(1, 5)
        column.addWidget(self._parts, 1)
        return body


def _buddy(text: str, field: QWidget) -> QLabel:
    label = labelled(text, "muted")
    label.setBuddy(field)
    return label
