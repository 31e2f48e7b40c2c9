"""Small pieces that the window's forms share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPalette, QResizeEvent, QStandardItemModel
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDoubleSpinBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QSpinBox,
    QWidget,
)

from app.choices import Choice
from app.named_keys import say, tell
from widgets.theme import pad

W = TypeVar("W", bound=QWidget)
S = TypeVar("S", bound=QAbstractSpinBox)

DECIMALS = 4
SPIN_WIDTH = 58
WIDEST_LABEL = "Skipped K/V"


def named(widget: W, name: str, tip: str) -> W:
    """Give a widget what a screen reader says of it, and the same words as its tooltip."""
    widget.setAccessibleName(name)
    tell(widget, tip)
    return widget


def labelled(text: str, role: str) -> QLabel:
    """A label in one of the theme's roles: title, muted, caution, error."""
    label = QLabel()
    say(label, text)
    label.setProperty("role", role)
    return label


def plain(sentence: str) -> str:
    """A sentence as a window shows it: the command line's backquotes become quotation marks."""
    return re.sub("`([^`]*)`", "“\\1”", sentence)


def combo(choices: Sequence[Choice], name: str, tip: str) -> QComboBox:
    """A combo box whose rows hold `Choice.value`. It keeps an enum of strings as a plain string."""
    box = named(QComboBox(), name, tip)
    # Rows may be longer than a narrow panel is wide; the list that opens shows them whole.
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(4)
    fill(box, choices)
    return box


def fill(box: QComboBox, choices: Sequence[Choice]) -> None:
    """Put these rows into the box in place of what it holds."""
    box.clear()
    for choice in choices:
        box.addItem(choice.title, str(choice.value))
        box.setItemData(box.count() - 1, choice.tip, Qt.ItemDataRole.ToolTipRole)


def choose(box: QComboBox, value: str) -> bool:
    """Choose the row with this value; False where there is none."""
    row = box.findData(str(value))
    if row >= 0:
        box.setCurrentIndex(row)
    return row >= 0


def enable_row(box: QComboBox, row: int, enabled: bool) -> None:
    """Let a row be chosen, or grey it out."""
    model = box.model()
    assert isinstance(model, QStandardItemModel), "a combo box's own model is one"
    model.item(row).setEnabled(enabled)


def spin(least: int, most: int, value: int, name: str, tip: str) -> QSpinBox:
    """An input for a whole number."""
    made = sized(named(QSpinBox(), name, tip))
    made.setRange(least, most)
    made.setValue(value)
    return made


class NumberSpin(QDoubleSpinBox):
    """An input for a number with two decimals, which shows more only where there are more."""

    def __init__(self, least: float, most: float, value: float, step: float, name: str, tip: str) -> None:
        super().__init__()
        named(sized(self), name, tip)
        self.setDecimals(DECIMALS)
        self.setRange(least, most)
        self.setSingleStep(step)
        self.setValue(value)

    def sizeHint(self) -> QSize:
        """Qt's own may be that of the type before, lower than the text needs."""
        return super().sizeHint().expandedTo(self.minimumSizeHint())

    def textFromValue(self, value: float) -> str:
        short = f"{value:.2f}"
        return short if abs(float(short) - value) < 10**-DECIMALS / 2 else f"{value:g}"


def sized(box: S) -> S:
    """Three of them fit beside each other in the dock."""
    pad(box)
    box.setMinimumWidth(SPIN_WIDTH)
    return box


class Rows(QGridLayout):
    """Labels and their inputs below each other; rows can be taken away and brought back."""

    def __init__(self, *, aligned: bool = True) -> None:
        """`aligned` forms below each other line up, whatever rows they show."""
        super().__init__()
        self._aligned = aligned
        self.setContentsMargins(0, 0, 0, 0)
        self.setHorizontalSpacing(10)
        self.setVerticalSpacing(6)
        self.setColumnStretch(1, 1)
        self.fit()
        self._labels: dict[QWidget, QLabel] = {}

    def fit(self) -> None:
        """Make room for labels in type of the present size."""
        if self._aligned:
            self.setColumnMinimumWidth(0, QFontMetrics(QApplication.font()).horizontalAdvance(WIDEST_LABEL))

    def add(self, text: str, field: QWidget, buddy: QWidget | None = None) -> None:
        """A row; `buddy` gets the label's key, the field itself where it is not given."""
        label = labelled(text, "muted")
        label.setBuddy(buddy or field)
        row = self.rowCount()
        self.addWidget(label, row, 0)
        self.addWidget(field, row, 1)
        self._labels[field] = label

    def add_wide(self, field: QWidget) -> None:
        """A row without a label."""
        self.addWidget(field, self.rowCount(), 0, 1, 2)

    def show_row(self, field: QWidget, shown: bool) -> None:
        """Take a row away, or bring it back."""
        field.setVisible(shown)
        self._labels[field].setVisible(shown)


def beside(*fields: QWidget) -> QWidget:
    """Inputs side by side, the later ones taking the room that is left."""
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(8)
    for index, field in enumerate(fields):
        row.addWidget(field, index)
    return holder


def columns(*fields: tuple[str, QWidget]) -> QGridLayout:
    """Small inputs side by side, each under its label: three rows of a form in the height of one."""
    grid = QGridLayout()
    grid.setHorizontalSpacing(8)
    grid.setVerticalSpacing(3)
    for column, (text, field) in enumerate(fields):
        label = labelled(text, "muted")
        label.setBuddy(field)
        grid.addWidget(label, 0, column)
        grid.addWidget(field, 1, column)
        grid.setColumnStretch(column, 1)
    return grid


class Line(QWidget):
    """A hairline in the theme's line colour."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(1)

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), self.palette().color(QPalette.ColorRole.Mid))


class Note(QLabel):
    """One sentence under a form, with a sign beside its colour; takes no room while there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWordWrap(True)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.clear()

    def show_error(self, sentence: str) -> None:
        self._show("error", f"✕ {plain(sentence)}")

    def show_caution(self, sentence: str) -> None:
        self._show("caution", f"▲ {plain(sentence)}")

    def show_remark(self, sentence: str) -> None:
        """What is good to know; nothing is wrong."""
        self._show("muted", plain(sentence))

    def clear(self) -> None:
        self.setText("")
        self.hide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._claim()

    def _claim(self) -> None:
        """Ask for every line's room: a panel that has too little would lay a wrapped label over its neighbours."""
        self.setMinimumHeight(max(0, self.heightForWidth(self.width())))  # it is -1 before there is a width

    def _show(self, role: str, text: str) -> None:
        self.setProperty("role", role)
        self.style().unpolish(self)
        self.style().polish(self)
        self.setText(text)
        self.setAccessibleName(text)
        self._claim()
        self.show()
