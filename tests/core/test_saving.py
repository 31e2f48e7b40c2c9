"""A session is saved whole or not at all, whatever is saved from and over."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import UserError
from core.progress import Cancelled, Progress
from core.trace.events import EndReason, Event, RunEnded
from core.trace.marks import Mark
from core.trace.saving import MemoryRun, StoredRun, save_session
from core.trace.session_file import SessionFile
from core.trace.session_writer import SessionWriter
from core.trace.trace import Trace
from tests.core.any_events import same_events
from tests.core.children import in_child, with_small_files
from tests.core.sessions import WEIGHTS, left_open, written
from tests.fakes import fake_run_events


def files(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir() if one.is_file())


def events_of(path: Path, number: int) -> list[Event]:
    with contextlib.closing(SessionFile(path)) as file:
        return list(file.trace(number).events)


def test_that_runs_of_files_and_of_memory_are_saved_side_by_side(tmp_path: Path) -> None:
    old = SessionFile(written(tmp_path / "old.specee", fake_run_events(4, run=2), fake_run_events(3, run=5)))
    memory = MemoryRun(Trace.of(fake_run_events(6, run=7, audit=True)), WEIGHTS)
    marks = [Mark(2, 1), Mark(7, None, None, "mine")]
    save_session(tmp_path / "new.specee", [StoredRun(old, 5), memory, StoredRun(old, 2)], marks)
    with contextlib.closing(SessionFile(tmp_path / "new.specee")) as new:
        assert [run.number for run in new.runs] == [2, 5, 7]
        assert new.marks() == marks
        assert new.weights(7) is not None
        assert {run.uid for run in old.runs} < {run.uid for run in new.runs}
    for number, events in ((2, fake_run_events(4, run=2)), (7, fake_run_events(6, run=7, audit=True))):
        assert same_events(events_of(tmp_path / "new.specee", number), events)
    assert files(tmp_path) == ["new.specee", "old.specee"]


def test_that_runs_of_thousands_of_tokens_are_copied_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.trace.raw_runs.PORTION", 7)
    for tokens in (13, 14, 15):
        old = SessionFile(written(tmp_path / f"{tokens}.specee", fake_run_events(tokens)))
        save_session(tmp_path / "new.specee", [StoredRun(old, 0)])
        assert same_events(events_of(tmp_path / "new.specee", 0), fake_run_events(tokens))


def test_that_saving_over_the_file_that_is_open_keeps_it_readable(tmp_path: Path) -> None:
    path = written(tmp_path / "s.specee", fake_run_events(4))
    with contextlib.closing(SessionFile(path)) as file:
        save_session(path, [StoredRun(file, 0), MemoryRun(Trace.of(fake_run_events(3, run=1)))])
        assert len(list(file.trace(0).records)) == 4
    with contextlib.closing(SessionFile(path)) as file:
        assert [run.number for run in file.runs] == [0, 1]


def test_that_a_run_that_still_goes_on_is_saved_as_far_as_it_is(tmp_path: Path) -> None:
    writer = SessionWriter(tmp_path / "recovery.specee")
    for event in fake_run_events(6)[:-1]:
        writer.take(event)
    with contextlib.closing(SessionFile(writer.path)) as file:
        save_session(tmp_path / "s.specee", [StoredRun(file, 0)])
    writer.take(RunEnded(0, EndReason.STOPPED, "Stopped."))
    writer.close()
    with contextlib.closing(SessionFile(tmp_path / "s.specee")) as file:
        assert (file.runs[0].tokens, file.runs[0].complete) == (6, False)


def test_that_a_run_packed_by_an_older_program_keeps_its_layout(tmp_path: Path) -> None:
    old = written(tmp_path / "old.specee", fake_run_events(4))
    with contextlib.closing(sqlite3.connect(old)) as connection, connection:
        connection.execute("UPDATE layouts SET kinds = replace(kinds, '\"gated\"', '\"gated\" ')")
        connection.execute("UPDATE layouts SET layout = 9")
        connection.execute("UPDATE runs SET layout = 9")
    file = SessionFile(old)
    save_session(tmp_path / "new.specee", [StoredRun(file, 0), MemoryRun(Trace.of(fake_run_events(2, run=1)))])
    new = SessionFile(tmp_path / "new.specee")
    assert new.rows("SELECT count(*) FROM layouts") == [(2,)]
    assert new.runs[0].layout == file.runs[0].layout


def test_that_a_disk_that_is_full_leaves_the_old_file_as_it_was(tmp_path: Path) -> None:
    path = written(tmp_path / "s.specee", fake_run_events(3))
    before = path.read_bytes()
    runs = [MemoryRun(Trace.of(fake_run_events(200, audit=True)))]
    told = in_child(with_small_files(lambda: str(save_session(path, runs)), 150_000))
    assert "the disk is full or failing" in told
    assert path.read_bytes() == before
    assert files(tmp_path) == ["s.specee"]


def test_that_a_file_that_another_process_records_is_not_saved_over(tmp_path: Path) -> None:
    writer = SessionWriter(tmp_path / "s.specee")
    for event in fake_run_events(3):
        writer.take(event)
    with pytest.raises(UserError, match="is being recorded by another program; choose another name"):
        save_session(writer.path, [MemoryRun(Trace.of(fake_run_events(2)))])
    writer.close()
    assert len(events_of(writer.path, 0)) == len(fake_run_events(3))
    assert files(tmp_path) == ["s.specee"]


def test_that_a_recording_that_was_cut_off_may_be_saved_over(tmp_path: Path) -> None:
    path = left_open(tmp_path / "s.specee", fake_run_events(3))
    save_session(path, [MemoryRun(Trace.of(fake_run_events(5, run=4)))])
    assert same_events(events_of(path, 4), fake_run_events(5, run=4))
    assert files(tmp_path) == ["s.specee"]


def test_that_a_link_to_a_session_goes_on_being_one(tmp_path: Path) -> None:
    path = written(tmp_path / "real.specee", fake_run_events(3))
    (tmp_path / "link.specee").symlink_to(path)
    save_session(tmp_path / "link.specee", [MemoryRun(Trace.of(fake_run_events(5)))])
    assert (tmp_path / "link.specee").is_symlink()
    assert len(events_of(path, 0)) == len(fake_run_events(5))


@pytest.mark.parametrize("name", ["", "missing/s.specee"])
def test_that_a_place_that_cannot_be_written_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match=r"is a folder|cannot be used"):
        save_session(tmp_path / name, [MemoryRun(Trace.of(fake_run_events(2)))])


def test_that_a_file_keeps_the_rights_that_its_owner_gave_it(tmp_path: Path) -> None:
    path = written(tmp_path / "s.specee", fake_run_events(3))
    path.chmod(0o640)
    save_session(path, [MemoryRun(Trace.of(fake_run_events(2)))])
    assert os.stat(path).st_mode & 0o777 == 0o640  # noqa: PTH116 (the mode only)


def test_that_two_savers_of_one_file_leave_the_session_of_one(tmp_path: Path) -> None:
    path = tmp_path / "s.specee"

    def save(number: int) -> str:
        for _ in range(5):
            save_session(path, [MemoryRun(Trace.of(fake_run_events(3, run=number)))])
        return "saved"

    told: list[str] = []
    threads = [threading.Thread(target=lambda n=n: told.append(in_child(lambda: save(n)))) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == ["saved", "saved"]
    with contextlib.closing(SessionFile(path)) as file:
        (run,) = file.runs
        assert same_events(list(file.trace(run.number).events), fake_run_events(3, run=run.number))
    assert files(tmp_path) == ["s.specee"]


def test_that_a_run_in_memory_may_have_no_end(tmp_path: Path) -> None:
    events = fake_run_events(4)
    save_session(tmp_path / "s.specee", [MemoryRun(Trace.of(events[:-3]))])
    assert replace(SessionFile(tmp_path / "s.specee").runs[0].ended).reason is EndReason.CUT_OFF


@pytest.mark.parametrize("in_memory", [True, False])
def test_that_saving_tells_how_far_it_is_and_a_cancelled_one_leaves_what_was_there(
    in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.trace.raw_runs.PORTION", 4)
    monkeypatch.setattr("core.trace.saving.PORTION", 4)
    events, cancel, told = fake_run_events(13), threading.Event(), list[Progress]()
    with contextlib.closing(SessionFile(written(tmp_path / "old.specee", events))) as old:
        run = MemoryRun(Trace.of(events)) if in_memory else StoredRun(old, 0)
        save_session(tmp_path / "new.specee", [run], report=told.append)
        assert [one.done for one in told] == [4, 8, 12]
        assert {one.total for one in told} == {13}

        def cancel_late(progress: Progress) -> None:
            if progress.done >= 8:
                cancel.set()

        before = (tmp_path / "new.specee").read_bytes()
        with pytest.raises(Cancelled):
            save_session(tmp_path / "new.specee", [run, run], report=cancel_late, cancel=cancel)
    assert (tmp_path / "new.specee").read_bytes() == before
    assert files(tmp_path) == ["new.specee", "old.specee"]
