"""The status bar: the model, the run's figures with their units, and what is going on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QStatusBar, QWidget

from app.progress_line import ProgressLine
from app.run_state import RunState
from widgets.quiet_label import QuietLabel
from widgets.theme import RESTYLED

if TYPE_CHECKING:
    from app.figures import Figures
    from core.trace.events import ModelInfo
    from core.trace.reading import ReadableTrace

SIGNS = {
    RunState.NO_MODEL: "○",
    RunState.LOADING: "◌",
    RunState.READY: "○",
    RunState.RUNNING: "▶",
    RunState.PAUSED: "❚❚",
    RunState.FINISHED: "■",
    RunState.FAILED: "✕",
}
"""A sign beside each state's word, so that its colour need not be seen."""
_SPACE = 8
"""Pixels between two labels, with what the bar leaves at its ends."""
_NO_LIMIT = 16_777_215
"""A widget's greatest width where none was set."""


class StatusLine(QStatusBar):
    """Shows figures only once they exist; nothing is shown as zero that was not measured."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeGripEnabled(False)
        self.model = self._label("Model, number format and device")
        self.speed = self._label("Tokens after the first over the time after the first")
        self.exit = self._label("Mean layers run of the tokens after the first")
        self.agreement = self._label(
            "Share of the tokens after the first that are the token their own pass gives at full depth (audited runs)"
        )
        self.missed = self._label(
            "Share of the checks whose shortlist lacked the layer's own token (audited runs with the shortlist check)"
        )
        self.active = self._label("Mean number of layers whose predictor was active")
        self.accepted = self._label("Acceptance length τ: tokens emitted a target pass (runs with token trees)")
        self.recording = self._label("Whether a crash or a full disk would take this run away")
        self.progress, self.files = ProgressLine(), ProgressLine()
        """Of loading models, and of opening and saving."""
        for line in (self.progress, self.files):
            line.cancel.setStyleSheet("padding: 0 10px; min-height: 0")
            self.addWidget(line)
            line.hide()
        self.state = QuietLabel()
        self.state.setToolTip("What the engine is doing")
        self.addPermanentWidget(self.state)
        self._given_up = (
            self.active,
            self.missed,
            self.accepted,
            self.model,
            self.recording,
            self.agreement,
            self.exit,
        )
        """What a narrow window does without, first to last."""

    def minimumSizeHint(self) -> QSize:
        """Less than all figures ask for: they shall not keep the window from becoming narrow."""
        kept = [part for part in self._shown() if part not in self._given_up]
        return QSize(_asked(kept), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        """In other type Qt lays the bar out anew, and would show the figures over a message: that goes instead."""
        super().changeEvent(event)
        if event.type() in RESTYLED:
            self.clearMessage()

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.LayoutRequest:
            self._fit()
        return super().event(event)

    def _fit(self) -> None:
        """Give up whole figures where there is no room for all: cut off, one would say something else."""
        room = self.width() - _asked(self._shown())
        for label in self._given_up:
            gone = room < 0 and not label.isHidden()
            room += label.sizeHint().width() if gone else 0
            label.setMaximumWidth(0 if gone else _NO_LIMIT)

    def _shown(self) -> list[QWidget]:
        return [part for part in self.children() if isinstance(part, QWidget) and not part.isHidden()]

    def show_model(self, info: ModelInfo | None) -> None:
        """Name the model with its number format and device."""
        if info is None:
            _show(self.model, None)
            return
        threads = "1 thread" if info.threads == 1 else f"{info.threads} threads"
        where = f"CPU, {threads}" if info.device == "cpu" else info.device.upper()
        _show(self.model, f"{info.name} · {info.dtype} · {where}")

    def show_figures(self, figures: Figures, trace: ReadableTrace | None) -> None:
        """Show the run's figures as far as they are known."""
        depth = trace.depth if trace else 0
        _show(self.speed, _amount(figures.tokens_per_second, "{:.1f} tokens/s"))
        _show(self.exit, _amount(figures.mean_exit_layer, "mean exit {:.1f} / " + str(depth)))
        _show(self.agreement, _amount(figures.agreement, "agreement {:.1%}"))
        _show(self.missed, _amount(figures.shortlist_miss_rate, "shortlist missed {:.1%}"))
        _show(self.active, _amount(figures.active_layers_mean, "{:.1f} layers watched"))
        _show(self.accepted, _amount(figures.acceptance_length, "τ {:.2f}"))

    def show_recording(self, words: str | None) -> None:
        """Say where the run on show is kept; None where there is none."""
        _show(self.recording, words)

    def show_state(self, state: RunState, detail: str = "") -> None:
        """Say what is going on, in one word and, where there is more, a few."""
        self.state.setText(f"{SIGNS[state]}  {state.value}" + (f" · {detail}" if detail else ""))
        self.state.setAccessibleName(f"State: {state.value}")
        loading = state is RunState.LOADING
        if loading and self.progress.isHidden():
            self.progress.start("Loading")
        self.progress.setVisible(loading)

    def _label(self, tip: str) -> QuietLabel:
        label = QuietLabel(sticky=True)
        label.setToolTip(tip)
        label.hide()
        self.addWidget(label)
        return label


def _asked(parts: list[QWidget]) -> int:
    """Pixels of width that these want side by side."""
    return sum(part.sizeHint().width() + _SPACE for part in parts)


def _show(label: QuietLabel, text: str | None) -> None:
    """A label that was there once keeps its place: coming and going, it would have the window lay itself out anew."""
    label.setText(text or "")
    bar = label.parentWidget()
    if text is None:
        return
    if isinstance(bar, QStatusBar) and bar.currentMessage():
        # The bar shows it once the message is gone; now it would be painted over the message.
        label.setAttribute(Qt.WidgetAttribute.WA_WState_ExplicitShowHide, False)
    else:
        label.show()


def _amount(value: float | None, form: str) -> str | None:
    return None if value is None else form.format(value)
