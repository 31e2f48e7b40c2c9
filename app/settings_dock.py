"""The engine's settings: only what can be run can be entered."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSlider,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from app.forms import Note, named, rule
from core.config import CANDIDATES, DType, KVPolicy, Policy, RunSettings, SchedulerSettings
from core.errors import UserError
from widgets.theme import pad

POLICIES = (
    (Policy.SPECEE_T1T2, "SpecEE T1 + T2", "Predictors only on the layers that the two-level scheduler chooses"),
    (Policy.SPECEE_T1, "SpecEE T1", "A predictor on every layer but the last"),
    (Policy.DENSE, "Dense", "Every token runs all layers: plain greedy decoding"),
)
KV_POLICIES = (
    (KVPolicy.RECOMPUTE, "recompute", "Skipped K/V are computed when a later token needs them: exact"),
    (KVPolicy.HOLE, "hole", "Deeper layers never see tokens that left early, as the released code does"),
)
DTYPES = ((None, "auto"), (DType.FLOAT32, "float32"), (DType.BFLOAT16, "bfloat16"), (DType.FLOAT16, "float16"))
STEPS = 100
"""Slider steps between threshold 0 and 1."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What the settings must know of a loaded model."""

    name: str
    depth: int
    context: int
    has_parts: bool
    parts_problem: str = ""
    """Why SpecEE cannot be chosen, and how to make it so; "" with parts."""
    parts: str = ""
    """A few words about the trained parts."""


