"""File ▸ Export and Edit ▸ Copy in a real window; every file is read back."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

from app.export_picture import widget_image
from app.failure import Failure
from core.analysis.why import why_plain
from core.report.exit_colours import ExitPalette, exit_colour
from core.trace.jsonl import dumps
from resources.paths import SAMPLE
from tests.app.stage import TIMEOUT
from tests.app.window_stage import WindowStage
from widgets.selection import Selection

LAST = 64
"""Tokens of the sample's last run."""


class Desk:
    """A window on the sample session, and where the next file goes."""

    def __init__(self, qtbot: QtBot) -> None:
        self.stage = WindowStage(qtbot)
        self.path = Path()
        self.failures: list[Failure] = []
        self.stage.session.failed.connect(self.failures.append)
        self.stage.trigger("sample")
        qtbot.waitUntil(lambda: self.stage.session.trace is not None, timeout=TIMEOUT)
        self.stage.draw()

    def export(self, action: str, path: Path, panel: str = "tokens") -> Path:
        """Do what the action does with the panel that has the focus, and wait until it is done."""
        self.path = path
        self.stage.window.desk.layouts.focused = panel
        self.stage.trigger(action)
        self.stage.qtbot.waitUntil(lambda: not self.stage.work.exporting.is_busy, timeout=TIMEOUT)
        return path

    def sentence(self) -> str:
        for dialog in self.stage.errors():
            dialog.close()
        return self.failures.pop().sentence


@pytest.fixture(scope="module")
def desk(qtbot_of_module: QtBot) -> Iterator[Desk]:
    desk = Desk(qtbot_of_module)
    yield desk
    desk.stage.window.close()


@pytest.fixture(scope="module")
def qtbot_of_module(qapp: QApplication, request: pytest.FixtureRequest) -> QtBot:
    return QtBot(request)


@pytest.fixture(autouse=True)
def _answered(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(desk.path), ""))


def test_that_the_sample_is_open_without_a_name_and_never_unsaved(desk: Desk) -> None:
    library = desk.stage.work.files.library
    assert library.path is None
    assert not library.is_unsaved
    assert len(library.titles()) == 5
    assert len(library.marks) == 2
    assert desk.stage.session.trace is not None
    assert desk.stage.session.trace.emitted_count == LAST
    assert str(SAMPLE) not in desk.stage.window.preferences.recent_sessions
    assert not desk.stage.window.commands["save_session"].isEnabled()


def test_that_a_panels_table_is_the_run_on_show(desk: Desk, tmp_path: Path) -> None:
    path = desk.export("export_table", tmp_path / "t.csv", "exits")
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert desk.stage.session.trace is not None
    assert [int(row["exit_layer"]) for row in rows] == desk.stage.session.trace.exit_layers.tolist()


def test_that_a_picture_is_what_the_panel_shows(desk: Desk, tmp_path: Path) -> None:
    image = QImage(str(desk.export("export_picture", tmp_path / "p.png", "exits")))
    view = desk.stage.work.views.exits
    shown = widget_image(view)
    assert image.size() == shown.size()
    assert image.convertToFormat(shown.format()) == shown
    assert len({image.pixel(x, y) for x in range(0, image.width(), 7) for y in range(0, image.height(), 7)}) > 5


@pytest.mark.parametrize(("panel", "words"), [("tokens", {"·sky", "·because"}), ("exits", {"layer", "token"})])
def test_that_text_stays_text_in_a_panels_svg(desk: Desk, tmp_path: Path, panel: str, words: set[str]) -> None:
    root = ElementTree.parse(desk.export("export_picture", tmp_path / f"{panel}.svg", panel)).getroot()
    texts = {"".join(one.itertext()).strip() for one in root.iter("{http://www.w3.org/2000/svg}text")}
    assert words <= texts


def test_that_the_whole_session_is_written_event_by_event(desk: Desk, tmp_path: Path) -> None:
    text = desk.export("export_events", tmp_path / "e.jsonl").read_text(encoding="utf-8")
    assert json.loads(text[: text.index("\n")])["format"] == "specee-viewer events"
    assert text.count('"event":"RunStarted"') == text.count('"event":"RunEnded"') == 5
    shortest = desk.stage.work.files.library.reader_of(2)()
    assert "\n".join(dumps(event) for event in shortest.events) in text


def test_that_the_report_holds_every_run_and_the_notes(desk: Desk, tmp_path: Path) -> None:
    page = desk.export("export_report", tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count("<h2 ") == 5
    assert "Explain in two sentences why the sky is blue." in page
    assert "Which threshold would have kept it?" in page
    assert exit_colour(30, 30) in page


def test_that_the_report_has_the_windows_colours_of_exit_layers(desk: Desk, tmp_path: Path) -> None:
    appearance = desk.stage.window.desk.appearance
    before = appearance.look
    appearance.take_look(replace(before, exits=ExitPalette.MAGMA))
    page = desk.export("export_report", tmp_path / "m.html").read_text(encoding="utf-8")
    appearance.take_look(before)
    assert exit_colour(30, 30, ExitPalette.MAGMA) in page
    assert exit_colour(30, 30) not in page


def test_that_an_ending_is_given_where_it_is_missing(desk: Desk, tmp_path: Path) -> None:
    desk.export("export_report", tmp_path / "named")
    assert (tmp_path / "named.html").is_file()


def test_that_what_cannot_be_written_is_one_sentence_and_leaves_nothing(desk: Desk, tmp_path: Path) -> None:
    desk.export("export_report", tmp_path / "nowhere" / "r.html")
    assert "cannot be written" in desk.sentence()
    desk.export("export_table", tmp_path / "x.csv", "prompt")
    assert "The panel Prompt has no table" in desk.sentence()
    desk.export("export_table", tmp_path / "x.csv", "tree")
    assert "comes from no token tree" in desk.sentence()
    assert not [path for path in tmp_path.iterdir() if path.name != "home"]


def test_that_copy_takes_the_token_the_words_or_the_picture(desk: Desk) -> None:
    session, board = desk.stage.session, QApplication.clipboard()
    session.select(Selection(1))
    desk.stage.window.desk.layouts.focused = "tokens"
    desk.stage.trigger("copy")
    assert board.text() == " sky"
    desk.stage.window.desk.layouts.focused = "why"
    desk.stage.trigger("copy")
    assert session.trace is not None
    assert board.text() == why_plain(session.trace, 1, None)
    desk.stage.window.desk.layouts.focused = "exits"
    desk.stage.trigger("copy")
    assert not board.image().isNull()
    assert "mean exit layer" in board.text()


def test_that_each_panels_title_offers_its_exports(desk: Desk) -> None:
    header = desk.stage.window.panels["scheduler"].header
    header.customContextMenuRequested.emit(header.rect().center())
    menu = QApplication.activePopupWidget()
    assert menu is not None
    assert [action.objectName() for action in menu.actions()] == ["copy", "export_picture", "export_table"]
    assert desk.stage.window.desk.layouts.focused == "scheduler"
    menu.close()


def test_that_text_fields_keep_their_own_copy(desk: Desk) -> None:
    window = desk.stage.window
    window.activateWindow()
    window.prompt.text.setPlainText("mine")
    window.prompt.text.selectAll()
    window.prompt.text.setFocus()
    desk.stage.qtbot.keyClick(window.prompt.text, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.clipboard().text() == "mine"
