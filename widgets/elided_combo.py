"""A combo box whose text is cut short with an ellipsis where the box is too narrow for it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QComboBox, QStyle, QStyleOptionComboBox, QStylePainter, QWidget

from widgets.painting import guarded


class ElidedCombo(QComboBox):
    """Asks for little width; the style alone would cut the text through a letter."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(4)

    def shown_text(self) -> str:
        """The current text, as far as there is room for it."""
        return self._option().currentText

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QStylePainter(self)
        try:
            with guarded(painter):
                option = self._option()
                painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
                painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        finally:
            painter.end()

    def _option(self) -> QStyleOptionComboBox:
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        if self.currentIndex() < 0:
            option.currentText = self.placeholderText()
        box, part = QStyle.ComplexControl.CC_ComboBox, QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(box, option, part, self).width()
        option.currentText = self.fontMetrics().elidedText(option.currentText, Qt.TextElideMode.ElideRight, room - 2)
        return option
