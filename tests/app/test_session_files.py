"""Sessions as files in the window: opened, dragged here, their runs shown, and never lost by a bad file."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.main_window import MainWindow
from app.run_state import RunState
from core.trace.session_file import SessionFile
from core.trace.stored_trace import StoredTrace
from core.trace.trace import Trace
from tests.app.recording_stage import RecordingStage
from tests.app.stage import TIMEOUT
from tests.core.any_events import same_events
from tests.core.sessions import written
from tests.fakes import FakeEngine, fake_run_events

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[RecordingStage]:
    stage = RecordingStage(qtbot)
    yield stage
    stage.close()


# Opening


def test_that_a_session_opens_without_a_model_and_shows_its_newest_run(stage: RecordingStage, tmp_path: Path) -> None:
    path = written(tmp_path / "s.specee", fake_run_events(4), fake_run_events(6, run=3))
    stage.open_file(path)
    trace = stage.session.trace
    assert isinstance(trace, StoredTrace)
    assert (trace.info.number, trace.emitted_count) == (3, 6)
    assert stage.session.selection.token == 0
    assert stage.shows("tokens")
    assert stage.session.state is RunState.NO_MODEL
    assert stage.window.windowTitle().startswith("s.specee[*]")
    assert not stage.window.isWindowModified()
    assert stage.window.preferences.recent_sessions == [str(path)]
    assert not stage.window.commands["save_session"].isEnabled(), "nothing is unsaved"


def test_that_any_token_of_an_open_session_can_be_selected_and_explained(stage: RecordingStage, tmp_path: Path) -> None:
    stage.open_file(written(tmp_path / "s.specee", fake_run_events(6, audit=True)))
    stage.trigger("next_token")
    stage.draw()
    assert stage.session.selection.token == 1
    assert "Token 2" in stage.work.views.why.text()
    stage.trigger("previous_token")
    assert stage.session.selection.token == 0


@pytest.mark.parametrize("content", [b"", b"not a session" * 20])
def test_that_a_file_that_is_no_session_is_told_of_and_takes_nothing_away(
    stage: RecordingStage, tmp_path: Path, content: bytes
) -> None:
    stage.open_file(written(tmp_path / "s.specee", fake_run_events(4)))
    shown = stage.session.trace
    (tmp_path / "bad.specee").write_bytes(content)
    stage.open_file(tmp_path / "bad.specee")
    (error,) = stage.errors()
    assert "is no session of specee-viewer" in error.sentence.text()
    assert stage.session.trace is shown
    error.close()


def test_that_a_recent_session_that_is_gone_is_told_of_once(stage: RecordingStage, tmp_path: Path) -> None:
    gone = tmp_path / "gone.specee"
    stage.window.preferences.remember_session(str(gone))
    stage.window.recent_sessions.aboutToShow.emit()
    (action,) = stage.window.recent_sessions.actions()
    action.trigger()
    stage.settle()
    (error,) = stage.errors()
    assert "There is no file" in error.sentence.text()
    assert stage.window.preferences.recent_sessions == []
    error.close()


def test_that_a_damaged_token_is_told_of_and_the_views_go_on(stage: RecordingStage, tmp_path: Path) -> None:
    path = written(tmp_path / "s.specee", fake_run_events(6, audit=True))
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE stretches SET events = zeroblob(20) WHERE place = 1")
    stage.open_file(path)
    stage.trigger("next_token")
    stage.draw()
    stage.qtbot.waitUntil(lambda: bool(stage.errors()), timeout=TIMEOUT)
    (error,) = stage.errors()
    assert "is damaged" in error.sentence.text()
    assert stage.session.selection.token == 1
    error.close()


# Runs


def test_that_every_run_is_recorded_and_can_be_shown_again(stage: RecordingStage) -> None:
    stage.load()
    stage.run()
    first = list(stage.session.trace.events)  # type: ignore[union-attr]
    stage.run()
    assert isinstance(stage.session.trace, Trace)
    stage.window.runs.aboutToShow.emit()
    lines = [action.text() for action in stage.window.runs.actions()]
    assert [line.startswith(f"Run {n} · 6 tokens · ") for n, line in enumerate(lines, 1)] == [True, True]
    stage.window.runs.actions()[0].trigger()
    stage.draw()
    assert isinstance(stage.session.trace, StoredTrace), "it left the memory when the next run began"
    assert same_events(list(stage.session.trace.events), first)


def test_that_a_run_goes_on_while_another_is_shown(qtbot: QtBot) -> None:
    stage = RecordingStage(qtbot, FakeEngine(tokens=3))
    stage.load()
    stage.run()
    stage.load(FakeEngine(tokens=8, stuck_at=60))
    stage.trigger("run")
    qtbot.waitUntil(lambda: len(stage.files.library.titles()) == 2, timeout=TIMEOUT)
    stage.files.show_run(0)
    assert stage.session.trace is not None
    assert stage.session.trace.emitted_count == 3
    stage.session.stop()
    qtbot.waitUntil(lambda: not stage.session.is_running, timeout=TIMEOUT)
    assert stage.session.trace.emitted_count == 3
    stage.files.show_run(1)
    assert stage.session.trace.emitted_count > 3
    stage.close()


def test_that_runs_after_opening_a_session_get_numbers_of_their_own(
    stage: RecordingStage, tmp_path: Path, save_to: Path
) -> None:
    stage.load()
    stage.open_file(written(tmp_path / "s.specee", fake_run_events(4, run=7)))
    stage.run()
    stage.trigger("save_session_as")
    stage.settle()
    with contextlib.closing(SessionFile(save_to)) as file:
        assert [run.number for run in file.runs] == [7, 8]


# Dragging, and the command line


def dropped(window: MainWindow, *paths: Path) -> bool:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    buttons, modifiers = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(5, 5), Qt.DropAction.CopyAction, data, buttons, modifiers)
    QApplication.sendEvent(window, enter)
    if enter.isAccepted():
        drop = QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, data, buttons, modifiers)
        QApplication.sendEvent(window, drop)
    return enter.isAccepted()


def test_that_a_session_that_is_dragged_here_is_opened(stage: RecordingStage, tmp_path: Path) -> None:
    path = written(tmp_path / "s.specee", fake_run_events(4))
    assert not dropped(stage.window, tmp_path / "picture.png")
    assert not dropped(stage.window, path, path)
    assert dropped(stage.window, path)
    stage.settle()
    assert stage.session.trace is not None


def test_that_a_session_opens_in_its_window_without_torch(tmp_path: Path) -> None:
    path = written(tmp_path / "s.specee", fake_run_events(8, audit=True))
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from app.application import make_application, open_window\n"
        "application = make_application()\n"
        "opening = open_window(application, file=Path(sys.argv[1]))\n"
        "opening.ready.connect(lambda work: work.files.opened.connect(\n"
        "    lambda _: (work.views.flush(), application.quit())))\n"
        "application.exec()\n"
        "count = opening.workbench.session.trace.emitted_count\n"
        "opening.window.close()\n"
        "heavy = {'torch', 'transformers', 'tokenizers'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy or count != 8 else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
