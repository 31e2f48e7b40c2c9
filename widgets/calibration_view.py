"""How good one layer's predictor is: three plots behind tabs, a table twin, and the tokens of a bin to step through."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QStackedLayout,
    QTabBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core.analysis.calibration import Label
from core.trace.events import IntArray
from widgets.calibration_plots import CurvePlot, ReliabilityPlot
from widgets.calibration_words import TAB_NAMES, Quality, Tab, bin_name, counted, headline, heads, rows
from widgets.palette import Theme
from widgets.plain_table import make_plain
from widgets.small_table import SmallTable

WAITING = "The audited tokens are being gathered…"


class CalibrationView(QWidget):
    """Shows one `Quality`, or the sentence that says why there is none."""

    asked = Signal()
    """Another label or another set of tokens is wanted; see `label` and `asked_only`."""
    tokens_chosen = Signal(object, str)
    """The 0-based tokens of a bin, and what they are."""
    link_chosen = Signal(str)
    """What a link in the sentence or in the note stands for."""
    token_wanted = Signal(int)
    """Select this 0-based token."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Quality of the layer’s predictor")
        self.found: Quality | None = None
        self._chosen: int | None = None
        self._tokens: list[int] = []
        """Of the chosen bin."""
        self._at = 0
        self._make()
        self._connect()
        self._lay_out()
        self.show_quality(None, WAITING)

    @property
    def label(self) -> Label:
        """What the predictor should have found."""
        return Label(self.labels.currentData())

    @property
    def asked_only(self) -> bool:
        """Whether only tokens count whose pass asked this predictor."""
        return bool(self.which.currentData())

    def show_quality(self, found: Quality | None, why_empty: str = WAITING) -> None:
        """Show this layer, or the sentence that says why there is nothing."""
        if found is None or self.found is None or found.layer != self.found.layer:
            self._forget_bin()
        self.found = found
        self.message.setText(why_empty if found is None else "")
        self.headline.setText(headline(found) if found is not None else "")
        self._show()

    def set_note(self, words: str) -> None:
        """What else there is to say of the numbers, with a link (minimal HTML); "" takes the line away."""
        self.note.setText(words)
        self.note.setVisible(bool(words))

    def apply_theme(self, theme: Theme) -> None:
        """Take over these colours, live."""
        for plot in (self.reliability, *self.curves):
            plot.apply_theme(theme)

    # Making

    def _make(self) -> None:
        self.tabs = _tabs()
        self.labels = _box("Label", "What the predictor should have found: the final token, or also that it is in S")
        for label in Label:
            self.labels.addItem(label.value, label)
        self.which = _box(
            "Tokens", "All audited tokens, or only those whose pass asked this predictor (no fair sample)"
        )
        self.which.addItem("all tokens", False)
        self.which.addItem("asked ones", True)
        self.table_button = _button("Table", "Show the numbers as a table, which a screen reader can read")
        self.table_button.setCheckable(True)
        self.reliability = ReliabilityPlot()
        self.curves = (CurvePlot(Tab.ROC), CurvePlot(Tab.PRECISION_RECALL))
        self.table = _table()
        self.message, self.headline, self.note, self.steps = _muted(), _muted(), _muted(), _muted()
        self.steps.setWordWrap(False)
        self.before, self.after = _button("◂", "The bin’s token before"), _button("▸", "The bin’s next token")

    def _connect(self) -> None:
        self.tabs.currentChanged.connect(self._show)
        self.labels.currentIndexChanged.connect(self._ask)
        self.which.currentIndexChanged.connect(self._ask)
        self.table_button.toggled.connect(self._show)
        self.reliability.bin_chosen.connect(self.choose)
        self.before.clicked.connect(self._step_back)
        self.after.clicked.connect(self._step_on)

    def _lay_out(self) -> None:
        self.message.setAccessibleName("Why there is nothing to show")
        self.note.setAccessibleName("Which tokens these numbers are of")
        self.note.hide()
        for label in (self.message, self.note):
            label.linkActivated.connect(self.link_chosen)
            label.setTextInteractionFlags(_LINKS)
        self.message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.tabs)
        column.addLayout(_row(self.labels, self.which, None, self.table_button))
        column.addWidget(self.headline)
        column.addWidget(self.note)
        self._pages = QStackedLayout()
        for page in (self.reliability, *self.curves, self.table, self.message):
            self._pages.addWidget(page)
        column.addLayout(self._pages, 1)
        column.addLayout(_row(self.steps, None, self.before, self.after))

    # What is shown

    @Slot()
    def _show(self) -> None:
        found, tab = self.found, Tab(self.tabs.currentIndex())
        self.reliability.show_quality(found, self._chosen)
        for plot in self.curves:
            plot.show_quality(found)
        if found is None:
            self._pages.setCurrentWidget(self.message)
        elif self.table_button.isChecked():
            _fill(self.table, found, tab)
            self._pages.setCurrentWidget(self.table)
        else:
            self._pages.setCurrentIndex(int(tab))
        self._show_steps()

    def _show_steps(self) -> None:
        there = bool(self._tokens) and self.found is not None and self._chosen is not None
        for part in (self.steps, self.before, self.after):
            part.setVisible(there)
        if there and self.found is not None and self._chosen is not None:
            name = bin_name(self.found.calibration, self._chosen)
            self.steps.setText(f"scores {name}: token {self._tokens[self._at] + 1}, "
                               f"{self._at + 1} of {len(self._tokens):,}")  # fmt: skip
            self.before.setEnabled(self._at > 0)
            self.after.setEnabled(self._at < len(self._tokens) - 1)

    # What the user asks for

    @Slot(int)
    def choose(self, at: int) -> None:
        """Choose a bin: its tokens are to be highlighted, and its first one selected."""
        if self.found is None or not self.found.calibration.counts[at]:
            return
        tokens: IntArray = self.found.calibration.tokens[at]
        self._chosen, self._tokens, self._at = at, tokens.tolist(), 0
        name = f"layer {self.found.layer + 1}, scores {bin_name(self.found.calibration, at)}"
        self.tokens_chosen.emit(tokens, f"{counted(len(tokens))}: {name}")
        self.token_wanted.emit(self._tokens[0])
        self._show()

    @Slot()
    def _ask(self) -> None:
        self._forget_bin()
        self.asked.emit()

    def _forget_bin(self) -> None:
        if self._tokens:
            self.tokens_chosen.emit(np.zeros(0, np.int64), "")
        self._chosen, self._tokens, self._at = None, [], 0

    @Slot()
    def _step_back(self) -> None:
        self._go(-1)

    @Slot()
    def _step_on(self) -> None:
        self._go(1)

    def _go(self, by: int) -> None:
        self._at = min(max(self._at + by, 0), len(self._tokens) - 1)
        self._show_steps()
        self.token_wanted.emit(self._tokens[self._at])


