"""The folding parts of the settings form that belong to a run: scheduler, sampling, and where it stops."""

from __future__ import annotations

from PySide6.QtCore import QRegularExpression, Signal, Slot
from PySide6.QtGui import QRegularExpressionValidator
from PySide6.QtWidgets import QCheckBox, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from app.forms import Note, NumberSpin, columns, labelled, named, spin
from app.stop_strings import read_stop_strings, write_stop_strings
from core.config import SamplingSettings, SchedulerSettings

MOST_LINES = 4
GREEDY_ONLY = "This policy is defined for greedy decoding only."


class SchedulerForm(QWidget):
    """N, r, M of the two-level scheduler, and how its ring counts."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        usual = SchedulerSettings()
        self.window_n = spin(1, 1000, usual.window, "Window N", "How many past exits are remembered (SpecEE §5.3)")
        self.radius = spin(
            0, 1000, usual.radius, "Radius r", "Layers to either side of a past exit to watch (SpecEE §5.3)"
        )
        self.radius.setPrefix("±")
        self.offline = spin(
            0, 1000, usual.offline_layers, "Offline M", "How many of the likeliest exit layers are always watched"
        )
        self.distinct = named(
            QCheckBox("Count &equal exits once"),
            "Count equal exits once",
            "The ring holds distinct exits, as in the worked example, not every one",
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(columns(("&N window", self.window_n), ("r radius", self.radius), ("M offline", self.offline)))
        column.addWidget(self.distinct)
        for box in (self.window_n, self.radius, self.offline):
            box.valueChanged.connect(self.changed)
        self.distinct.toggled.connect(self.changed)

    def value(self) -> SchedulerSettings:
        return SchedulerSettings(
            self.window_n.value(), self.radius.value(), self.offline.value(), self.distinct.isChecked()
        )

    def setValue(self, scheduler: SchedulerSettings) -> None:
        self.window_n.setValue(scheduler.window)
        self.radius.setValue(scheduler.radius)
        self.offline.setValue(scheduler.offline_layers)
        self.distinct.setChecked(scheduler.distinct)

    def set_depth(self, depth: int | None) -> None:
        """Fit M and r to a model's predictors, which are on every layer but the last."""
        most = depth - 1 if depth else 1000
        self.radius.setMaximum(most)
        self.offline.setMaximum(most)

    def summary(self) -> str:
        distinct = ", distinct" if self.distinct.isChecked() else ""
        return f"N {self.window_n.value()}, r ±{self.radius.value()}, M {self.offline.value()}{distinct}"


class SamplingForm(QWidget):
    """Temperature, top-p, seed and stop strings."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._allowed = True
        self._make()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(columns(("Temperat&ure", self.temperature), ("Top-&p", self.top_p), ("Seed", self.seed)))
        column.addWidget(self.note)
        label = labelled("Stop strin&gs", "muted")
        label.setBuddy(self.stop)
        column.addWidget(label)
        column.addWidget(self.stop)
        self.temperature.valueChanged.connect(self._edited)
        self.top_p.valueChanged.connect(self._edited)
        self.seed.textChanged.connect(self._edited)
        self.stop.textChanged.connect(self._edited)
        self._show()

    def sampling(self) -> SamplingSettings:
        """What is entered."""
        return SamplingSettings(self.temperature.value(), self.top_p.value(), int(self.seed.text() or 0))

    def stop_strings(self) -> tuple[str, ...]:
        return read_stop_strings(self.stop.toPlainText())

    def set_values(self, sampling: SamplingSettings, stop: tuple[str, ...]) -> None:
        self.temperature.setValue(sampling.temperature)
        self.top_p.setValue(sampling.top_p)
        self.seed.setText(str(sampling.seed))
        if stop != self.stop_strings():
            self.stop.setPlainText(write_stop_strings(stop))

    def allow_sampling(self, allowed: bool) -> None:
        """Whether the chosen policy is defined for a temperature above 0."""
        self._allowed = allowed
        self._show()

    def summary(self) -> str:
        drawn = self._allowed and self.temperature.value() > 0
        how = f"temperature {self.temperature.text()}" if drawn else "greedy"
        count = len(self.stop_strings())
        return how + (f", {count} stop string{'s' if count > 1 else ''}" if count else "")

    def _make(self) -> None:
        usual = SamplingSettings()
        self.temperature = NumberSpin(
            0.0, 100.0, usual.temperature, 0.1, "Temperature", "Divides the logits before a token is drawn; 0 is greedy"
        )
        self.temperature.setSpecialValueText("greedy")
        self.top_p = NumberSpin(
            0.0001, 1.0, usual.top_p, 0.05, "Top-p", "Draws only from the likeliest tokens that reach this probability"
        )
        self.seed = named(
            QLineEdit(str(usual.seed)), "Seed", "Same seed, same run; one number a position, whatever the exits"
        )
        digits = QRegularExpression("[0-9]{0,18}")  # fewer than 2^63, the least seed that is refused
        self.seed.setValidator(QRegularExpressionValidator(digits, self.seed))
        self.note = Note()
        self.stop = named(
            QPlainTextEdit(),
            "Stop strings",
            "The run ends once its text holds one of these; one a line, \\n in it breaks",
        )
        self.stop.setPlaceholderText("none; one a line, \\n for a line break")
        self.stop.setTabChangesFocus(True)
        self.stop.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)

    @Slot()
    def _edited(self) -> None:
        self._show()
        self.changed.emit()

    def _show(self) -> None:
        self.temperature.setEnabled(self._allowed)
        for field in (self.top_p, self.seed):
            field.setEnabled(self._allowed and self.temperature.value() > 0)
        if self._allowed:
            self.note.clear()
        else:
            self.note.show_remark(GREEDY_ONLY)
        lines = min(MOST_LINES, max(1, self.stop.blockCount()))
        margins = 2 * (self.stop.frameWidth() + round(self.stop.document().documentMargin()))
        self.stop.setFixedHeight(lines * self.stop.fontMetrics().lineSpacing() + margins)
