"""A number between 0 and 1, to be typed or dragged."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QSlider, QWidget

from app.forms import DECIMALS, NumberSpin, named

STEPS = 100
"""Slider steps between 0 and 1."""
SPIN_WIDTH = 84


class ThresholdField(QWidget):
    """A spin box and a slider that show the same threshold."""

    changed = Signal()

    def __init__(self, value: float, name: str, tip: str) -> None:
        super().__init__()
        self.spin = NumberSpin(0.0, 1.0, value, 0.01, name, tip)
        self.spin.setMinimumWidth(SPIN_WIDTH)
        self.slider = named(QSlider(Qt.Orientation.Horizontal), f"{name} slider", tip)
        self.slider.setRange(0, STEPS)
        self.slider.setPageStep(5)
        self.slider.setValue(round(value * STEPS))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addWidget(self.spin)
        row.addWidget(self.slider, 1)
        self.setFocusProxy(self.spin)
        self.spin.valueChanged.connect(self._follow_spin)
        self.slider.valueChanged.connect(self._follow_slider)

    def value(self) -> float:
        """The threshold, 0…1."""
        return round(self.spin.value(), DECIMALS)

    def setValue(self, value: float) -> None:
        self.spin.setValue(value)

    def _follow_spin(self, value: float) -> None:
        with QSignalBlocker(self.slider):
            self.slider.setValue(round(value * STEPS))
        self.changed.emit()

    def _follow_slider(self, step: int) -> None:
        self.spin.setValue(step / STEPS)
