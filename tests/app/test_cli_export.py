"""`export --view` and `report`: files that are read back, made without a screen, a model or torch."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage

from app import cli
from core.report.exit_colours import ExitPalette, exit_colour
from core.report.inks import DARK
from core.trace.session_file import SessionFile
from resources.paths import SAMPLE
from tests.core.sessions import written
from tests.fakes import fake_run_events


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("runs") / "one.specee", fake_run_events(9, audit=True))


def made(session: Path, out: Path, view: str, *flags: str) -> Path:
    assert cli.main(["export", str(session), "--view", view, "--out", str(out), *flags]) == 0
    return out


def complaint(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    assert cli.main([str(word) for word in words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_that_a_table_has_the_run_that_was_chosen(tmp_path: Path) -> None:
    out = made(SAMPLE, tmp_path / "tokens.csv", "tokens", "--run", "3")
    with out.open(encoding="utf-8", newline="") as lines, closing(SessionFile(SAMPLE)) as file:
        rows = list(csv.DictReader(lines))
        seen = file.trace(2).overview
    assert [int(row["exit_layer"]) for row in rows] == seen.exit_layers.tolist()
    assert [row["text"] for row in rows[:3]] == ["‘<E2>’", "‘<98>’", "‘<95>’"]  # three tokens share a cup of coffee


def test_that_a_picture_has_the_asked_size_and_the_bars_colours(session: Path, tmp_path: Path) -> None:
    image = QImage(str(made(session, tmp_path / "e.png", "exits", "--size", "1000x600", "--theme", "dark")))
    assert (image.width(), image.height()) == (1000, 600)
    colours = {QColor(image.pixel(x, y)).name() for x in range(0, 1000, 5) for y in range(0, 600, 5)}
    assert DARK.surface in colours
    assert {exit_colour(12, 12), DARK.text} <= colours


@pytest.mark.parametrize("exits", ExitPalette)
def test_that_a_drawing_and_a_report_have_the_palette_that_was_asked_for(
    exits: ExitPalette, session: Path, tmp_path: Path
) -> None:
    flags = ("--exit-colours", exits.value)
    drawing = made(session, tmp_path / "e.svg", "exits", *flags).read_text(encoding="utf-8")
    assert cli.main(["report", str(session), "--out", str(tmp_path / "r.html"), *flags]) == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    wanted = exit_colour(12, 12, exits)
    assert drawing.count(wanted) >= 3
    assert page.count(f"border-color:{wanted}") >= 3
    assert page.count(f'fill="{wanted}"') >= 3
    assert not any(exit_colour(12, 12, other) in drawing + page for other in ExitPalette if other is not exits)


def test_that_an_svg_holds_the_token_and_layer_that_were_chosen(session: Path, tmp_path: Path) -> None:
    root = ElementTree.parse(made(session, tmp_path / "l.svg", "layers", "--token", "4")).getroot()
    assert (root.get("aria-label") or "").startswith("Token 4:")
    text = "".join(root.itertext())
    assert "right from here on" in text
    calibrated = ElementTree.parse(made(session, tmp_path / "c.svg", "calibration", "--layer", "8")).getroot()
    assert "layer 8" in "".join(calibrated.itertext())


def test_that_a_report_is_made_without_torch_screen_or_qt(session: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    code = (
        "import sys; from app import cli; "
        f"code = cli.main(['report', {str(session)!r}, '--out', {str(out)!r}]); "
        "sys.exit(code or any(name in sys.modules for name in ('torch', 'PySide6', 'transformers')))"
    )
    without = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "QT_QPA_PLATFORM")}
    done = subprocess.run([sys.executable, "-c", code], env=without, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    text = out.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert text.count("<bdi class") == 9


def test_that_a_picture_needs_no_screen(session: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.png"
    words = [sys.executable, "-m", "app", "export", str(session), "--view", "scheduler", "--out", str(out)]
    without = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "QT_QPA_PLATFORM")}
    done = subprocess.run(words, env=without, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert not QImage(str(out)).isNull()


def test_that_every_view_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["export", "any.specee", "--view", "help"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert {"tokens", "exits", "scheduler", "candidates", "tree", "ledger", "frontier", "layers", "kv_map"} <= set(
        names
    )


def test_that_mistakes_get_a_sentence_and_leave_no_file(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new.png"
    export = ("export", session, "--view")
    assert "either --jsonl OUT, or --view NAME" in complaint(capsys, "export", session)
    assert "There is no view 'nope'" in complaint(capsys, *export, "nope", "--out", out)
    assert "--out is missing" in complaint(capsys, *export, "exits")
    assert "ends in none of .png" in complaint(capsys, *export, "exits", "--out", tmp_path / "a.jpg")
    assert "has no picture of its own" in complaint(capsys, *export, "why", "--out", out)
    assert "choose cividis, viridis" in complaint(capsys, *export, "exits", "--out", out, "--exit-colours", "red")
    assert "no size" in complaint(capsys, *export, "exits", "--out", out, "--size", "big")
    assert "no token tree" in complaint(capsys, *export, "tree", "--out", out)
    assert "holds 5 runs; choose one" in complaint(capsys, "export", SAMPLE, "--view", "exits", "--out", out)
    assert "has no run 2" in complaint(capsys, "report", session, "--out", tmp_path / "r.html", "--run", "2")
    assert not [path for path in tmp_path.iterdir() if path.name != "home"]


def test_that_no_file_is_overwritten(session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "mine.html"
    out.write_text("mine")
    assert "is there already" in complaint(capsys, "report", session, "--out", out)
    assert out.read_text() == "mine"
