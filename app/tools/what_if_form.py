"""What a what-if asks: the settings that can be decided anew, starting at the recording's own."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QSignalBlocker, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QVBoxLayout, QWidget

from app.choices import POLICIES
from app.forms import DECIMALS, NumberSpin, Rows, choose, columns, combo, named, spin
from app.threshold_field import ThresholdField
from core.choices import Policy
from core.config import RunSettings, SchedulerSettings

GATE_STEP = 0.01


class WhatIfForm(QWidget):
    """Holds settings that differ from the recording's in what can be decided anew, and in nothing else."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._recorded = RunSettings()
        self._depth = 1
        self._known = 0
        self._own: dict[int, float] = {}
        """Layers with a threshold of their own."""
        self._layer: int | None = None
        self._make()
        self._lay_out()
        self.policy.currentIndexChanged.connect(self._edited)
        self.threshold.changed.connect(self._edited)
        self.gate.valueChanged.connect(self._edited)
        for number in (self.window_size, self.radius, self.offline):
            number.valueChanged.connect(self._edited)
        self.distinct.toggled.connect(self._edited)
        self.own_on.toggled.connect(self._own_edited)
        self.own_value.valueChanged.connect(self._own_edited)

    def show_recording(self, settings: RunSettings, depth: int, known: int) -> None:
        """Start at these settings of a model of `depth` layers, `known` offline layers of which are on record."""
        self._recorded, self._depth, self._known = settings, depth, known
        self.radius.setMaximum(max(depth - 1, 0))
        self.offline.setMaximum(known)
        self.reset()

    def settings(self) -> RunSettings:
        """What is asked."""
        scheduler = SchedulerSettings(
            self.window_size.value(), self.radius.value(), self.offline.value(), self.distinct.isChecked()
        )
        recorded = self._recorded
        is_tiered = self.policy.currentData() == Policy.SPECEE_T1T2
        return replace(
            recorded,
            policy=Policy(self.policy.currentData()),
            threshold=self.threshold.value(),
            gate=round(self.gate.value(), DECIMALS),
            scheduler=scheduler if is_tiered or recorded.policy is Policy.SPECEE_T1T2 else recorded.scheduler,
            layer_thresholds=tuple(sorted(self._own.items())),
        )

    @property
    def is_reset(self) -> bool:
        """Whether the recording's own settings are asked."""
        own = tuple(sorted(self._recorded.layer_thresholds))
        return self.settings() == replace(self._recorded, layer_thresholds=own)

    @Slot()
    def reset(self) -> None:
        """Ask the recording's own settings."""
        self.show_question(self._recorded)

    def show_question(self, asked: RunSettings) -> None:
        """Ask these settings of the recording."""
        with QSignalBlocker(self):
            choose(self.policy, asked.policy)
            self.threshold.setValue(asked.threshold)
            self.gate.setValue(asked.gate)
            self.window_size.setValue(asked.scheduler.window)
            self.radius.setValue(asked.scheduler.radius)
            self.offline.setValue(asked.scheduler.offline_layers)
            self.distinct.setChecked(asked.scheduler.distinct)
        self._own = dict(asked.layer_thresholds)
        self._show_own()
        self._edited()

    def set_threshold(self, threshold: float) -> None:
        """Ask this threshold of all layers."""
        self._own = {}
        self._show_own()
        before = self.threshold.value()
        self.threshold.setValue(threshold)
        if before == self.threshold.value():
            self._edited()

    def set_layer(self, layer: int | None) -> None:
        """The selected 0-based layer, whose own threshold can be set; None where none is."""
        has_predictor = layer is not None and layer < self._depth - 1
        self._layer = layer if has_predictor else None
        self._show_own()

    def _show_own(self) -> None:
        layer = self._layer
        with QSignalBlocker(self.own_on), QSignalBlocker(self.own_value):
            self.own_on.setText("One layer" if layer is None else f"Layer {layer + 1}")
            self.own_on.setEnabled(layer is not None)
            self.own_on.setChecked(layer in self._own)
            self.own_value.setEnabled(layer in self._own)
            value = self.threshold.value() if layer is None else self._own.get(layer, self.threshold.value())
            self.own_value.setValue(value)

    @Slot()
    def _own_edited(self) -> None:
        if self._layer is None:
            return
        if self.own_on.isChecked():
            self._own[self._layer] = round(self.own_value.value(), DECIMALS)
        else:
            self._own.pop(self._layer, None)
        self._show_own()
        self._edited()

    @Slot()
    def _edited(self) -> None:
        tiered = self.policy.currentData() == Policy.SPECEE_T1T2
        for field in (self.window_size, self.radius, self.offline, self.distinct):
            field.setEnabled(tiered)
        if self._layer not in self._own:
            self._show_own()
        self.changed.emit()

    def _make(self) -> None:
        decided = [choice for choice in POLICIES if Policy(choice.value).needs_parts]
        choices = [replace(choice, title=choice.title.removeprefix("SpecEE ")) for choice in decided]
        self.policy = combo(choices, "What-if policy", "Predictors on the scheduler's layers, or on all")
        self.threshold = ThresholdField(
            0.5, "What-if threshold", "An exit is proposed where the predictor's score, 0 to 1, is above this"
        )
        self.own_on = named(
            QCheckBox("One layer"),
            "A threshold for the selected layer",
            "Give the selected layer a threshold of its own; select one in the scheduler map",
        )
        self.own_value = NumberSpin(0.0, 1.0, 0.5, 0.01, "The layer's own threshold", "Holds for this layer alone")
        self.gate = NumberSpin(
            0.0, 1.0, 0.0, GATE_STEP, "What-if margin gate", "Refuse exits whose margin is below this; 0 is off"
        )
        self.window_size = spin(1, 1000, 5, "What-if window N", "How many past exits the ring holds")
        self.radius = spin(0, 1000, 2, "What-if radius r", "Layers to either side of a past exit that are watched")
        self.offline = spin(0, 1000, 8, "What-if offline layers M", "Most frequent exit layers that are always watched")
        self.distinct = named(
            QCheckBox("Count equal exits once"),
            "What-if distinct exits",
            "Count equal exits in the ring once; moves counters in the scheduler map and never an active set",
        )

    def _lay_out(self) -> None:
        rows = Rows(aligned=False)  # as wide as the engine's form is more than this one can spare
        rows.add("Policy", self.policy)
        rows.addWidget(self.own_on, rows.rowCount(), 0)
        rows.addWidget(self.own_value, rows.rowCount() - 1, 1)
        rows.add("Margin gate", self.gate)
        numbers = columns(("N", self.window_size), ("r", self.radius), ("M", self.offline))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 4, 0)
        column.setSpacing(7)
        column.addLayout(columns(("Threshold", self.threshold)))  # its slider needs the width
        column.addLayout(rows)
        column.addLayout(numbers)
        column.addWidget(self.distinct)
        self.buttons = QHBoxLayout()
        column.addLayout(self.buttons)
        column.addStretch(1)