_LINKS = Qt.TextInteractionFlag.LinksAccessibleByMouse | Qt.TextInteractionFlag.LinksAccessibleByKeyboard


def _fill(table: SmallTable, found: Quality, tab: Tab) -> None:
    model, right = QStandardItemModel(table), Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    shown, named = rows(found, tab), list(heads(tab))
    model.setHorizontalHeaderLabels(named)
    for row in shown:
        items = [QStandardItem(text) for text in row]
        for item in items:
            item.setTextAlignment(right)
            item.setEditable(False)
        model.appendRow(items)
    for column in range(len(named)):
        model.horizontalHeaderItem(column).setTextAlignment(right)
    before = table.model()
    table.setModel(model)
    before.deleteLater()
    table.fit([max((row[column] for row in shown), key=len, default="") for column in range(len(named))])
    table.horizontalHeader().setStretchLastSection(False)


def _tabs() -> QTabBar:
    tabs = QTabBar()
    tabs.setAccessibleName("What to show of the predictor")
    tabs.setDrawBase(False)
    for tab in Tab:
        tabs.addTab(TAB_NAMES[tab])
    return tabs


def _table() -> SmallTable:
    model = QStandardItemModel()
    table = SmallTable("The predictor’s quality as a table", model, spare=5)
    model.setParent(table)
    make_plain(table, several=True)
    return table


def _box(name: str, tip: str) -> QComboBox:
    box = QComboBox()
    box.setAccessibleName(name)
    box.setToolTip(tip)
    return box


def _button(text: str, tip: str) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setProperty("role", "quiet")
    button.setAccessibleName(tip)
    button.setToolTip(tip)
    return button


def _muted() -> QLabel:
    label = QLabel()
    label.setProperty("role", "muted")
    label.setWordWrap(True)
    return label


def _row(*parts: QWidget | None) -> QHBoxLayout:
    """Parts side by side; None takes the room that is left."""
    row = QHBoxLayout()
    row.setSpacing(6)
    for part in parts:
        row.addStretch(1) if part is None else row.addWidget(part)
    return row
