"""The recovery file: made when there is something to record, offered after a crash, gone after a clean end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.recorder import Recorder
from app.recovery import RecoveryFile, leftovers
from app.recovery_offer import kept
from app.state_folder import STATE_VARIABLE, recovery_folder
from core.errors import UserError
from core.trace.events import Event, RunStarted
from core.trace.marks import Mark
from core.trace.session_file import SessionFile
from tests.core.any_events import same_events
from tests.core.children import in_child, with_small_files
from tests.core.sessions import WEIGHTS, left_open, written
from tests.fakes import fake_run_events


def record(recorder: Recorder, *runs: list[Event]) -> None:
    for events in runs:
        for event in events:
            recorder.take(event, WEIGHTS if isinstance(event, RunStarted) else None)


def recorded(recorder: Recorder, run: int) -> Path:
    path = recorder.file_of(run)
    assert path is not None
    return path


def test_that_recovery_files_lie_with_the_users_state(fresh_home: Path) -> None:
    assert recovery_folder().is_relative_to(fresh_home)
    assert not recovery_folder().exists(), "made only when there is something to record"


def test_that_a_window_that_is_measured_sees_nothing_that_a_crash_left_to_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path))
    assert recovery_folder() == tmp_path / "recovery"


def test_that_a_session_without_runs_makes_no_file(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "recovery")
    recorder.close(keep=True)
    assert not (tmp_path / "recovery").exists()


def test_that_runs_can_be_read_while_and_after_they_are_recorded(tmp_path: Path) -> None:
    recorder, events = Recorder(tmp_path), fake_run_events(5)
    record(recorder, events[:-1])
    assert SessionFile(recorded(recorder, 0)).runs[0].tokens == 5
    record(recorder, events[-1:], fake_run_events(3, run=1))
    file = SessionFile(recorded(recorder, 1))
    assert same_events(list(file.trace(0).events), events)
    assert [run.number for run in file.runs] == [0, 1]
    assert file.weights(0) is not None
    recorder.close(keep=False)


@pytest.mark.parametrize("keep", [False, True])
def test_that_a_clean_end_takes_the_file_away_and_any_other_leaves_it(tmp_path: Path, keep: bool) -> None:
    recorder = Recorder(tmp_path)
    record(recorder, fake_run_events(5))
    recorder.close(keep=keep)
    found = leftovers(tmp_path)
    assert [(one.runs, one.tokens) for one in found] == ([(1, 5)] if keep else [])
    for one in found:
        one.discard()
    assert list(tmp_path.glob("*.specee*")) == []


def test_that_what_was_saved_is_taken_away_and_the_next_run_begins_another_file(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    record(recorder, fake_run_events(5))
    first = recorded(recorder, 0)
    assert recorder.start_over()
    assert recorder.file_of(0) is None
    assert not first.exists()
    record(recorder, fake_run_events(3, run=1))
    assert recorded(recorder, 1) != first, "who still reads the first would take this one for it"
    assert [run.number for run in SessionFile(recorded(recorder, 1)).runs] == [1]
    recorder.close(keep=False)


def test_that_a_run_under_way_keeps_its_file(tmp_path: Path) -> None:
    recorder, events = Recorder(tmp_path), fake_run_events(5)
    record(recorder, events[:20])
    assert not recorder.start_over()
    record(recorder, events[20:])
    assert recorder.start_over()


def test_that_marks_and_the_open_session_are_noted(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.note_origin(Path("/home/me/lesson.specee"))
    recorder.put_mark(Mark(3, 1, None, "look"))
    recorder.put_mark(Mark(3, 2))
    recorder.remove_mark(Mark(3, 2))
    recorder.close(keep=True)
    (left,) = leftovers(tmp_path)
    assert left.origin == Path("/home/me/lesson.specee")
    assert left.file.marks() == [Mark(3, 1, None, "look")]
    left.close()


def test_that_a_disk_that_fills_up_ends_the_recording_of_this_run_only(tmp_path: Path) -> None:
    def work() -> str:
        recorder = Recorder(tmp_path)
        record(recorder, fake_run_events(4))
        told = ""
        for event in fake_run_events(300, run=1):
            try:
                recorder.take(event)
            except UserError as error:
                told += str(error)
        record(recorder, fake_run_events(4, run=2))
        places = [recorder.file_of(run) for run in range(3)]
        assert places[0] is not None
        assert places[1] is None
        assert places[2] not in (None, places[0])
        assert SessionFile(places[0]).runs[0].tokens == 4
        recorder.close(keep=False)
        assert list(tmp_path.iterdir()) == [tmp_path / "home"]
        return told

    told = in_child(with_small_files(work, 500_000))
    assert told.count("the disk is full or failing; free some space") == 1, told


def test_that_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="Runs cannot be recorded in"):
        record(Recorder(tmp_path / "file" / "recovery"), fake_run_events(2))


def test_that_files_which_other_processes_hold_are_not_offered(tmp_path: Path) -> None:
    path = left_open(tmp_path / "a.specee", fake_run_events(3))

    def offered() -> str:
        program = (
            "import sys\nfrom pathlib import Path\nfrom app.recovery import leftovers\n"
            "sys.stdout.write(' '.join(one.held.path.name for one in leftovers(Path(sys.argv[1]))))"
        )
        command = [sys.executable, "-c", program, str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    held = RecoveryFile.hold(path)
    assert held is not None
    assert offered() == ""
    held.release()
    assert offered() == "a.specee"


def test_that_two_launches_do_not_both_offer_one_file(tmp_path: Path) -> None:
    left_open(tmp_path / "a.specee", fake_run_events(3))
    first, second = leftovers(tmp_path), leftovers(tmp_path)
    assert [one.held.path.name for one in first] == ["a.specee"]
    assert second == []
    first[0].close()
    assert len(leftovers(tmp_path)) == 1


def test_that_files_without_a_token_are_taken_away_unasked(tmp_path: Path) -> None:
    (tmp_path / "empty.specee").touch()
    left_open(tmp_path / "begun.specee", fake_run_events(3)[:1])
    assert leftovers(tmp_path) == []
    assert list(tmp_path.glob("*.specee")) == []


def test_that_a_file_that_cannot_be_read_is_left_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "a.specee", fake_run_events(3))
    data = bytearray(path.read_bytes())
    data[60:64] = (99).to_bytes(4, "big")  # a newer program's
    path.write_bytes(data)
    assert leftovers(tmp_path) == []
    assert path.read_bytes() == data


def test_that_only_as_many_left_over_recordings_are_kept_as_the_user_wants(tmp_path: Path) -> None:
    for _ in range(3):
        recorder = Recorder(tmp_path)
        record(recorder, fake_run_events(2))
        recorder.close(keep=True)
    assert len(kept(leftovers(tmp_path), None)) == 3
    found = leftovers(tmp_path)
    for left in kept(found, 1):
        left.close()
    (last,) = tmp_path.glob("*.specee")
    assert last == found[0].held.path
