"""Plays a pass over a token tree layer by layer: a slider, a play button, and words for what each layer did."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QSlider, QToolButton, QVBoxLayout, QWidget

from core.analysis.tree_figure import Stage, TreeFigure
from widgets import motion
from widgets.palette import DARK, Theme
from widgets.runs_line import RunsLine
from widgets.tree_words import Run, counts_text, stage_runs

JUDGED_MS, SILENT_MS = 650, 90
"""How long a layer stays while playing: one with something to read, one without."""

COUNTS_TIP = (
    "Independent mapping gives each node a search space of its own, and they multiply; merged mapping takes each"
    " root-to-leaf path as one hyper-token, so that their number grows with the paths only (SpecEE §6). A row is one"
    " input of the predictor."
)


class TreePlayer(QWidget):
    """`layer_wanted` asks for a 0-based layer; what is shown comes back through `show_layer`."""

    layer_wanted = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.figure: TreeFigure | None = None
        self.layer = -1
        self.timer = QTimer(self, singleShot=True)
        self.timer.timeout.connect(self.advance)
        self._make()
        self._lay_out()
        self.slider.valueChanged.connect(self._on_moved)
        self.slider.sliderPressed.connect(self.stop)
        self.play_button.clicked.connect(self._on_play)
        self.apply_theme(DARK)

    @property
    def is_playing(self) -> bool:
        return self.timer.isActive()

    def show_layer(self, figure: TreeFigure | None, layer: int) -> None:
        """This layer of this pass is on show."""
        if self.figure is None or figure is None or figure.token != self.figure.token:
            self.stop()
        self.figure, self.layer = figure, layer
        if figure is None:
            return
        with QSignalBlocker(self.slider):
            self.slider.setRange(1, max(figure.layers_run, 1))
            self.slider.setValue(max(layer + 1, 1))
        self.slider.setEnabled(figure.layers_run > 1)
        self.play_button.setEnabled(figure.layers_run > 1)
        at = Run(f"layer {layer + 1} of {figure.depth}  ", "text", bold=True)
        self.stage.set_runs(at, *(stage_runs(figure, layer) if layer >= 0 else (Run("not run yet"),)))
        self.counts.set_runs(Run(counts_text(figure)))
        self.counts.setToolTip(f"<p>{counts_text(figure)}.</p><p>{COUNTS_TIP}</p>")

    def apply_theme(self, theme: Theme) -> None:
        for line in (self.stage, self.counts):
            line.apply_theme(theme)

    def add_button(self, button: QWidget) -> None:
        """Put a button at the end of the slider's row."""
        self._row.addWidget(button)

    def play(self) -> None:
        """Go through the layers that ran, from just before the first predictor on; from here where there is more."""
        if self.figure is None:
            return
        at_end = self.layer >= self.figure.layers_run - 1
        if motion.is_still():
            self._jump(-1 if at_end else self.layer)
            return
        first = int(self.figure.layers[0]) - 1 if len(self.figure.layers) else 0
        self.layer_wanted.emit(max(first, 0) if at_end else self.layer)
        self._wait()

    @Slot()
    def stop(self) -> None:
        self.timer.stop()
        self._show_button()

    @Slot()
    def advance(self) -> None:
        """The next layer; the pass's end stops the playing."""
        if self.figure is None or self.layer >= self.figure.layers_run - 1:
            self.stop()
            return
        self.layer_wanted.emit(self.layer + 1)
        if self.layer >= self.figure.layers_run - 1:
            self.stop()
        else:
            self._wait()

    def _jump(self, layer: int) -> None:
        """To the next layer with something to read, or the last one: what playing shows, without moving by itself."""
        assert self.figure is not None, "there is a pass to play"
        later = range(layer + 1, self.figure.layers_run)
        self.layer_wanted.emit(next((at for at in later if self.figure.stage(at) is not Stage.SILENT), later[-1]))

    def _wait(self) -> None:
        silent = self.figure is not None and self.figure.stage(max(self.layer, 0)) is Stage.SILENT
        self.timer.start(SILENT_MS if silent else JUDGED_MS)
        self._show_button()

    def _show_button(self) -> None:
        playing = self.is_playing
        self.play_button.setText("❚❚" if playing else "▶")
        self.play_button.setAccessibleName("Stop playing" if playing else "Play the pass layer by layer")

    @Slot()
    def _on_play(self) -> None:
        if self.is_playing:
            self.stop()
        else:
            self.play()

    @Slot(int)
    def _on_moved(self, value: int) -> None:
        self.layer_wanted.emit(value - 1)

    def _make(self) -> None:
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(1, 1)
        self.slider.setPageStep(1)
        self.slider.setAccessibleName("Layer of the pass")
        self.slider.setToolTip("Layer by layer through the pass: proposed, verified, exit")
        self.play_button = QToolButton()
        self.play_button.setProperty("role", "quiet")
        self.play_button.setToolTip("Play the pass layer by layer")
        self.play_button.setFixedWidth(28)
        self.stage = RunsLine("What this layer did")
        self.counts = RunsLine("What mapping costs")
        self._show_button()

    def _lay_out(self) -> None:
        self._row = row = QHBoxLayout()
        row.setSpacing(4)
        row.addWidget(self.play_button)
        row.addWidget(self.slider, 1)
        row.addSpacing(6)
        column = QVBoxLayout(self)
        column.setContentsMargins(4, 0, 4, 0)
        column.setSpacing(1)
        column.addLayout(row)
        column.addWidget(self.stage)
        column.addWidget(self.counts)
