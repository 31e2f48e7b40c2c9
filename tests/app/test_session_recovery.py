"""What a crash left is offered at the next launch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.recovery import leftovers
from app.state_folder import recovery_folder
from tests.app.recording_stage import RecordingStage, recovery_files
from tests.app.stage import TIMEOUT
from tests.core.sessions import left_open, written
from tests.fakes import fake_run_events


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[RecordingStage]:
    stage = RecordingStage(qtbot)
    yield stage
    stage.close()


def test_that_what_a_crash_left_is_offered_and_opened_unsaved(qtbot: QtBot, save_to: Path) -> None:
    recovery_folder().mkdir(parents=True)
    left_open(recovery_folder() / "a.specee", fake_run_events(5)[:-1])
    stage = RecordingStage(qtbot)
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
    stage = RecordingStage(qtbot)
    stage.work.recovery.look()
    qtbot.waitUntil(lambda: stage.files.dialog is not None, timeout=TIMEOUT)
    stage.answer(key)
    assert stage.session.trace is None
    stage.close()
    assert bool(recovery_files()) is stays


def test_that_a_window_that_is_closed_over_the_question_keeps_what_it_asks_about(qtbot: QtBot) -> None:
    recovery_folder().mkdir(parents=True)
    left_open(recovery_folder() / "a.specee", fake_run_events(5))
    stage = RecordingStage(qtbot)
    stage.work.recovery.look()
    qtbot.waitUntil(lambda: stage.files.dialog is not None, timeout=TIMEOUT)
    question = stage.files.dialog
    stage.close()
    question.reject()  # as Qt does once the window below it is gone
    (left,) = leftovers(recovery_folder())
    left.close()


def test_that_a_recording_beside_a_session_opens_with_it(qtbot: QtBot, tmp_path: Path) -> None:
    origin = written(tmp_path / "lesson.specee", fake_run_events(4))
    first = RecordingStage(qtbot)
    first.load()
    first.open_file(origin)
    first.run()
    first.close()  # as the desktop does when it shuts down: nobody is asked
    second = RecordingStage(qtbot)
    second.work.recovery.look()
    qtbot.waitUntil(lambda: second.files.dialog is not None, timeout=TIMEOUT)
    assert "recorded beside lesson.specee, which is opened too" in second.question()
    second.answer("open")
    assert [title.number for title in second.files.library.titles()] == [0, 1]
    assert second.window.windowTitle().startswith("lesson.specee")
    second.close()


def test_that_closing_without_an_answer_keeps_the_recording(stage: RecordingStage) -> None:
    stage.load()
    stage.run()
    stage.close()
    (left,) = leftovers(recovery_folder())
    assert left.tokens == 6
    left.close()
