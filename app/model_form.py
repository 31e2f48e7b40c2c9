"""The part of the settings form that a model is loaded with."""

from __future__ import annotations

import os
from dataclasses import dataclass

from PySide6.QtCore import QSignalBlocker, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.choices import DTYPES, devices
from app.forms import SPIN_WIDTH, Note, choose, columns, combo, fill, labelled, named, spin
from core.choices import DType
from core.config import CANDIDATES

DTYPE_WIDTH = 92
"""For “bfloat16”, in pixels."""
RELOAD = "dtype, device and threads take effect with Reload."


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How to load a model."""

    dtype: DType | None = None
    """None chooses by what the machine does well."""
    threads: int | None = None
    """None leaves the number to torch."""
    device: str = "cpu"


class ModelForm(QWidget):
    """Number format, device and threads, with Reload; and the trained parts."""

    changed = Signal()
    reload_requested = Signal()
    parts_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._loaded = LoadOptions()
        self._can_reload = False
        self.dtype = combo(DTYPES, "dtype", "Number format of weights and activations; needs a reload")
        self.device = combo(devices(("cpu",)), "Device", "Where the model runs; needs a reload")
        self.threads = spin(
            0, os.cpu_count() or 1, 0, "Threads", "CPU threads; auto leaves one core to the window; needs a reload"
        )
        self.threads.setSpecialValueText("auto")
        self.dtype.setMinimumWidth(DTYPE_WIDTH)
        self.device.setMinimumWidth(SPIN_WIDTH)
        self.reload = named(QPushButton("Reload"), "Reload model", "Load the model with these (Ctrl+Shift+R)")
        self._parts = labelled("", "muted")
        self._parts.setWordWrap(True)
        self.parts = named(QPushButton("Details…"), "Trained parts", "How they were made, and how good they are")
        self.note = Note()
        self._lay_out()
        self.parts.clicked.connect(self.parts_requested)
        self.reload.clicked.connect(self.reload_requested)
        self.dtype.currentIndexChanged.connect(self._edited)
        self.device.currentIndexChanged.connect(self._edited)
        self.threads.valueChanged.connect(self._edited)
        self.set_parts("")
        self._show()

    def value(self) -> LoadOptions:
        """What a model is to be loaded with."""
        dtype = self.dtype.currentData()
        return LoadOptions(DType(dtype) if dtype else None, self.threads.value() or None, self.device.currentData())

    def setValue(self, options: LoadOptions) -> None:
        """What the model was loaded with: from here on a change asks for a reload."""
        with QSignalBlocker(self):
            choose(self.dtype, options.dtype.value if options.dtype else "")
            if not choose(self.device, options.device):
                self.set_devices((*self._devices(), options.device))
                choose(self.device, options.device)
            self.threads.setValue(options.threads or 0)
        self._loaded = self.value()
        self._show()

    def set_devices(self, present: tuple[str, ...]) -> None:
        """Offer these; the chosen one stays if it is among them."""
        chosen = self.device.currentData()
        with QSignalBlocker(self.device):
            fill(self.device, devices(present))
            choose(self.device, chosen)
        alone = len(present) == 1
        self.device.setEnabled(not alone)
        self.device.setToolTip("torch finds no other device on this machine" if alone else "Where the model runs")
        self._show()

    def set_parts(self, words: str) -> None:
        """A few words about the trained parts; "" is none."""
        self._parts.setText(f"Trained parts: {words}, k\u00a0=\u00a0{CANDIDATES}" if words else "Trained parts: none")
        self._parts.setToolTip("Drafter, predictors and offline profile; k candidates a predictor (SpecEE §4.3)")

    def set_can_reload(self, can_reload: bool) -> None:
        """Whether there is a model, and no run that holds it."""
        self._can_reload = can_reload
        self._show()

    def summary(self) -> str:
        threads = "1 thread" if self.threads.value() == 1 else f"{self.threads.text()} threads"
        return f"dtype {self.dtype.currentText()}, {self.device.currentText()}, {threads}"

    def _devices(self) -> tuple[str, ...]:
        found = (self.device.itemData(row) for row in range(self.device.count()))
        return tuple(name for name in found if name != "auto")

    def _lay_out(self) -> None:
        parts, reload = QHBoxLayout(), QHBoxLayout()
        parts.addWidget(self._parts, 1)
        parts.addWidget(self.parts)
        reload.addWidget(self.note, 1)
        reload.addStretch()
        reload.addWidget(self.reload)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addLayout(columns(("dt&ype", self.dtype), ("Dev&ice", self.device), ("Threads", self.threads)))
        column.addLayout(reload)
        column.addLayout(parts)

    @Slot()
    def _edited(self) -> None:
        self._show()
        self.changed.emit()

    def _show(self) -> None:
        self.reload.setEnabled(self._can_reload)
        if self._can_reload and self.value() != self._loaded:
            self.note.show_caution(RELOAD)
        else:
            self.note.clear()
