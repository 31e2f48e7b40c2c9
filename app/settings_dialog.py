"""The settings of the program: how it looks, what it records, and what is kept. Every change acts at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QCheckBox, QDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.choices import RECORDS, Choice
from app.forms import Line, Rows, choose, combo, labelled, named
from app.look import USUAL, ZOOMS, Look
from app.settings import ThemeMode
from core.choices import Record
from core.report.exit_colours import ExitPalette
from widgets.palette import exit_colour

WIDTH = 520
SWATCHES = 30
"""Exit layers in the preview, as many as the default model has."""
THEMES = (
    Choice(ThemeMode.SYSTEM, "follow the system", "Light or dark, as the desktop"),
    Choice(ThemeMode.DARK, "dark"),
    Choice(ThemeMode.LIGHT, "light"),
)
PALETTES = (
    Choice(ExitPalette.CIVIDIS, "cividis (blue to yellow)", "Looks alike to almost every eye"),
    Choice(ExitPalette.VIRIDIS, "viridis (violet over green to yellow)"),
    Choice(ExitPalette.MAGMA, "magma (violet over red to cream)"),
    Choice(ExitPalette.PLASMA, "plasma (blue over red to yellow)"),
    Choice(ExitPalette.GREYS, "greys (dark to light)", "For print, and for who sees no colours"),
)
SIZES = tuple(Choice(str(zoom), f"{zoom} %" + (" (the desktop’s)" if zoom == USUAL else "")) for zoom in ZOOMS)
FIRST_RECORDS = (Choice("", "as used last"), *RECORDS)
KEEPS = tuple(
    Choice(str(count or ""), f"keep the newest {count}" if count else "keep all") for count in (None, 50, 20, 10, 5, 1)
)


@dataclass(frozen=True, slots=True)
class Choices:
    """Everything that the dialog shows."""

    theme: ThemeMode = ThemeMode.SYSTEM
    look: Look = field(default_factory=Look)
    record: Record | None = None
    """To begin with at each launch; None for the depth that was used last."""
    recoveries: int | None = None
    """Left-over recordings that are kept; None for all."""


class Swatches(QWidget):
    """The exit layers' colours, from the first layer to the last."""

    def sizeHint(self) -> QSize:
        return QSize(200, 14)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, 14)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        edges = [round(self.width() * index / SWATCHES) for index in range(SWATCHES + 1)]
        for layer, (left, right) in enumerate(pairwise(edges), start=1):
            painter.fillRect(left, 0, right - left, self.height(), exit_colour(layer, SWATCHES))
        painter.end()