class SettingsPanel(QWidget):
    """A form that yields a `RunSettings`, and the dtype and threads to load a model with."""

    changed = Signal()
    reload_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Engine settings")
        self._facts: ModelFacts | None = None
        self._loaded: tuple[DType | None, int | None] = (None, None)
        self._make_inputs()
        self._lay_out()
        self._connect()
        self.set_model(None)

    def settings(self, chat_template: bool) -> RunSettings:
        """What is entered.

        Raises:
            UserError: the model cannot do it; the sentence is also shown in the form.
        """
        try:
            settings = self._entered(chat_template)
            if self._facts is not None:
                settings.check_against(self._facts.depth)
        except UserError as error:
            self.note.show_error(str(error))
            raise
        self._tell()
        return settings

    def wanted_settings(self, chat_template: bool) -> RunSettings:
        """What the user has chosen, also where the model at hand cannot do it: the next one may."""
        return replace(self._entered(chat_template), policy=self._wanted)

    def set_settings(self, settings: RunSettings) -> None:
        """Enter these; what the form's ranges do not allow is brought to the nearest that they do."""
        if settings.policy in {policy for policy, _, _ in POLICIES}:
            self._wanted = settings.policy
        with QSignalBlocker(self):
            _choose(self.policy, settings.policy)
            _choose(self.kv_policy, settings.kv_policy)
            self.threshold.setValue(settings.threshold)
            self.window_n.setValue(settings.scheduler.window)
            self.radius.setValue(settings.scheduler.radius)
            self.offline.setValue(settings.scheduler.offline_layers)
            self.distinct.setChecked(settings.scheduler.distinct)
            self.max_tokens.setValue(settings.max_new_tokens)
        self._enable()

    def set_model(self, facts: ModelFacts | None) -> None:
        """Fit the ranges to a model. Without trained parts only Dense can be chosen, and the form says how to train."""
        self._facts = facts
        most = facts.depth - 1 if facts else 1000
        self.radius.setMaximum(most)
        self.offline.setMaximum(most)
        self.max_tokens.setMaximum(facts.context if facts else 1_000_000)
        can_exit = facts is None or facts.has_parts
        for row in range(self.policy.count()):
            self._row_enabled(row, can_exit or not Policy(self.policy.itemData(row)).needs_parts)
        with QSignalBlocker(self.policy):
            _choose(self.policy, self._wanted if can_exit else Policy.DENSE)
        self._parts.setText(facts.parts if facts and facts.parts else "none")
        self._parts.setToolTip(self._parts.text())
        self._enable()

    def set_load_options(self, dtype: DType | None, threads: int | None) -> None:
        """The dtype and threads that the model was loaded with: from here on a change asks for a reload."""
        self._loaded = (dtype, threads)
        _choose(self.dtype, dtype)
        self.threads.setValue(threads or 0)
        self._enable()

    def load_options(self) -> tuple[DType | None, int | None]:
        """The dtype and threads to load a model with; None lets the program choose."""
        dtype = self.dtype.currentData()
        return DType(dtype) if dtype else None, self.threads.value() or None

    def set_running(self, running: bool) -> None:
        """Whether a run holds the model, which then cannot be reloaded with a click beside its settings."""
        self._running = running
        self._enable()

    def _make_inputs(self) -> None:
        self._running = False
        self._wanted = RunSettings().policy
        self.policy = named(_combo(POLICIES), "Policy", "Which rule may end a token's pass early")
        self.threshold = named(QDoubleSpinBox(), "Threshold", "An exit is proposed where the score is above this")
        self.threshold.setRange(0.0, 1.0)
        self.threshold.setSingleStep(0.01)
        pad(self.threshold)
        self.threshold.setValue(RunSettings().threshold)
        self.slider = named(QSlider(Qt.Orientation.Horizontal), "Threshold slider", "Score threshold from 0 to 1")
        self.slider.setRange(0, STEPS)
        self.slider.setValue(round(self.threshold.value() * STEPS))
        usual = SchedulerSettings()
        self.window_n = _spin(1, 1000, usual.window, "Window N", "How many past exits are remembered")
        self.radius = _spin(0, 1000, usual.radius, "Radius r", "Layers to either side of a past exit to watch")
        self.radius.setPrefix("±")
        self.offline = _spin(
            0, 1000, usual.offline_layers, "Offline M", "How many of the likeliest exit layers are always watched"
        )
        self.distinct = named(
            QCheckBox("Count &equal exits once"),
            "Count equal exits once",
            "Distinct exits in the ring, not every entry",
        )
        self.kv_policy = named(_combo(KV_POLICIES), "Skipped K/V", "What becomes of the K/V of skipped layers")
        self.max_tokens = _spin(1, 1_000_000, RunSettings().max_new_tokens, "Max tokens", "The run ends after so many")
        self.dtype = named(QComboBox(), "dtype", "Number format of weights and activations; needs a reload")
        for value, text in DTYPES:
            self.dtype.addItem(text, value)
        self.threads = _spin(0, os.cpu_count() or 1, 0, "Threads", "CPU threads; needs a reload")
        self.threads.setSpecialValueText("auto")
        self.reload = named(QPushButton("Re&load"), "Reload model", "Load the model with this dtype and threads")
        self._parts = named(QLabel(), "Trained parts", "Where drafter, predictors and offline profile come from")
        self._parts.setProperty("role", "muted")
        self._candidates = QLabel(f"{CANDIDATES}, fixed by the trained parts")
        self._candidates.setProperty("role", "muted")
        self.policy_note, self.note = Note(), Note()

    def _lay_out(self) -> None:
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(7)
        grid.setColumnStretch(1, 1)
        threshold = _beside(self.threshold, self.slider)
        rows: tuple[tuple[str, QWidget, QWidget], ...] = (
            ("P&olicy", self.policy, self.policy),
            ("&Threshold", threshold, self.threshold),
            ("&Skipped K/V", self.kv_policy, self.kv_policy),
            ("Ma&x tokens", self.max_tokens, self.max_tokens),
        )
        for row, (text, field, buddy) in enumerate(rows):
            _add_row(grid, 2 * row, text, field, buddy)
        grid.addWidget(self.policy_note, 1, 0, 1, 2)
        _add_row(grid, 8, "Candidates k", self._candidates, None)
        _add_row(grid, 9, "Trained parts", self._parts, None)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addLayout(grid)
        column.addWidget(rule("Scheduler"))
        column.addLayout(
            _triple(("&N window", self.window_n), ("&r radius", self.radius), ("&M offline", self.offline))
        )
        column.addWidget(self.distinct)
        column.addWidget(rule("Model"))
        column.addLayout(_triple(("&dtype", self.dtype), ("T&hreads", self.threads), ("", self.reload)))
        column.addWidget(self.note)
        column.addStretch(1)

    def _connect(self) -> None:
        self.threshold.valueChanged.connect(self._follow_spin)
        self.slider.valueChanged.connect(self._follow_slider)
        self.reload.clicked.connect(self.reload_requested)
        self.policy.activated.connect(self._want)
        for combo in (self.policy, self.kv_policy, self.dtype):
            combo.currentIndexChanged.connect(self._edited)
        for spin in (self.window_n, self.radius, self.offline, self.max_tokens, self.threads):
            spin.valueChanged.connect(self._edited)
        self.distinct.toggled.connect(self._edited)

    def _entered(self, chat_template: bool) -> RunSettings:
        return RunSettings(
            policy=Policy(self.policy.currentData()),
            threshold=round(self.threshold.value(), 2),
            scheduler=SchedulerSettings(
                self.window_n.value(), self.radius.value(), self.offline.value(), self.distinct.isChecked()
            ),
            kv_policy=KVPolicy(self.kv_policy.currentData()),
            max_new_tokens=self.max_tokens.value(),
            chat_template=chat_template,
        )

    def _follow_spin(self, value: float) -> None:
        with QSignalBlocker(self.slider):
            self.slider.setValue(round(value * STEPS))
        self._edited()

    def _follow_slider(self, step: int) -> None:
        self.threshold.setValue(step / STEPS)

    def _want(self) -> None:
        self._wanted = Policy(self.policy.currentData())

    def _edited(self) -> None:
        self._enable()
        self.changed.emit()

    def _enable(self) -> None:
        policy = Policy(self.policy.currentData())
        exit_fields: tuple[QWidget, ...] = (self.threshold, self.slider, self.kv_policy)
        for field in exit_fields:
            field.setEnabled(policy.needs_parts)
        scheduler_fields: tuple[QWidget, ...] = (self.window_n, self.radius, self.offline, self.distinct)
        for field in scheduler_fields:
            field.setEnabled(policy is Policy.SPECEE_T1T2)
        self.reload.setEnabled(self._facts is not None and not self._running)
        self._tell()

    def _tell(self) -> None:
        if self._facts is not None and not self._facts.has_parts:
            self.policy_note.show_caution(self._facts.parts_problem)
        else:
            self.policy_note.clear()
        if self._facts is not None and self.load_options() != self._loaded:
            self.note.show_caution("dtype and threads take effect with Reload.")
        else:
            self.note.clear()

    def _row_enabled(self, row: int, enabled: bool) -> None:
        item = self.policy.model().item(row)  # type: ignore[attr-defined]  # a combo's own model is a QStandardItemModel
        item.setEnabled(enabled)


