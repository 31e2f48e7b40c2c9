"""Sessions on the command line: recorded by `run --out`, made of JSON Lines, written as such again."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app import cli
from core.trace.events import EndReason
from core.trace.importing import read_file
from core.trace.jsonl import dumps
from core.trace.session_file import SessionFile
from scripts import event_docs
from tests.app.test_cli_run import ScriptedEngine, use
from tests.core.any_events import same_events
from tests.core.sessions import written
from tests.fakes import fake_run_events

DOCS = Path(__file__).resolve().parents[2] / "docs"


def events_file(path: Path, *runs: int, cut: int | None = None) -> Path:
    lines = [json.dumps({"format": "specee-viewer events", "version": 1})]
    lines += [dumps(event) for run in runs for event in fake_run_events(5, run=run)]
    path.write_text("\n".join(lines[:cut]) + "\n", encoding="utf-8")
    return path


def complaint(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    """What the program says to stderr as it refuses, which is one line."""
    assert cli.main([str(word) for word in words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


# run --out FILE.specee


def test_that_a_run_is_recorded_as_a_session(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, ScriptedEngine(b"a", b"b"))
    assert cli.main(["run", "--prompt", "x", "--out", str(tmp_path / "s.specee")]) == 0
    with contextlib.closing(SessionFile(tmp_path / "s.specee")) as file:
        (run,) = file.runs
        assert (run.tokens, run.complete, file.trace(0).text_bytes) == (2, True, b"ab")
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["s.specee"]


def test_that_a_run_stopped_by_ctrl_c_leaves_a_session_of_what_there_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine = use(monkeypatch, ScriptedEngine(b"a", b"b"))
    monkeypatch.setattr(engine, "on_token", lambda index: index == 1 and signal.raise_signal(signal.SIGINT))
    assert cli.main(["run", "--prompt", "x", "--out", str(tmp_path / "s.specee")]) == 130
    with contextlib.closing(SessionFile(tmp_path / "s.specee")) as file:
        assert (file.runs[0].tokens, file.runs[0].ended.reason) == (1, EndReason.STOPPED)


def test_that_a_session_that_is_there_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, ScriptedEngine(b"a"))
    path = written(tmp_path / "s.specee", fake_run_events(3))
    before = path.read_bytes()
    assert "is there already" in complaint(capsys, "run", "--prompt", "x", "--out", path)
    assert path.read_bytes() == before


# import


def test_that_events_become_a_session_beside_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["import", str(events_file(tmp_path / "e.jsonl", 4, 0))]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'e.specee'}: 2 runs, 10 tokens\n"
    with contextlib.closing(SessionFile(tmp_path / "e.specee")) as file:
        assert [run.number for run in file.runs] == [0, 4]
        assert same_events(list(file.trace(4).events), fake_run_events(5, run=4))


def test_that_a_run_without_an_end_is_taken_and_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events_file(tmp_path / "e.jsonl", 0, cut=30)
    assert cli.main(["import", str(tmp_path / "e.jsonl"), "--out", str(tmp_path / "s.specee")]) == 0
    assert "has no end in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "holds no events of specee-viewer"),
        (b"\xff\xfe\x00", "is no text in UTF-8"),
        (b'{"format": "specee-viewer events", "version": 1}\n{"event": "LayerRun"}\n', "Line 2 is no event"),
        (b'{"format": "specee-viewer events", "version": 9}\n', "version 9"),
        (b"x" * (2**23 + 5), "Line 1 is longer than any event"),
    ],
)
def test_that_a_file_that_holds_no_events_leaves_no_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, sentence: str
) -> None:
    (tmp_path / "e.jsonl").write_bytes(content)
    assert sentence in complaint(capsys, "import", tmp_path / "e.jsonl")
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["e.jsonl"]


def test_that_import_refuses_what_is_missing_or_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "cannot be read" in complaint(capsys, "import", tmp_path / "no.jsonl")
    written(tmp_path / "e.specee", fake_run_events(3))
    assert "is there already" in complaint(capsys, "import", events_file(tmp_path / "e.jsonl", 0))


# export


def test_that_a_session_becomes_the_events_that_made_it(tmp_path: Path) -> None:
    source = events_file(tmp_path / "e.jsonl", 0, 4)
    assert cli.main(["import", str(source)]) == 0
    assert cli.main(["export", str(tmp_path / "e.specee"), "--jsonl", str(tmp_path / "back.jsonl")]) == 0
    assert same_events(list(read_file(tmp_path / "back.jsonl")), list(read_file(source)))


def test_that_one_run_can_be_exported_to_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "s.specee", fake_run_events(3), fake_run_events(4, run=1))
    assert cli.main(["export", str(path), "--jsonl", "-", "--run", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["run"] for line in lines[1:]] == [1] * len(fake_run_events(4))


def test_that_export_refuses_what_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "s.specee", fake_run_events(3))
    assert "has no run 2; it holds run 1" in complaint(capsys, "export", path, "--jsonl", "-", "--run", "2")
    assert "There is no file" in complaint(capsys, "export", tmp_path / "no.specee", "--jsonl", "-")
    assert "is there already" in complaint(capsys, "export", path, "--jsonl", path)
    assert "either --jsonl OUT, or --view NAME" in complaint(capsys, "export", path)


# Other engines


def test_that_the_example_of_another_engines_writer_makes_a_session(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    subprocess.run([sys.executable, "-I", str(DOCS / "write_trace.py"), str(trace)], check=True)
    assert cli.main(["import", str(trace)]) == 0
    with contextlib.closing(SessionFile(tmp_path / "trace.specee")) as file:
        found = file.trace(0)
        assert found.text_bytes == b" The sky is blue."
        assert found.exit_layers.tolist() == [24, 17, 21, 9, 24]
        assert found.records[1].proposed.sum() == 1
        for token, record in enumerate(found.records):
            above = record.scores > found.started.settings.threshold
            assert above.tolist() == record.proposed.tolist(), f"token {token + 1} left without reason"


def test_that_the_description_of_the_events_is_that_of_their_classes() -> None:
    assert event_docs.DOCUMENT.read_text(encoding="utf-8") == event_docs.render(), "run python -m scripts.event_docs"


# The window's file


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["a.specee"], "a.specee"),
        (["--theme", "dark", "a.specee"], "a.specee"),
        (["a.specee", "--reset-layout"], "a.specee"),
        (["--open", "run.specee"], "run.specee"),
        (["--model", "tiny", "--theme=light"], None),
        ([], None),
    ],
)
def test_that_a_file_alone_opens_the_window_on_it(
    monkeypatch: pytest.MonkeyPatch, words: list[str], file: str | None
) -> None:
    asked: list[Path | None] = []
    monkeypatch.setattr("app.application.run_app", lambda **given: asked.append(given["file"]) or 0)
    assert cli.main(words) == 0
    assert asked == [Path(file) if file else None]


def test_that_a_file_in_front_of_a_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--open means the window" in complaint(capsys, "--open", "a.specee", "model", "list")
    assert "no command" in complaint(capsys, "a.specee", "b.specee").lower()
