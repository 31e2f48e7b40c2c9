"""How far a training run is: what is being done, a bar with the time that is left, and the stage's curves."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QProgressBar, QVBoxLayout, QWidget

from app import training_words as words
from app.commands.training_lines import Remaining
from app.forms import labelled, named
from app.progress_line import BAR_STEPS
from core.analysis.training_curves import TrainingCurves
from core.progress import Progress
from core.training.options import STEPS, Stage
from widgets.palette import Theme
from widgets.training_curves import NOTHING_YET, TrainingCurvesView


class TrainingCourse(QWidget):
    """Shows the reports of one run; `begin` forgets those of the run before."""

    def __init__(self, theme: Theme, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self.message = labelled("", "")
        self.message.setWordWrap(True)
        self.message.setTextFormat(Qt.TextFormat.PlainText)
        self.message.setMinimumHeight(2 * self.message.fontMetrics().lineSpacing())  # its length changes all the time
        self.message.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.bar = named(QProgressBar(), "Progress", "How much of the budget is used")
        self.bar.setTextVisible(False)
        self.rest = labelled("", "muted")
        self.view = TrainingCurvesView()
        self.view.apply_theme(theme)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.message)
        column.addWidget(self.bar)
        column.addWidget(self.rest)
        column.addWidget(self.view, 1)
        self.begin(1.0)

    def begin(self, budget: float) -> None:
        """Nothing has been done yet of a run with so many minutes."""
        self._budget, self._share = budget, 0.0
        self._remaining = Remaining(self._clock)
        self._curves: dict[Stage, TrainingCurves] = {stage: TrainingCurves() for stage in STEPS}
        self._shown: Stage | None = None
        self.stage: Stage | None = None
        self.bar.setRange(0, 0)
        self.say("Starting…")
        self.rest.setText("")
        self._show_curves()

    def take(self, reports: Sequence[Progress]) -> None:
        """Show these, in order; the last one is what is being done now."""
        for progress in reports:
            self.stage = words.stage_of(progress) or self.stage
            if self.stage is not None:
                self._curves[self.stage].add(progress.figures)
        if reports:
            self._show_progress(reports[-1])
            self._show_curves()

    def show_stage(self, stage: Stage | None) -> None:
        """Show the curves of this stage."""
        self._shown = stage
        self._show_curves()

    def say(self, sentence: str) -> None:
        """Show this in place of what is being done."""
        self.message.setText(sentence)
        self.message.setAccessibleName(sentence)

    def finish(self) -> None:
        """The run came to its end."""
        self.bar.setRange(0, BAR_STEPS)
        self.bar.setValue(BAR_STEPS)
        self.rest.setText("100%")

    def _show_progress(self, progress: Progress) -> None:
        self.say(self._remaining.said(progress).message)
        self._share = max(self._share, words.share_done(progress))
        if self.stage is None:
            return
        self.bar.setRange(0, BAR_STEPS)
        self.bar.setValue(round(BAR_STEPS * self._share))
        self.rest.setText(words.rest(self._share, self._budget))
        self.bar.setAccessibleDescription(self.rest.text())

    def _show_curves(self) -> None:
        if self._shown is None:
            self.view.show_curves(TrainingCurves())
        else:
            self.view.show_curves(self._curves[self._shown], words.NO_CURVES.get(self._shown, NOTHING_YET))
