"""Settings that act on the window at once: looks, what is recorded at first, and the engine's settings as files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QFileDialog

from app.form_values import FormValues
from app.look import USUAL, Look
from app.settings import ThemeMode
from core.errors import UserError

if TYPE_CHECKING:
    from app.main_window import MainWindow
    from app.settings_dialog import Choices, SettingsDialog

FILTER = "Engine settings (*.json);;All files (*)"
RESET_QUESTION = (
    "Reset everything?",
    "Looks, keys, layouts, breakpoints, the engine’s settings and the lists of recent files become as they were at "
    "first. Sessions, models and trained parts stay.",
)


class Appearance(QObject):
    """Keeps the program's settings and lets them act. Dialogs are imported when they are asked for."""

    forgotten = Signal()
    """Every setting was; who keeps one in memory takes its first value."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._settings = window, window.preferences.desk
        self.dialog: SettingsDialog | None = None
        commands = window.commands
        commands["settings"].triggered.connect(self.show_settings)
        commands["zoom_in"].triggered.connect(self.zoom_in)
        commands["zoom_out"].triggered.connect(self.zoom_out)
        commands["zoom_reset"].triggered.connect(self.zoom_reset)
        commands["projector"].triggered.connect(self.project)
        commands["load_settings"].triggered.connect(self.load_form)
        commands["save_settings"].triggered.connect(self.save_form)
        commands["reset_settings"].triggered.connect(self.reset_form)

    # Looks

    @property
    def look(self) -> Look:
        return self._settings.look

    def take_look(self, look: Look) -> None:
        """Look like this from now on."""
        self._settings.look = look
        self.show_look()
        self._window.look_changed.emit(look)
        self._show()

    def show_look(self) -> None:
        """Check the actions that say how the window looks."""
        self._window.commands["projector"].setChecked(self.look.projector)

    @Slot()
    def zoom_in(self) -> None:
        self.take_look(replace(self.look, zoom=self.look.zoomed(1)))

    @Slot()
    def zoom_out(self) -> None:
        self.take_look(replace(self.look, zoom=self.look.zoomed(-1)))

    @Slot()
    def zoom_reset(self) -> None:
        self.take_look(replace(self.look, zoom=USUAL))

    @Slot()
    def project(self) -> None:
        """Type for a room, or for the desk again."""
        self.take_look(replace(self.look, projector=not self.look.projector))

    # The dialog

    @property
    def choices(self) -> Choices:
        """What is chosen now."""
        from app.settings_dialog import Choices

        settings = self._settings
        return Choices(self._window.preferences.theme, settings.look, settings.record, settings.recoveries)

    @Slot()
    def show_settings(self) -> None:
        """Show the settings, which act while they are changed."""
        from app.settings_dialog import SettingsDialog

        if self.dialog is not None:
            self.dialog.activateWindow()
            return
        self.dialog = dialog = SettingsDialog(self.choices, self._window)
        dialog.changed.connect(self.take)
        dialog.load_requested.connect(self.load_form)
        dialog.save_requested.connect(self.save_form)
        dialog.form_reset_requested.connect(self.reset_form)
        dialog.reset_requested.connect(self._ask_to_reset)
        dialog.finished.connect(self._closed)
        dialog.show()

    @Slot(object)
    def take(self, choices: Choices) -> None:
        """Let what was chosen act."""
        self._settings.record, self._settings.recoveries = choices.record, choices.recoveries
        self._choose_theme(choices.theme)
        self.take_look(choices.look)

    def _show(self) -> None:
        if self.dialog is not None:
            self.dialog.show_choices(self.choices)

    @Slot()
    def _closed(self) -> None:
        self.dialog = None

    def _choose_theme(self, mode: ThemeMode) -> None:
        action = self._window.commands[f"theme_{mode.value}"]
        if not action.isChecked():
            action.trigger()

    # The engine's settings

    def first_form(self, values: FormValues) -> FormValues:
        """What a launch begins with, of these values that were used last."""
        depth = self._settings.record
        return replace(values, record=depth) if depth is not None else values

    @Slot()
    def load_form(self) -> None:
        """Ask for a file of engine settings, and enter them."""
        name, _ = QFileDialog.getOpenFileName(self._window, "Load engine settings", str(Path.home()), FILTER)
        if name:
            self.load_from(Path(name))

    def load_from(self, path: Path) -> None:
        """Enter the engine settings of this file; a file that is none is told of, and changes nothing."""
        from app.settings_files import read_settings

        try:
            self._window.form.set_values(read_settings(path))
        except UserError as error:
            self._fail(error)

    @Slot()
    def save_form(self) -> None:
        """Ask where to, and save what is entered in the Engine panel."""
        start = str(Path.home() / "engine-settings.json")
        name, _ = QFileDialog.getSaveFileName(self._window, "Save engine settings", start, FILTER)
        if name:
            self.save_to(Path(name))

    def save_to(self, path: Path) -> None:
        """Save what is entered in the Engine panel."""
        from app.settings_files import SUFFIX, write_settings

        try:
            write_settings(path if path.suffix else path.with_suffix(SUFFIX), self._window.form.values())
        except UserError as error:
            self._fail(error)

    @Slot()
    def reset_form(self) -> None:
        """Give the Engine panel its first values back."""
        self._window.form.set_values(FormValues())

    def _fail(self, error: UserError) -> None:
        from app.error_dialog import ErrorDialog
        from app.failure import describe

        ErrorDialog(describe(error), self._window.theme, self.dialog or self._window).open()

    # Everything

    @Slot()
    def _ask_to_reset(self) -> None:
        from app.question_dialog import Answer, QuestionDialog

        answers = (
            Answer("reset", "&Reset everything", "Forget all settings"),
            Answer("keep", "&Keep", "Change nothing (Esc)"),
        )
        question = QuestionDialog(*RESET_QUESTION, answers, self._window.theme, self.dialog or self._window)
        question.answered.connect(self._answered)
        question.open()

    @Slot(str)
    def _answered(self, answer: str) -> None:
        if answer == "reset":
            self.reset_everything()

    def reset_everything(self) -> None:
        """Forget every setting, and be as at the first launch."""
        window = self._window
        self._settings.forget_all()
        window.desk.keys.reset_all()
        window.desk.tell_keys()
        window.reset_layout()
        self.reset_form()
        self._choose_theme(ThemeMode.SYSTEM)
        self.take_look(Look())
        self.forgotten.emit()