# A combo box keeps an enum of strings as a plain string; whoever reads one makes the enum again.
def _combo(rows: tuple[tuple[object, str, str], ...]) -> QComboBox:
    combo = QComboBox()
    for value, text, tip in rows:
        combo.addItem(text, value)
        combo.setItemData(combo.count() - 1, tip, Qt.ItemDataRole.ToolTipRole)
    return combo


def _choose(combo: QComboBox, value: object) -> None:
    values = [combo.itemData(row) for row in range(combo.count())]
    if value in values:
        combo.setCurrentIndex(values.index(value))


def _spin(least: int, most: int, value: int, name: str, tip: str) -> QSpinBox:
    spin = named(QSpinBox(), name, tip)
    pad(spin)
    spin.setRange(least, most)
    spin.setValue(value)
    spin.setMinimumWidth(58)
    return spin


def _add_row(grid: QGridLayout, row: int, text: str, field: QWidget, buddy: QWidget | None) -> None:
    label = QLabel(text)
    label.setProperty("role", "muted")
    if buddy is not None:
        label.setBuddy(buddy)
    grid.addWidget(label, row, 0)
    grid.addWidget(field, row, 1)


def _beside(*fields: QWidget) -> QWidget:
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(10)
    for index, field in enumerate(fields):
        row.addWidget(field, index)
    return holder


def _triple(*columns: tuple[str, QWidget]) -> QGridLayout:
    """Small inputs side by side, each under its label: three rows of a form in the height of one."""
    grid = QGridLayout()
    grid.setHorizontalSpacing(8)
    grid.setVerticalSpacing(3)
    for column, (text, field) in enumerate(columns):
        label = QLabel(text)
        label.setProperty("role", "muted")
        label.setBuddy(field)
        grid.addWidget(label, 0, column)
        grid.addWidget(field, 1, column)
        grid.setColumnStretch(column, 1)
    return grid
