"""A window that records, over a tiny engine."""

from __future__ import annotations

from pathlib import Path

from pytestqt.qtbot import QtBot

from app.run_state import RunState
from app.state_folder import recovery_folder
from tests.app.stage import TIMEOUT
from tests.app.window_stage import WindowStage
from tests.fakes import FakeEngine, FakeLoader


class RecordingStage(WindowStage):
    """A window that records."""

    def __init__(self, qtbot: QtBot, engine: FakeEngine | None = None) -> None:
        super().__init__(qtbot, FakeLoader(engine or FakeEngine()), recording=True)
        self.files = self.work.files

    def settle(self) -> None:
        """Wait until nothing is being opened or saved."""
        self.qtbot.waitUntil(lambda: not self.files.is_busy, timeout=TIMEOUT)

    def run(self) -> None:
        """Another run, to its end; the state alone would still be that of the run before."""
        before = self.session.trace
        self.trigger("run")
        self.qtbot.waitUntil(lambda: self.session.trace is not before, timeout=TIMEOUT)
        self.until_state(RunState.FINISHED)
        self.qtbot.waitUntil(lambda: not self.files.is_recording, timeout=TIMEOUT)

    def open_file(self, path: Path) -> None:
        self.files.open(path)
        self.settle()
        self.draw()

    def answer(self, key: str) -> None:
        assert self.files.dialog is not None
        self.files.dialog.buttons[key].click()

    def question(self) -> str:
        assert self.files.dialog is not None
        return self.files.dialog.sentence.text()

    def close(self) -> None:
        self.window.close()


def recovery_files() -> list[Path]:
    """What is recorded and not saved."""
    return list(recovery_folder().glob("*.specee"))
