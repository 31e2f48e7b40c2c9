"""`specee-viewer desktop`: what a desktop needs to know of the program, in the user's own data folder."""

from __future__ import annotations

import configparser
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication, QImage

from app import application, cli, desktop_files
from app.desktop_files import MIME_TYPE, SIZES, Command, desktop_entry, mime_package, places
from app.desktop_icons import png
from tests.core.sessions import left_open, written
from tests.fakes import fake_run_events

NAMESPACE = "{http://www.freedesktop.org/standards/shared-mime-info}"


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A data folder, and programs that note what they were called with."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data home"))
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, needed in (("update-mime-database", "/packages"), ("update-desktop-database", "")):
        noted = f'test -d "$1{needed}" && echo "{name} $1" >> "{tmp_path}/called"'
        (tools / name).write_text(f"#!/bin/sh\n{noted}\n", encoding="utf-8")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    return tmp_path / "data home"


def called(home: Path) -> list[str]:
    note = home.parent / "called"
    return note.read_text(encoding="utf-8").splitlines() if note.exists() else []


def entry_of(text: str) -> configparser.SectionProxy:
    parser = configparser.RawConfigParser()
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # keys are case-sensitive here
    parser.read_string(text)
    return parser["Desktop Entry"]


def below(home: Path) -> set[Path]:
    return {path for path in home.rglob("*") if path.is_file()}


def test_that_installing_writes_every_file_and_nothing_else_and_tells_the_desktop(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["desktop", "install"]) == 0
    assert below(home) == set(places(home))
    assert called(home) == [f"update-mime-database {home}/mime", f"update-desktop-database {home}/applications"]
    assert str(home) in capsys.readouterr().out
    for size, path in zip(SIZES, places(home)[3:], strict=True):
        picture = QImage(str(path))
        assert (picture.width(), picture.height()) == (size, size)
        assert picture.pixelColor(0, 0).alpha() == 0, "its corners are round"
        assert picture.pixelColor(size // 2, size // 8).alpha() == 255


def test_that_installing_again_changes_nothing_and_mends_what_was_changed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["desktop", "install"])
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in below(home)}
    capsys.readouterr()
    assert cli.main(["desktop", "install"]) == 0
    assert "already" in capsys.readouterr().out
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in below(home)} == before
    assert len(called(home)) == 2
    places(home)[0].write_text("[Desktop Entry]\n", encoding="utf-8")
    cli.main(["desktop", "install"])
    assert places(home)[0].read_bytes() == before[places(home)[0]][1]
    assert len(called(home)) == 4


def test_that_uninstalling_leaves_what_is_not_ours(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = home / "icons" / "hicolor" / "16x16" / "apps" / "other.png"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"x")
    cli.main(["desktop", "install"])
    assert cli.main(["desktop", "uninstall"]) == 0
    assert below(home) == {other}
    assert called(home)[2:] == called(home)[:2], "the desktop is told as long as its folders are there"
    assert not (home / "applications").exists(), "folders that hold nothing go, too"
    capsys.readouterr()
    assert cli.main(["desktop", "uninstall"]) == 0
    assert "nothing of specee-viewer" in capsys.readouterr().out


def test_that_a_program_that_fails_is_told_of_and_stops_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home.parent / "tools" / "update-mime-database").write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    assert cli.main(["desktop", "install"]) == 0
    assert "update-mime-database did not succeed" in capsys.readouterr().err
    assert below(home) == set(places(home))


@pytest.mark.parametrize(("platform", "name"), [("darwin", "macOS"), ("win32", "Windows")])
@pytest.mark.parametrize("action", ["install", "uninstall"])
def test_that_other_systems_are_told_how_to_start_instead(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    platform: str,
    name: str,
    action: str,
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert cli.main(["desktop", action]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"specee-viewer: {name} knows no menu entries") or name in line
    assert "specee-viewer FILE.specee" in line
    assert not home.exists()


def test_that_a_folder_that_cannot_be_written_is_told_of(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home.write_text("a file", encoding="utf-8")
    assert cli.main(["desktop", "install"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "set XDG_DATA_HOME to a folder of yours" in line


def test_that_the_entry_starts_the_very_program_whatever_its_path_holds(tmp_path: Path) -> None:
    path = tmp_path / 'a "b" $HOME 100% \\ c' / "specee-viewer"
    entry = entry_of(desktop_entry(Command((str(path),))))
    line = entry["Exec"].replace("\\\\", "\\")
    assert line.endswith(" %f")
    word = line.removesuffix(" %f").replace("%%", "%")  # quoted as a shell has it, the specification says
    told = subprocess.run(["/bin/sh", "-c", f"printf %s {word}"], check=True, capture_output=True, text=True)
    assert told.stdout == str(path)
    assert entry["TryExec"].replace("\\\\", "\\") == str(path)
    assert "Path" not in entry
    assert entry["MimeType"] == f"{MIME_TYPE};"


def test_that_a_checkout_is_started_where_its_sources_lie(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "argv", ["pytest"])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    command = desktop_files.own_command()
    assert command.words == (str(tmp_path / "python"), "-m", "specee_viewer")
    assert command.folder is not None
    assert (command.folder / "specee_viewer" / "__main__.py").is_file()
    launcher = tmp_path / "specee-viewer"
    launcher.write_text("#!/bin/sh\n", encoding="utf-8")
    launcher.chmod(0o755)
    assert desktop_files.own_command() == Command((str(launcher),))


def test_that_a_relative_data_folder_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert desktop_files.data_home({"XDG_DATA_HOME": "here"}) == tmp_path / ".local" / "share"
    assert desktop_files.data_home({}) == tmp_path / ".local" / "share"


def test_that_the_type_knows_a_session_by_its_ending_and_by_its_head(tmp_path: Path) -> None:
    (kind,) = ElementTree.fromstring(mime_package())
    assert kind.get("type") == MIME_TYPE
    glob, outer = kind.find(f"{NAMESPACE}glob"), kind.find(f"{NAMESPACE}magic/{NAMESPACE}match")
    assert glob is not None
    assert glob.get("pattern") == "*.specee"
    assert outer is not None
    inner = outer.find(f"{NAMESPACE}match")
    assert inner is not None
    at, value = int(inner.get("offset", "")), int(inner.get("value", ""), 16)
    rest, recording = written(tmp_path / "a.specee", fake_run_events(3)), tmp_path / "b.specee"
    for path in (rest, left_open(recording, fake_run_events(3))):
        head = path.read_bytes()[:100]
        assert head.startswith(outer.get("value", "").encode())
        assert int.from_bytes(head[at : at + 4], "big") == value


def test_that_window_entry_and_icon_go_by_one_name(qapp: QGuiApplication) -> None:
    assert desktop_files.NAME == application.NAME
    entry = entry_of(desktop_entry(Command(("x",))))
    assert {entry["Icon"], entry["StartupWMClass"], places(Path())[0].stem} == {application.NAME}
    assert png(16).startswith(b"\x89PNG")
