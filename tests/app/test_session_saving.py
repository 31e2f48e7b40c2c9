"""What was recorded is saved whole, and nothing unsaved is left without a question."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from app.state_folder import recovery_folder
from core.trace.marks import Mark
from core.trace.saving import save_session
from core.trace.session_file import SessionFile
from core.trace.stored_trace import StoredTrace
from tests.app.recording_stage import RecordingStage, recovery_files
from tests.app.stage import TIMEOUT
from tests.core.any_events import same_events
from tests.core.sessions import written
from tests.fakes import fake_run_events


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[RecordingStage]:
    stage = RecordingStage(qtbot)
    yield stage
    stage.close()


# Saving


def test_that_saving_writes_every_run_and_takes_the_recovery_file_away(stage: RecordingStage, save_to: Path) -> None:
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


def test_that_what_another_window_saved_meanwhile_is_not_lost_without_a_question(
    stage: RecordingStage, tmp_path: Path, save_to: Path
) -> None:
    path = written(tmp_path / "shared.specee", fake_run_events(4))
    stage.open_file(path)
    for token in (1, 2):
        stage.files.put_mark(Mark(0, token, None))
        stage.trigger("save_session")
        assert stage.files.dialog is None, "it is as this window has left it"
        stage.settle()
    save_session(path, (), [Mark(0, 3, None, "of the other window")])
    theirs = path.read_bytes()
    stage.files.put_mark(Mark(0, 3, None))
    for answer in ("cancel", "save_as"):
        stage.trigger("save_session")
        assert "has changed shared.specee" in stage.question()
        stage.answer(answer)
        stage.settle()
        assert path.read_bytes() == theirs
    assert stage.files.library.path == save_to
    stage.open_file(path)
    stage.files.put_mark(Mark(0, 1, None))
    path.touch()
    stage.trigger("save_session")
    stage.answer("replace")
    stage.settle()
    assert path.read_bytes() != theirs


def test_that_runs_whose_file_was_written_over_keep_no_other_from_being_saved(
    stage: RecordingStage, tmp_path: Path, save_to: Path
) -> None:
    path = written(tmp_path / "old.specee", fake_run_events(4))
    stage.open_file(path)
    stage.files.put_mark(Mark(0, 1, None))
    stage.load()
    stage.run()
    path.write_bytes(written(tmp_path / "other.specee", fake_run_events(9)).read_bytes())
    for answer in ("cancel", "save"):
        assert not save_to.exists()
        assert stage.files.library.is_unsaved
        stage.trigger("save_session_as")
        stage.settle()
        assert stage.question().startswith("Run 1 cannot be read any more")
        stage.answer(answer)
        stage.settle()
    with contextlib.closing(SessionFile(save_to)) as file:
        assert [(run.number, run.tokens) for run in file.runs] == [(1, 6)]
        assert file.marks() == []
    assert not stage.files.library.is_unsaved
    assert recovery_files() == []


def test_that_what_comes_after_saving_is_unsaved_again_and_saved_without_a_question(
    stage: RecordingStage, save_to: Path
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


def test_that_a_name_without_an_ending_gets_one(
    stage: RecordingStage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "lesson"), ""))
    stage.load()
    stage.run()
    stage.trigger("save_session")
    stage.settle()
    assert (tmp_path / "lesson.specee").is_file()


def test_that_a_save_that_fails_is_told_of_and_nothing_is_lost(
    stage: RecordingStage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    stage: RecordingStage, save_to: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
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


def test_that_bookmarks_are_recorded_saved_and_opened(stage: RecordingStage, save_to: Path) -> None:
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


def test_that_leaving_asks_once_and_cancel_stays(stage: RecordingStage, tmp_path: Path) -> None:
    stage.load()
    stage.run()
    shown = stage.session.trace
    stage.files.open(written(tmp_path / "s.specee", fake_run_events(4)))
    assert stage.question() == "1 run of 6 tokens is not saved."
    stage.files.open(tmp_path / "s.specee")
    stage.answer("cancel")
    assert stage.session.trace is shown
    assert len(recovery_files()) == 1


def test_that_discarding_opens_the_other_session_and_drops_the_recording(stage: RecordingStage, tmp_path: Path) -> None:
    stage.load()
    stage.run()
    stage.files.open(written(tmp_path / "s.specee", fake_run_events(4)))
    stage.answer("discard")
    stage.settle()
    assert isinstance(stage.session.trace, StoredTrace)
    assert recovery_files() == []
    assert not stage.files.library.is_unsaved


def test_that_saving_on_the_way_goes_on_afterwards(stage: RecordingStage, tmp_path: Path, save_to: Path) -> None:
    stage.load()
    stage.run()
    stage.files.open(written(tmp_path / "s.specee", fake_run_events(4)))
    stage.answer("save")
    stage.qtbot.waitUntil(lambda: stage.window.windowTitle().startswith("s.specee"), timeout=TIMEOUT)
    assert save_to.is_file()


def test_that_the_user_is_asked_before_the_window_closes_over_something_unsaved(stage: RecordingStage) -> None:
    stage.load()
    stage.run()
    stage.window.commands["quit"].trigger()
    assert stage.window.isVisible()
    stage.answer("discard")
    assert not stage.window.isVisible()
    assert recovery_files() == []


def test_that_a_desktop_that_closes_the_window_is_asked_back(stage: RecordingStage) -> None:
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


def test_that_nothing_is_asked_where_nothing_is_unsaved(stage: RecordingStage) -> None:
    stage.window.commands["quit"].trigger()
    assert stage.files.dialog is None
    assert not stage.window.isVisible()
    assert not recovery_folder().exists()


def test_that_a_new_session_is_empty_and_keeps_the_model(stage: RecordingStage) -> None:
    stage.load()
    stage.run()
    stage.trigger("new_session")
    stage.answer("discard")
    assert (stage.session.trace, stage.files.library.titles()) == (None, [])
    assert stage.session.model is not None
    stage.run()
    assert len(stage.files.library.titles()) == 1
