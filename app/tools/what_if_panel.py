"""The view of the what-if panel: settings, what they come to, and pages for the decisions and the frontier."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from app.forms import labelled, named
from app.tools.what_if_form import WhatIfForm
from widgets.frontier_plot import COLUMNS, FrontierPlot
from widgets.palette import Theme
from widgets.rows_table import RowsTable
from widgets.what_if_plot import WhatIfPlot
from widgets.what_if_table import WhatIfTable

BESIDE_FROM = 1.25
"""Width over height from which the settings stand beside the pages and not above them."""
FORM_LETTERS = 39
"""That the settings are as wide as, in type of any size."""
WORDS_FROM = 380
"""Height from which sentences stand under the figures."""
NO_LIMIT = 16_777_215
"""Qt's own largest size."""
RERUN_TIP = "Run the same prompt with these settings as a new run, and hold what was decided here against it"


class WhatIfPanel(QWidget):
    """Only lays out; `app.tools.what_if` brings it to life."""

    page_shown = Signal(int)
    _is_laid_out = False

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("What if")
        self.form = WhatIfForm()
        self.reset = named(QPushButton("Reset"), "Reset the what-if", "Back to the recording's own settings")
        self.rerun = named(QPushButton("Re-run for truth"), "Re-run for truth", RERUN_TIP)
        self.totals, self.words, self.truth = labelled("", "plain"), labelled("", "muted"), labelled("", "plain")
        self.reading = labelled("", "muted")
        self.plot, self.table = WhatIfPlot(), WhatIfTable()
        self.plot.set_growing(False)
        self.frontier, self.points = FrontierPlot(), RowsTable("Frontier as a table", COLUMNS)
        for label in (self.totals, self.words, self.truth, self.reading):
            label.setTextFormat(Qt.TextFormat.RichText)
            label.setWordWrap(True)
            label.setMinimumWidth(1)  # or what must not break would push the settings aside
        self.exactness = self.advice = ""
        """What stands under the figures, by page, as far as there is room (minimal HTML)."""
        self._changes = 0
        self._lay_out()
        self._is_laid_out = True
        self.show_truth("")
        self.show_reading("")

    @property
    def shows_frontier(self) -> bool:
        """Whether the frontier is on show, as a plot or as a table."""
        return self.pages.currentWidget() in (self.frontier, self.points)

    def show_words(self, exactness: str, advice: str) -> None:
        """How far the decisions are exact, and what the frontier advises, in sentences (minimal HTML)."""
        self.exactness, self.advice = exactness, advice
        self._show_words()

    def show_truth(self, words: str) -> None:
        """What the re-run said, in sentences (minimal HTML); "" takes the line away."""
        self.truth.setText(words)
        self.truth.setVisible(bool(words))

    def show_reading(self, words: str) -> None:
        """How far a long recording was read, with a link (minimal HTML); "" takes the line away."""
        self.reading.setText(words)
        self.reading.setVisible(bool(words))

    def count_changes(self, count: int) -> None:
        """How many decisions the page of changed ones holds."""
        self._changes = count
        self._name_tab()

    def _name_tab(self) -> None:
        """In words, or with a sign where all tabs would not fit."""
        at, bar, title = self.pages.indexOf(self.table), self.pages.tabBar(), f"Changed ({self._changes})"
        self.pages.setTabText(at, title)
        self.pages.setTabToolTip(at, f"{title}: decisions that would be others")
        if bar.sizeHint().width() > self.pages.width():
            self.pages.setTabText(at, f"Δ {self._changes}")

    def apply_theme(self, theme: Theme) -> None:
        for part in (self.plot, self.table, self.frontier, self.points):
            part.apply_theme(theme)

    def sizeHint(self) -> QSize:
        return QSize(600, 320)

    def minimumSizeHint(self) -> QSize:
        """Less than its parts ask for: a panel behind others must not keep them from becoming narrow."""
        return QSize(220, 140)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange and self._is_laid_out:
            self._fit()

    def _fit(self) -> None:
        """Settings beside the pages where there is room, as wide as their type asks."""
        beside = self.width() > BESIDE_FROM * self.height()
        letters = FORM_LETTERS * self.fontMetrics().averageCharWidth()
        direction = QBoxLayout.Direction.LeftToRight if beside else QBoxLayout.Direction.TopToBottom
        if direction is not self._all.direction():
            self._all.setDirection(direction)
        self._area.setMinimumWidth(letters if beside else 0)
        self._area.setMaximumWidth(letters if beside else NO_LIMIT)
        self._area.setMaximumHeight(NO_LIMIT if beside else max(self.height() * 2 // 5, 90))
        self._show_words()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Tabs have as much room as their pages."""
        if event.type() is QEvent.Type.Resize:
            self._name_tab()
        return False

    def _show_words(self) -> None:
        """In a low panel the sentences stand in the tooltips: the plot needs the room."""
        words = self.advice if self.shows_frontier else self.exactness
        self.words.setText(words)
        self.words.setVisible(bool(words) and self.height() >= WORDS_FROM)
        self.totals.setToolTip("".join(f"<p>{one}</p>" for one in (self.exactness, self.advice) if one))

    def _lay_out(self) -> None:
        self.form.buttons.addWidget(self.reset)
        self.form.buttons.addWidget(self.rerun, 1)
        self._area = QScrollArea()
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setWidget(self.form)
        self.pages = named(QTabWidget(), "What-if pages", "")
        self.pages.setDocumentMode(True)
        self.pages.tabBar().setProperty("narrow", True)
        self.pages.installEventFilter(self)
        self.pages.setMinimumWidth(1)
        for page, title in (
            (self.plot, "Exits"),
            (self.table, "Changed"),
            (self.frontier, "Frontier"),
            (self.points, "Table"),
        ):
            page.setMinimumSize(160, 60)  # less than plots ask for: the settings stand beside, and figures above
            self.pages.addTab(page, title)
        self.pages.currentChanged.connect(self._show_words)
        self.pages.currentChanged.connect(self.page_shown)
        right = QVBoxLayout()
        right.setSpacing(4)
        for part in (self.totals, self.words, self.truth, self.reading):
            right.addWidget(part)
        right.addWidget(self.pages, 1)
        self._all = QHBoxLayout(self)
        self._all.setContentsMargins(0, 0, 0, 0)
        self._all.setSpacing(12)
        self._all.addWidget(self._area)
        self._all.addLayout(right, 1)
