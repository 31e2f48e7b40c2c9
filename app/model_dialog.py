"""The dialog of the first launch: what the default model is, and how to get it or another one."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QFormLayout, QHBoxLayout, QMenu, QPushButton, QVBoxLayout, QWidget

from app.forms import Note, labelled, named
from app.message_head import message_head
from app.progress_line import ProgressLine
from core.progress import Progress
from widgets.palette import Theme

WIDTH = 540
ABOUT_DEFAULT = (
    "The default model is not on this computer yet. It is small enough for two cores, and its exit predictors come "
    "with the program. It is fetched once; from then on the window opens with it in about two seconds."
)
ABOUT_OTHER = "This model is not on this computer yet. It is fetched once and kept."


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that can be fetched."""

    name: str
    size: str
    licence: str
    source: str
    default: bool = True
    """Whether it is the model that the program is made with."""


class ModelDialog(QDialog):
    """Offers the default model. It asks through its signals and shows what it is told; it fetches nothing itself."""

    download_requested = Signal()
    folder_requested = Signal()
    gguf_requested = Signal()
    hub_requested = Signal()
    cancel_requested = Signal()

    def __init__(self, offer: Offer, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("A model to run")
        self.setMinimumWidth(WIDTH)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self._busy = False
        self._make(offer)
        self._lay_out(offer, theme)
        self.show_choice()

    def show_choice(self) -> None:
        """Wait for the user to choose."""
        self._set_busy(False)
        self.note.clear()
        self.download.setFocus()

    def start(self, message: str) -> None:
        """Show that work of unknown length has begun."""
        self._set_busy(True)
        self.note.clear()
        self.progress.start(message)

    def show_progress(self, progress: Progress) -> None:
        """Show how far the work has come."""
        if self._busy:
            self.progress.show_progress(progress)

    def show_error(self, sentence: str) -> None:
        """Say what went wrong, and offer the choice again."""
        self._set_busy(False)
        self.note.show_error(sentence)
        self.download.setText("Try again")
        self.adjustSize()  # a dialog does not grow by itself with what it is to hold

    def reject(self) -> None:
        """Esc, Not now and the close button; while something is fetched they cancel it instead."""
        if self._busy:
            self.progress.cancel.click()
            return
        super().reject()

    def _make(self, offer: Offer) -> None:
        self.download = named(QPushButton("&Download"), "Download", f"Fetch {offer.name}, {offer.size}")
        self.download.setProperty("role", "primary")
        self.download.setDefault(True)
        self.download.clicked.connect(self.download_requested)
        self.other = named(QPushButton("&Choose another "), "Choose another model", "Open a model that you have")
        menu = QMenu(self.other)
        menu.addAction("Model folder…").triggered.connect(self.folder_requested)
        menu.addAction("GGUF file…").triggered.connect(self.gguf_requested)
        menu.addAction("Hugging Face id…").triggered.connect(self.hub_requested)
        self.other.setMenu(menu)
        self.later = named(QPushButton("&Not now"), "Not now", "Close this; the Model menu offers it again (Esc)")
        self.later.clicked.connect(self.reject)
        self.progress = ProgressLine(stacked=True)
        self.progress.cancelled.connect(self.cancel_requested)
        self.note = Note()

    def _lay_out(self, offer: Offer, theme: Theme) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(22, 22, 22, 18)
        column.setSpacing(16)
        column.addLayout(self._head(offer, theme))
        column.addLayout(_facts(offer))
        column.addStretch(1)
        column.addWidget(self.note)
        column.addWidget(self.progress)
        column.addLayout(self._buttons())

    def _head(self, offer: Offer, theme: Theme) -> QHBoxLayout:
        text = labelled(ABOUT_DEFAULT if offer.default else ABOUT_OTHER, "")
        text.setWordWrap(True)
        return message_head(self, "download", theme.accent, f"Fetch {offer.name}?", text, gap=16)

    def _buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.other)
        row.addStretch(1)
        row.addWidget(self.later)
        row.addWidget(self.download)
        return row

    def _set_busy(self, busy: bool) -> None:
        self._busy = busy
        self.progress.setVisible(busy)
        for button in (self.download, self.other, self.later):
            button.setVisible(not busy)


def _facts(offer: Offer) -> QFormLayout:
    form = QFormLayout()
    form.setHorizontalSpacing(18)
    form.setVerticalSpacing(4)
    form.setContentsMargins(48, 0, 0, 0)
    form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
    rows = (("Download", offer.size), ("Licence", offer.licence), ("From", offer.source))
    for name, text in rows:
        value = labelled(text, "")
        value.setWordWrap(True)
        value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        form.addRow(labelled(name, "muted"), value)
    return form
