"""The predictor inspector: one judgement taken apart, and how good the layer's predictor is over the run."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QSplitter, QTabBar, QVBoxLayout, QWidget

from core.analysis.inspector import Inspection
from widgets.calibration_view import CalibrationView
from widgets.inspector_table import InspectorTable
from widgets.inspector_words import judgement_words
from widgets.palette import Theme

BESIDE_FROM, BELOW_FROM = 800, 560
"""Width from which the quality stands beside the features, else height from which it stands below them; in a smaller
panel one of the two is shown, behind a tab."""
TABLE_ROOM = 90
"""Pixels below the words for the table's head and a few of its features."""


class InspectorView(QWidget):
    """The judgement, and `quality` below it or beside it, as there is room."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Predictor inspector")
        self._arranged: tuple[bool, bool] | None = None
        """Whether there was room beside and below when sizes were given last; those that the user gives then stay."""
        self._found: Inspection | None = None
        self._why_empty = ""
        self.words = _words()
        self.table, self.quality = InspectorTable(), CalibrationView()
        self.judgement = QWidget()
        self.judgement.installEventFilter(self)
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.tabs = _tabs()
        self.tabs.currentChanged.connect(self._arrange)
        self._lay_out()

    def _lay_out(self) -> None:
        column = QVBoxLayout(self.judgement)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self.words)
        column.addWidget(self.table, 1)
        column.setAlignment(self.words, Qt.AlignmentFlag.AlignTop)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setHandleWidth(9)
        for part in (self.judgement, self.quality):
            self.splitter.addWidget(part)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(4)
        outer.addWidget(self.tabs)
        outer.addWidget(self.splitter, 1)

    def show_inspection(self, found: Inspection | None, why_empty: str = "") -> None:
        """Show this judgement, or the sentence that says why there is none."""
        self._found, self._why_empty = found, why_empty
        self._show_words()
        self.table.rows.set_inspection(found)
        self.table.setVisible(found is not None)

    @property
    def is_empty(self) -> bool:
        """Whether a sentence stands in place of a judgement."""
        return self._found is None

    def _show_words(self) -> None:
        """All of them where they and some of the table find room, else fewer with the rest in the tooltip."""
        found = self._found
        told = self._why_empty if found is None else judgement_words(found)
        self.words.setText(told)
        fits = (
            found is None or self.words.heightForWidth(self.judgement.width()) + TABLE_ROOM <= self.judgement.height()
        )
        if found is not None and not fits:
            self.words.setText(judgement_words(found, brief=True))
        self.words.setToolTip("" if fits else told)

    def apply_theme(self, theme: Theme) -> None:
        """Take over these colours, live."""
        self.table.apply_theme(theme)
        self.quality.apply_theme(theme)

    def minimumSizeHint(self) -> QSize:
        """Less than its parts ask for: a panel behind others must not keep the window from becoming low."""
        return QSize(220, 140)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    @Slot()
    def _arrange(self) -> None:
        """Both parts side by side or one above the other, or one of them."""
        beside, below = self.width() >= BESIDE_FROM, self.height() >= BELOW_FROM
        self.splitter.setOrientation(Qt.Orientation.Horizontal if beside else Qt.Orientation.Vertical)
        self.tabs.setVisible(not (beside or below))
        for at, part in enumerate((self.judgement, self.quality)):
            part.setVisible(beside or below or self.tabs.currentIndex() == at)
        if self._arranged != (beside, below):
            self._arranged = (beside, below)
            whole = self.width() if beside else self.height()
            self.splitter.setSizes([round(0.52 * whole), round(0.48 * whole)])

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The words have as much room as there is beside or above the quality."""
        if event.type() is QEvent.Type.Resize:
            self._show_words()
        return False


def _words() -> QLabel:
    words = QLabel()
    words.setAccessibleName("The selected predictor’s judgement")
    words.setTextFormat(Qt.TextFormat.RichText)
    words.setWordWrap(True)
    words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return words


def _tabs() -> QTabBar:
    tabs = QTabBar()
    tabs.setAccessibleName("What to show of the inspector")
    tabs.setDrawBase(False)
    for name in ("Judgement", "Quality of the predictor"):
        tabs.addTab(name)
    return tabs
