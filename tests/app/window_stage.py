"""A real window over a session with fakes, to be put into every state."""

from __future__ import annotations

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.error_dialog import ErrorDialog
from app.main_window import MainWindow
from app.recorder import Recorder
from app.run_state import RunState
from app.session import Session
from app.settings import Preferences
from app.theming import Theming
from app.workbench import Workbench
from tests.app.stage import TIMEOUT
from tests.fakes import FakeEngine, FakeLoader
from widgets.palette import DARK


class WindowStage:
    """A window that is shown, its session, and the fakes behind it."""

    def __init__(self, qtbot: QtBot, loader: FakeLoader | None = None, *, recording: bool = False) -> None:
        self.qtbot = qtbot
        self.recording = recording
        self.loader = loader or FakeLoader()
        self.open()

    def open(self) -> MainWindow:
        """Open a window as a launch does; one opened before must have been closed."""
        self.session = Session(self.loader, Recorder() if self.recording else None)
        self.window = MainWindow(Preferences(QSettings()))
        self.qtbot.addWidget(self.window)
        self.window.apply_theme(DARK)
        self.window.recall()
        self.work = Workbench(self.session, self.window)
        for _ in self.work.build():
            pass
        self.window.show()
        return self.window

    def until_state(self, state: RunState) -> None:
        self.qtbot.waitUntil(lambda: self.session.state is state, timeout=TIMEOUT)

    def until_held(self) -> None:
        self.qtbot.waitUntil(lambda: self.session.is_held, timeout=TIMEOUT)

    def load(self, engine: FakeEngine | None = None) -> None:
        self.loader.engine = engine or self.loader.engine
        self.work.flow.open("fake")
        self.until_state(RunState.READY)

    def finish(self) -> None:
        """Run to the end and draw everything."""
        self.trigger("run")
        self.until_state(RunState.FINISHED)
        self.draw()

    def trigger(self, name: str) -> None:
        action = self.window.commands[name]
        assert action.isEnabled(), name
        action.trigger()

    def draw(self) -> None:
        self.work.views.flush()

    def enabled(self) -> set[str]:
        """The actions of the run that can be used now."""
        names = ("run", "pause", "step_token", "step_layer", "stop", "reset")
        return {name for name in names if self.window.commands[name].isEnabled()}

    def errors(self) -> list[ErrorDialog]:
        return [dialog for dialog in self.window.findChildren(ErrorDialog) if dialog.isVisible()]

    def shows(self, key: str) -> bool:
        """Whether a panel shows its view and not the words for why it is empty."""
        return not self.window.panels[key].is_empty


def undress(theming: Theming) -> None:
    """Take back what a `Theming` did to the application that all tests share."""
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    application.styleHints().unsetColorScheme()
    theming.deleteLater()
