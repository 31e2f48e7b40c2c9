"""`specee-viewer run --out`: the events appear as one whole file, or not at all."""

from __future__ import annotations

import errno
import io
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import cli
from app.commands import recording
from app.commands.recording import Keep
from core.config import RunSettings
from core.errors import UserError
from core.trace.events import EndReason, Event, RunEnded, RunStarted, ScheduleChosen, TokenEmitted
from core.trace.jsonl import dumps, read_events
from tests.app.test_cli_run import ScriptedEngine, use
from tests.fakes import fake_run_events


def run(out: Path, *flags: str) -> int:
    return cli.main(["run", "--prompt", "x", "--out", str(out), *flags])


def read(path: Path) -> list[Event]:
    with path.open(encoding="utf-8") as lines:
        return list(read_events(lines))


def test_that_the_file_holds_the_runs_events(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    engine = use(monkeypatch, ScriptedEngine(b"a", b"b"))
    assert run(tmp_path / "e.jsonl") == 0
    assert engine.settings == RunSettings(scheduler=engine.settings.scheduler) if engine.settings else False
    kinds = [type(event) for event in read(tmp_path / "e.jsonl")]
    assert kinds == [RunStarted, TokenEmitted, ScheduleChosen, TokenEmitted, RunEnded]
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["e.jsonl"]


def test_that_a_run_stopped_by_ctrl_c_leaves_what_there_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    engine = use(monkeypatch, ScriptedEngine(b"a", b"b"))
    monkeypatch.setattr(engine, "on_token", lambda index: index == 1 and signal.raise_signal(signal.SIGINT))
    assert run(tmp_path / "e.jsonl") == 130
    ended = read(tmp_path / "e.jsonl")[-1]
    assert isinstance(ended, RunEnded)
    assert ended.reason is EndReason.STOPPED


def test_that_a_refused_run_leaves_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    engine = use(monkeypatch, ScriptedEngine(b"a"))

    def refuse(*_: object) -> Iterator[Event]:
        raise UserError("No.")
        yield

    monkeypatch.setattr(engine, "run", refuse)
    assert run(tmp_path / "out" / "e.jsonl") == 2
    (tmp_path / "out").mkdir()
    assert run(tmp_path / "out" / "e.jsonl") == 2
    assert list((tmp_path / "out").iterdir()) == []


def test_that_a_file_that_is_there_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, ScriptedEngine(b"a"))
    out = tmp_path / "e.jsonl"
    out.write_text("mine")
    assert run(out) == 2
    assert "is there already" in capsys.readouterr().err
    assert out.read_text() == "mine"


class FullDisk(io.StringIO):
    """Takes the header, and then nothing more."""

    def write(self, text: str) -> int:
        if self.tell():
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)


def test_that_a_full_disk_is_one_sentence_and_leaves_no_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, ScriptedEngine(b"a"))
    monkeypatch.setattr(recording, "open_new", lambda path: path.touch() or FullDisk())
    out = tmp_path / "e.jsonl"
    assert run(out) == 2
    captured = capsys.readouterr().err
    assert captured == f"{out} cannot be written (No space left on device); write elsewhere.\n"
    assert not [one for one in tmp_path.iterdir() if one.is_file()]


def test_that_a_folder_that_cannot_be_written_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = use(monkeypatch, ScriptedEngine(b"a"))
    monkeypatch.setattr(recording.os, "access", lambda *_: False)
    assert run(tmp_path / "e.jsonl") == 2
    assert engine.settings is None
    assert capsys.readouterr().err == f"Nothing can be written in {tmp_path}; write elsewhere.\n"


def test_that_events_are_written_byte_for_byte_as_the_trace_format_has_them(tmp_path: Path) -> None:
    events = fake_run_events()
    with recording.saved(tmp_path / "e.jsonl", events) as written:
        assert list(written) == events
    lines = (tmp_path / "e.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines[1:] == [dumps(event) for event in events]
    assert json.loads(lines[0])["format"] == "specee-viewer events"


def test_that_recording_off_keeps_what_the_figures_need_and_nothing_else() -> None:
    kinds = {type(event) for event in Keep.OFF.kept(fake_run_events())}
    assert kinds == {RunStarted, ScheduleChosen, TokenEmitted, RunEnded}
    assert list(Keep.AUDIT.kept(events := fake_run_events())) == events
