"""`specee-viewer diff`: files of both kinds, several runs, and what it says of them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from app import cli
from core.config import RunSettings
from core.trace.events import Event
from core.trace.jsonl import write_events
from tests.core.sessions import written
from tests.fakes import Plan, fake_run_events

A = fake_run_events(tokens=6, audit=True)
B = fake_run_events(tokens=8, audit=True, settings=RunSettings(threshold=0.75), plans=(Plan(False, 0),))


def numbered(events: Iterable[Event], run: int) -> list[Event]:
    return [dataclasses.replace(event, run=run) for event in events]


def lines(path: Path, *runs: Iterable[Event]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        list(write_events(file, [event for run in runs for event in run]))
    return path


@pytest.fixture(params=["jsonl", "specee"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """Run A, and a file with runs A and B in it."""
    make = lines if request.param == "jsonl" else written
    one = make(tmp_path / f"one.{request.param}", A)
    two = make(tmp_path / f"two.{request.param}", A, numbered(B, 1))
    return str(one), str(two)


def test_that_figures_settings_and_the_divergence_are_told(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["diff", files[0], files[1], "--run-b", "2"]) == 0
    out = capsys.readouterr().out
    assert "mean exit layer" in out
    assert "  threshold             0.5 → 0.75" in out
    assert "The runs emit the same 6 tokens; then A ends." in out
    assert "The first other exit is that of token 2" in out
    assert "<" not in out


def test_that_json_holds_every_token(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["diff", files[0], files[1], "--run-b", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["first_divergence"] == 7
    assert told["a"]["tokens"] == 6
    assert [row["exit_layers"][1] for row in told["tokens"]] == [12] * 8


def test_that_a_run_does_not_differ_from_itself(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["diff", files[0], files[1], "--run-b", "1", "--tokens"]) == 0
    out = capsys.readouterr().out
    assert "Both runs have the same settings and prompt." in out
    assert "Both runs emit the same 6 tokens." in out
    assert " | " not in out.split("where it differs")[1]


def test_that_the_list_of_tokens_shows_both_texts_where_they_differ(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["diff", files[0], files[1], "--run-b", "2", "--tokens"]) == 0
    rows = capsys.readouterr().out.splitlines()[-8:]
    assert rows[0].split() == ["1", "12", "12", "+0", "·the"]
    assert rows[7].split() == ["8", "–", "12", "–", "(ended)", "|", "·vu"]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ([], "holds 2 runs; choose one with --run-b: 1 or 2."),
        (["--run-b", "3"], "has no run 3; it holds the runs 1 and 2."),
        (["--run-a", "2", "--run-b", "1"], "has no run 2; it holds run 1."),
        (["--run-b", "0"], "The run is 0; it must be at least 1."),
    ],
)
def test_that_the_run_must_be_chosen_where_there_are_several(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], flags: list[str], sentence: str
) -> None:
    assert cli.main(["diff", *files, *flags]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "holds no events of specee-viewer"),
        (b"\xff\xfe\x00 no text", "it is no session file and no text"),
        (b"hello\n", "holds no events of specee-viewer"),
        (b'{"format": "specee-viewer events", "version": 1}\n', "holds no run; record one first"),
        (b'{"format": "specee-viewer events", "version": 1}\n{"event": "RunEnded"}\n', "Line 2"),
        (b"SQLite format 3\x00" + b"\x01" * 100, "."),
    ],
)
def test_that_a_file_that_is_no_run_is_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, sentence: str
) -> None:
    bad, good = tmp_path / "bad", lines(tmp_path / "good.jsonl", A)
    bad.write_bytes(content)
    assert cli.main(["diff", str(bad), str(good)]) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize("name", ["none.jsonl", "."])
def test_that_a_path_that_is_no_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    good = lines(tmp_path / "good.jsonl", A)
    assert cli.main(["diff", str(good), str(tmp_path / name)]) == 2
    assert "cannot be read" in capsys.readouterr().err
