"""`specee-viewer model` and `train`, in front of a fake store and recipe; and how progress looks on the console."""

from __future__ import annotations

import io
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app import cli
from app.commands import console
from core.config import DEFAULT_MODEL
from core.errors import UserError
from core.model import store
from core.progress import Progress, Report
from tests.tiny import make_tiny_model


class FakeStore:
    calls: tuple[Any, ...] = ()

    def fetch(self, ref: str, report: Report, cancel: threading.Event | None, source: Path | None = None) -> Path:
        type(self).calls = (ref, source)
        report(Progress("Downloading the default model", 40_000_000, 93_000_000, "bytes"))
        return Path("models") / ref

    def stored(self) -> list[Any]:
        return [SimpleNamespace(name="a model", path=Path("models/a"), bytes=269_000_000)]


@pytest.fixture
def fake_store(monkeypatch: pytest.MonkeyPatch) -> type[FakeStore]:
    monkeypatch.setattr(store, "ModelStore", FakeStore)
    return FakeStore


@pytest.mark.parametrize(
    ("argv", "call"),
    [
        ([], (DEFAULT_MODEL, None)),
        (["someone/model"], ("someone/model", None)),
        (["--from", "a.whl"], (DEFAULT_MODEL, Path("a.whl"))),
    ],
)
def test_that_fetch_asks_the_store_and_prints_the_folder(
    argv: list[str], call: tuple[Any, ...], fake_store: type[FakeStore], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["model", "fetch", *argv]) == 0
    assert fake_store.calls == call
    assert capsys.readouterr() == (f"{Path('models') / call[0]}\n", "Downloading the default model …\n")


def test_that_list_prints_name_size_and_folder(fake_store: type[FakeStore], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["model", "list"]) == 0
    assert capsys.readouterr().out == f"a model\t269 MB\t{Path('models/a')}\n"


def test_that_an_empty_store_lists_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["model", "list"]) == 0
    assert capsys.readouterr() == ("", "")


def test_that_path_prints_the_folder_of_a_model_that_is_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_tiny_model(tmp_path / "tiny")
    assert cli.main(["model", "path", str(folder)]) == 0
    assert Path(capsys.readouterr().out.rstrip("\n")) == folder


def test_that_path_says_how_to_get_a_model_that_is_not_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["model", "path"]) == 2
    assert f"`specee-viewer model fetch {DEFAULT_MODEL}`" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["path", "{folder}"], ["fetch", "someone/model", "--from", "a.whl"]])
def test_that_what_cannot_be_a_model_is_refused_in_one_sentence(
    argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["model", *[word.format(folder=tmp_path) for word in argv]]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)


def test_that_a_failed_fetch_is_one_sentence(
    fake_store: type[FakeStore], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(self: FakeStore, ref: str, report: Report, *_: object, **__: object) -> Path:
        report(Progress("Downloading the default model", 0, 93_000_000, "bytes"))
        raise UserError("There is no network; connect and try again.")

    monkeypatch.setattr(fake_store, "fetch", fail)
    assert cli.main(["model", "fetch"]) == 2
    assert capsys.readouterr() == ("", "There is no network; connect and try again.\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_that_progress_on_a_terminal_is_one_line_that_is_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with console.progress() as report:
        report(Progress("Loading weights", 3, 30, "layers"))
    assert terminal.getvalue() == "\r\x1b[KLoading weights 3 of 30 layers …\r\x1b[K"


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (Progress("x"), ""),
        (Progress("x", 5), ""),
        (Progress("x", 41_000_000, 93_000_000, "bytes"), " 41 of 93 MB"),
        (Progress("x", 2, 3, "steps"), " 2 of 3 steps"),
        (Progress("x", 2, 3), " 2 of 3"),
    ],
)
def test_that_amounts_read_in_their_own_unit(progress: Progress, text: str) -> None:
    assert console.amount(progress) == text