class SettingsDialog(QDialog):
    """Shows `Choices` and tells of changes; it keeps nothing itself."""

    changed = Signal(object)
    """The new `Choices`."""
    load_requested = Signal()
    save_requested = Signal()
    form_reset_requested = Signal()
    reset_requested = Signal()

    def __init__(self, choices: Choices, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Settings")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.choices = choices
        self._make()
        self._lay_out()
        self.show_choices(choices)
        self._connect()

    def show_choices(self, choices: Choices) -> None:
        """Show these, which somebody else has changed; tells of nothing."""
        self.choices, look = choices, choices.look
        blocked = [QSignalBlocker(one) for one in self._inputs]
        choose(self.theme, choices.theme)
        choose(self.exits, look.exits)
        choose(self.type_size, str(look.zoom))
        self.projector.setChecked(look.projector)
        self.still.setChecked(look.still)
        choose(self.record, choices.record or "")
        choose(self.recoveries, str(choices.recoveries or ""))
        self.swatches.update()
        del blocked

    def entered(self) -> Choices:
        """What is entered now."""
        look = Look(
            zoom=int(self.type_size.currentData()),
            exits=ExitPalette(self.exits.currentData()),
            still=self.still.isChecked(),
            projector=self.projector.isChecked(),
        )
        record, kept = self.record.currentData(), self.recoveries.currentData()
        return replace(
            self.choices,
            theme=ThemeMode(self.theme.currentData()),
            look=look,
            record=Record(record) if record else None,
            recoveries=int(kept) if kept else None,
        )

    def _tell(self) -> None:
        self.choices = self.entered()
        self.changed.emit(self.choices)
        self.swatches.update()

    def _make(self) -> None:
        self.theme = combo(THEMES, "Theme", "Light or dark")
        self.exits = combo(PALETTES, "Colours of exit layers", "From dark for the first layer to light for the last")
        self.swatches = named(Swatches(), "Preview", "The colours of layers 1 to 30")
        self.type_size = combo(SIZES, "Size of type", "Of everything in the window (Ctrl+=, Ctrl+-)")
        self.projector = named(
            QCheckBox("&Projector mode: large type"), "Projector", "Type half as large again, for a room"
        )
        self.still = named(
            QCheckBox("&Keep still: nothing moves by itself"), "Keep still", "No playing, no bars that run to and fro"
        )
        self.record = combo(FIRST_RECORDS, "Recording at first", "The depth that each launch begins with")
        self.recoveries = combo(
            KEEPS, "Recordings kept", "Recordings that crashes left; older ones than these are deleted at launch"
        )
        self.load = named(QPushButton("&Load…"), "Load", "Take engine settings from a file")
        self.save = named(QPushButton("&Save…"), "Save", "Keep the engine’s settings in a file, or pass them on")
        self.defaults = named(QPushButton("&Defaults"), "Defaults", "Give the Engine panel its first values back")
        self.reset = named(
            QPushButton("Reset &everything…"), "Reset everything", "Looks, keys, layouts, recent files and settings"
        )
        self.close_button = named(QPushButton("Close"), "Close", "Close the settings (Esc)")
        self._boxes = (self.theme, self.exits, self.type_size, self.record, self.recoveries)
        self._inputs = (*self._boxes, self.projector, self.still)

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(22, 18, 22, 16)
        column.setSpacing(10)
        column.addStrut(WIDTH - 44)  # no minimum of the dialog's own: that would keep it from growing with the type
        column.addWidget(labelled("Look", "title"))
        column.addLayout(self._look_rows())
        column.addWidget(Line())
        column.addWidget(labelled("Recording", "title"))
        column.addLayout(self._record_rows())
        column.addWidget(Line())
        column.addWidget(labelled("Engine settings", "title"))
        column.addLayout(_side_by_side(self.load, self.save, self.defaults))
        column.addStretch(1)
        column.addWidget(Line())
        foot = _side_by_side(self.reset)
        foot.addWidget(self.close_button)
        column.addLayout(foot)
        for button in (self.load, self.save, self.defaults, self.reset):
            button.setAutoDefault(False)
        self.close_button.setDefault(True)

    def _look_rows(self) -> Rows:
        rows = Rows()
        rows.add("&Theme", self.theme)
        rows.add("E&xit layers", self.exits)
        rows.addWidget(self.swatches, rows.rowCount(), 1)
        rows.add("Type s&ize", self.type_size)
        rows.addWidget(self.projector, rows.rowCount(), 1)
        rows.addWidget(self.still, rows.rowCount(), 1)
        return rows

    def _record_rows(self) -> Rows:
        rows = Rows()
        rows.add("&At launch", self.record)
        rows.add("Left-o&vers", self.recoveries)
        return rows

    def _connect(self) -> None:
        for box in self._boxes:
            box.currentIndexChanged.connect(self._tell)
        for check in (self.projector, self.still):
            check.toggled.connect(self._tell)
        self.load.clicked.connect(self.load_requested)
        self.save.clicked.connect(self.save_requested)
        self.defaults.clicked.connect(self.form_reset_requested)
        self.reset.clicked.connect(self.reset_requested)
        self.close_button.clicked.connect(self.reject)


def _side_by_side(*buttons: QPushButton) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(8)
    for button in buttons:
        row.addWidget(button)
    row.addStretch(1)
    return row
