"""Progress of long work as one sentence and a bar."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QGridLayout, QProgressBar, QPushButton, QWidget

from app.forms import labelled, named
from core.progress import Progress
from widgets import motion

MEGA = 1_000_000
BAR_STEPS = 1000


def progress_text(progress: Progress) -> str:
    """The message with what is done: "Downloading the default model · 41 of 93 MB"."""
    message = progress.message.rstrip(".… ")
    if progress.unit == "bytes":
        done = f"{progress.done / MEGA:.0f}"
        amount = f"{done} of {progress.total / MEGA:.0f} MB" if progress.total else f"{done} MB"
    elif progress.total:
        amount = f"{progress.done} of {progress.total} {progress.unit}".rstrip()
    else:
        return f"{message}…"
    return f"{message} · {amount}"


class ProgressLine(QWidget):
    """A sentence, a bar and Cancel."""

    cancelled = Signal()

    def __init__(self, *, stacked: bool = False, parent: QWidget | None = None) -> None:
        """With `stacked` the sentence stands above the bar and has the whole width."""
        super().__init__(parent)
        self.text = labelled("", "muted")
        self.bar = named(QProgressBar(), "Progress", "How much of the work is done")
        self.bar.setTextVisible(False)
        self.bar.setMinimumWidth(160)
        self.cancel = named(QPushButton("Cancel"), "Cancel", "Stop this; nothing half-made is kept")
        self.cancel.clicked.connect(self._cancel)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(4)
        grid.addWidget(self.text, 0, 0)
        grid.addWidget(self.bar, int(stacked), int(not stacked))
        grid.addWidget(self.cancel, int(stacked), 2)
        grid.setColumnStretch(int(not stacked), 1)

    def start(self, message: str) -> None:
        """Show work of unknown length."""
        self.cancel.setEnabled(True)
        self.show_progress(Progress(message))

    def show_progress(self, progress: Progress) -> None:
        """Show how far it has come; the bar runs to and fro where the end is not known."""
        self.text.setText(progress_text(progress))
        self.bar.setAccessibleDescription(self.text.text())
        # A bar of unknown length would run to and fro.
        self.bar.setRange(0, BAR_STEPS if progress.total or motion.is_still() else 0)
        if progress.total:
            self.bar.setValue(min(BAR_STEPS, progress.done * BAR_STEPS // progress.total))

    def sizeHint(self) -> QSize:
        return super().sizeHint().expandedTo(QSize(560, 0))

    def _cancel(self) -> None:
        self.cancel.setEnabled(False)
        self.text.setText("Cancelling…")
        self.cancelled.emit()
