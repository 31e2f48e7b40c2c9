"""Sessions as files in the window: what was recorded is saved, opened, asked about, and never lost."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

from app.main_window import MainWindow
from app.recovery import leftovers, recovery_folder
from app.run_state import RunState
from core.trace.marks import Mark
from core.trace.session_file import SessionFile
from core.trace.stored_trace import StoredTrace
from core.trace.trace import Trace
from tests.app.stage import TIMEOUT
from tests.app.window_stage import WindowStage
from tests.core.any_events import same_events
from tests.core.sessions import left_open, written
from tests.fakes import FakeEngine, FakeLoader, fake_run_events

ROOT = Path(__file__).resolve().parents[2]


class Stage(WindowStage):
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


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[Stage]:
    stage = Stage(qtbot)
    yield stage
    stage.close()


@pytest.fixture
def save_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """What the user answers to where to save."""
    path = tmp_path / "mine.specee"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    return path


def recovery_files() -> list[Path]:
    return list(recovery_folder().glob("*.specee"))


# Opening


def test_that_a_session_opens_without_a_model_and_shows_its_newest_run(stage: Stage, tmp_path: Path) -> None:
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


def test_that_any_token_of_an_open_session_can_be_selected_and_explained(stage: Stage, tmp_path: Path) -> None:
    stage.open_file(written(tmp_path / "s.specee", fake_run_events(6, audit=True)))
    stage.trigger("next_token")
    stage.draw()
    assert stage.session.selection.token == 1
    assert "Token 2" in stage.work.views.why.text()
    stage.trigger("previous_token")
    assert stage.session.selection.token == 0


@pytest.mark.parametrize("content", [b"", b"not a session" * 20])
def test_that_a_file_that_is_no_session_is_told_of_and_takes_nothing_away(
    stage: Stage, tmp_path: Path, content: bytes
) -> None:
    stage.open_file(written(tmp_path / "s.specee", fake_run_events(4)))
    shown = stage.session.trace
    (tmp_path / "bad.specee").write_bytes(content)
    stage.open_file(tmp_path / "bad.specee")
    (error,) = stage.errors()
    assert "is no session of specee-viewer" in error.sentence.text()
    assert stage.session.trace is shown
    error.close()


def test_that_a_recent_session_that_is_gone_is_told_of_once(stage: Stage, tmp_path: Path) -> None:
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


def test_that_a_damaged_token_is_told_of_and_the_views_go_on(stage: Stage, tmp_path: Path) -> None:
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


def test_that_every_run_is_recorded_and_can_be_shown_again(stage: Stage) -> None:
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
    stage = Stage(qtbot, FakeEngine(tokens=3))
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
    stage: Stage, tmp_path: Path, save_to: Path
) -> None:
    stage.load()
    stage.open_file(written(tmp_path / "s.specee", fake_run_events(4, run=7)))
    stage.run()
    stage.trigger("save_session_as")
    stage.settle()
    with contextlib.closing(SessionFile(save_to)) as file:
        assert [run.number for run in file.runs] == [7, 8]


# Saving


def test_that_saving_writes_every_run_and_takes_the_recovery_file_away(stage: Stage, save_to: Path) -> None:
    stage.load()
    stage.run()
    stage.run()
    assert len(recovery_files()) == 1
    stage.trigger("save_session")
    stage.settle()
    with contextlib.closing(SessionFile(save_to)) as file:
        assert [(run.number, run.tokens, run.complete) for run in file.runs] == [(0, 6, True), (1, 6, True)]
        assert file.weights(0) is None
    assert recovery_files() == []
    assert stage.window.windowTitle().startswith("mine.specee[*]")
    stage.files.show_run(0)
    assert stage.session.trace is not None
    assert stage.session.trace.records[3].emitted is not None, "it is read from the saved file now"


def test_that_what_comes_after_saving_is_unsaved_again_and_saved_without_a_question(
    stage: Stage, save_to: Path
) -> None:
    stage.load()
    stage.run()
    stage.trigger("save_session")
    stage.settle()
    stage.run()
    assert stage.window.isWindowModified()
    stage.trigger("save_session")
    stage.settle()
    assert not stage.window.isWindowModified()
    with contextlib.closing(SessionFile(save_to)) as file:
        assert [run.number for run in file.runs] == [0, 1]


def test_that_a_name_without_an_ending_gets_one(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "lesson"), ""))
    stage.load()
    stage.run()
    stage.trigger("save_session")
    stage.settle()
    assert (tmp_path / "lesson.specee").is_file()


def test_that_a_save_that_fails_is_told_of_and_nothing_is_lost(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "no" / "a.specee"), ""))
    stage.load()
    stage.run()
    stage.trigger("save_session")
    stage.settle()
    (error,) = stage.errors()
    assert "cannot be used" in error.sentence.text()
    assert stage.files.library.is_unsaved
    assert len(recovery_files()) == 1
    error.close()


def test_that_a_run_that_could_not_be_recorded_is_saved_from_memory(
    stage: Stage, save_to: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr("app.recorder.recovery_folder", lambda: tmp_path / "file" / "recovery")
    stage.load()
    stage.run()
    (error,) = stage.errors()
    assert "cannot be recorded" in error.sentence.text()
    error.close()
    stage.trigger("save_session")
    stage.settle()
    with contextlib.closing(SessionFile(save_to)) as file:
        assert same_events(list(file.trace(0).events), list(stage.session.trace.events))  # type: ignore[union-attr]


def test_that_bookmarks_are_recorded_saved_and_opened(stage: Stage, save_to: Path) -> None:
    stage.load()
    stage.run()
    mark = Mark(0, 3, 5, "why so late?")
    stage.files.library.put_mark(mark)
    stage.files.library.put_mark(Mark(0, 1))
    stage.files.library.remove_mark(Mark(0, 1))
    stage.trigger("save_session")
    stage.settle()
    stage.files.new()
    assert stage.files.library.marks == []
    stage.open_file(save_to)
    assert stage.files.library.marks == [mark]


# Leaving what is unsaved


def test_that_leaving_asks_once_and_cancel_stays(stage: Stage, tmp_path: Path) -> None:
    stage.load()
    stage.run()
    shown = stage.session.trace
    stage.files.open(written(tmp_path / "s.specee", fake_run_events(4)))
    assert stage.question() == "1 run of 6 tokens is not saved."
    stage.files.open(tmp_path / "s.specee")
    stage.answer("cancel")
    assert stage.session.trace is shown
    assert len(recovery_files()) == 1


def test_that_discarding_opens_the_other_session_and_drops_the_recording(stage: Stage, tmp_path: Path) -> None:
    stage.load()
    stage.run()
    stage.files.open(written(tmp_path / "s.specee", fake_run_events(4)))
    stage.answer("discard")
    stage.settle()
    assert isinstance(stage.session.trace, StoredTrace)
    assert recovery_files() == []
    assert not stage.files.library.is_unsaved


def test_that_saving_on_the_way_goes_on_afterwards(stage: Stage, tmp_path: Path, save_to: Path) -> None:
    stage.load()
    stage.run()
    stage.files.open(written(tmp_path / "s.specee", fake_run_events(4)))
    stage.answer("save")
    stage.qtbot.waitUntil(lambda: stage.window.windowTitle().startswith("s.specee"), timeout=TIMEOUT)
    assert save_to.is_file()


def test_that_the_user_is_asked_before_the_window_closes_over_something_unsaved(stage: Stage) -> None:
    stage.load()
    stage.run()
    stage.window.commands["quit"].trigger()
    assert stage.window.isVisible()
    stage.answer("discard")
    assert not stage.window.isVisible()
    assert recovery_files() == []


def test_that_a_desktop_that_closes_the_window_is_asked_back(stage: Stage) -> None:
    stage.load()
    stage.run()

    class FromDesktop(QCloseEvent):
        def spontaneous(self) -> bool:
            return True

    event = FromDesktop()
    stage.window.closeEvent(event)
    assert not event.isAccepted()
    stage.answer("cancel")
    assert stage.window.isVisible()


def test_that_nothing_is_asked_where_nothing_is_unsaved(stage: Stage) -> None:
    stage.window.commands["quit"].trigger()
    assert stage.files.dialog is None
    assert not stage.window.isVisible()
    assert not recovery_folder().exists()


def test_that_a_new_session_is_empty_and_keeps_the_model(stage: Stage) -> None:
    stage.load()
    stage.run()
    stage.trigger("new_session")
    stage.answer("discard")
    assert (stage.session.trace, stage.files.library.titles()) == (None, [])
    assert stage.session.model is not None
    stage.run()
    assert len(stage.files.library.titles()) == 1


# After a crash


def test_that_what_a_crash_left_is_offered_and_opened_unsaved(qtbot: QtBot, save_to: Path) -> None:
    recovery_folder().mkdir(parents=True)
    left_open(recovery_folder() / "a.specee", fake_run_events(5)[:-1])
    stage = Stage(qtbot)
    stage.work.recovery.look()
    qtbot.waitUntil(lambda: stage.files.dialog is not None, timeout=TIMEOUT)
    assert "1 run of 5 tokens was recorded until then" in stage.question()
    stage.answer("open")
    stage.draw()
    assert stage.session.trace is not None
    assert stage.session.trace.emitted_count == 5
    assert stage.files.library.is_unsaved
    stage.trigger("save_session")
    stage.settle()
    assert recovery_files() == []
    assert stage.session.trace.records[4].emitted is not None, "it is read from the saved file now"
    stage.close()


@pytest.mark.parametrize(("key", "stays"), [("discard", False), ("later", True)])
def test_that_what_a_crash_left_can_be_refused_or_put_off(qtbot: QtBot, key: str, stays: bool) -> None:
    recovery_folder().mkdir(parents=True)
    left_open(recovery_folder() / "a.specee", fake_run_events(5))
    stage = Stage(qtbot)
    stage.work.recovery.look()
    qtbot.waitUntil(lambda: stage.files.dialog is not None, timeout=TIMEOUT)
    stage.answer(key)
    assert stage.session.trace is None
    stage.close()
    assert bool(recovery_files()) is stays


def test_that_a_recording_beside_a_session_opens_with_it(qtbot: QtBot, tmp_path: Path) -> None:
    origin = written(tmp_path / "lesson.specee", fake_run_events(4))
    first = Stage(qtbot)
    first.load()
    first.open_file(origin)
    first.run()
    first.close()  # as the desktop does when it shuts down: nobody is asked
    second = Stage(qtbot)
    second.work.recovery.look()
    qtbot.waitUntil(lambda: second.files.dialog is not None, timeout=TIMEOUT)
    assert "recorded beside lesson.specee, which is opened too" in second.question()
    second.answer("open")
    assert [title.number for title in second.files.library.titles()] == [0, 1]
    assert second.window.windowTitle().startswith("lesson.specee")
    second.close()


def test_that_closing_without_an_answer_keeps_the_recording(stage: Stage) -> None:
    stage.load()
    stage.run()
    stage.close()
    (left,) = leftovers(recovery_folder())
    assert left.tokens == 6
    left.close()


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


def test_that_a_session_that_is_dragged_here_is_opened(stage: Stage, tmp_path: Path) -> None:
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
