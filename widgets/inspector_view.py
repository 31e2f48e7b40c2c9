"""The predictor inspector: one judgement taken apart, and how good the layer's predictor is over the run."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Slot
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


class InspectorView(QWidget):
    """The judgement, and `quality` below it or beside it, as there is room."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Predictor inspector")
        self._arranged: tuple[bool, bool] | None = None
        """Whether there was room beside and below when sizes were given last; those that the user gives then stay."""
        self.words = QLabel()
        self.words.setAccessibleName("The selected predictor’s judgement")
        self.words.setTextFormat(Qt.TextFormat.RichText)
        self.words.setWordWrap(True)
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.table, self.quality = InspectorTable(), CalibrationView()
        self.judgement = QWidget()
        column = QVBoxLayout(self.judgement)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self.words)
        column.addWidget(self.table, 1)
        column.setAlignment(self.words, Qt.AlignmentFlag.AlignTop)
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setHandleWidth(9)
        for part in (self.judgement, self.quality):
            self.splitter.addWidget(part)
        self.tabs = QTabBar()
        self.tabs.setAccessibleName("What to show of the inspector")
        self.tabs.setDrawBase(False)
        for name in ("Judgement", "Quality of the predictor"):
            self.tabs.addTab(name)
        self.tabs.currentChanged.connect(self._arrange)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(4)
        outer.addWidget(self.tabs)
        outer.addWidget(self.splitter, 1)

    def show_inspection(self, found: Inspection | None, why_empty: str = "") -> None:
        """Show this judgement, or the sentence that says why there is none."""
        self.words.setText(judgement_words(found) if found is not None else why_empty)
        self.table.rows.set_inspection(found)
        self.table.setVisible(found is not None)

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
