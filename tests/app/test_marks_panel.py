"""Bookmarks, notes and the search in the window: kept in the session's file, and worked from the keyboard alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from app.places import MARKS
from app.tools.find_form import FindForm
from app.tools.marks import Marks
from core.analysis.search import Query, search
from core.analysis.summaries import Outcome
from core.trace.events import IntArray
from core.trace.marks import Mark
from core.trace.reading import ReadableTrace
from core.trace.session_file import SessionFile
from tests.app.stage import TIMEOUT
from tests.app.window_stage import WindowStage
from tests.fakes import FakeEngine
from widgets.selection import Selection

Key = Qt.Key


class Desk:
    """The panel of a window with a finished run, in front."""

    def __init__(self, stage: WindowStage) -> None:
        self.stage = stage
        stage.load(FakeEngine(tokens=25))
        stage.finish()
        stage.window.panels[MARKS.key].show()
        stage.window.panels[MARKS.key].raise_()
        tool = stage.work.rack.tool(MARKS)
        assert isinstance(tool, Marks)
        self.tool, self.view = tool, tool.view
        self.bookmarks, self.finder = stage.work.debugging.bookmarks, stage.work.debugging.finder

    @property
    def token(self) -> int | None:
        return self.stage.session.selection.token

    def settle(self) -> None:
        self.stage.work.rack.flush()
        self.stage.qtbot.waitUntil(lambda: not self.finder.newest.is_busy, timeout=TIMEOUT)
        self.stage.work.rack.flush()

    def press(self, key: Qt.Key, widget: QObject) -> None:
        self.stage.qtbot.keyClick(widget, key)

    def mark(self, *selections: Selection) -> None:
        for selection in selections:
            self.stage.session.select(selection)
            self.stage.trigger("toggle_mark")

    def go(self, name: str) -> int | None:
        self.stage.trigger(name)
        self.settle()
        return self.token

    def marks(self) -> list[tuple[str, str, str]]:
        return [(row.where, row.text, row.note) for row in self.view.marks.rows.rows]

    def type_note(self, row: int, text: str) -> None:
        self.view.marks.choose(row)
        self.press(Key.Key_F2, self.view.marks)
        editor = self.view.marks.viewport().findChild(QLineEdit)
        self.stage.qtbot.keyClicks(editor, text)
        self.press(Key.Key_Return, editor)
        self.stage.qtbot.waitUntil(lambda: self.bookmarks.all[row].note == text, timeout=TIMEOUT)


@pytest.fixture
def desk(qtbot: QtBot) -> Iterator[Desk]:
    stage = WindowStage(qtbot, recording=True)
    yield Desk(stage)
    stage.work.files._given_up = True
    stage.window.close()


def test_that_one_key_sets_a_bookmark_at_the_selection_and_takes_it_away(desk: Desk) -> None:
    desk.mark(Selection(7), Selection(3, 4))
    assert desk.bookmarks.all == [Mark(0, 3, 4), Mark(0, 7)]
    assert desk.marks() == [("token 4, layer 5", "·blue", ""), ("token 8", "·vu", "")]
    assert desk.stage.work.files.library.is_unsaved
    desk.mark(Selection(7))
    assert desk.bookmarks.all == [Mark(0, 3, 4)]


def test_that_bookmarked_tokens_are_marked_in_the_strip_of_their_run(desk: Desk) -> None:
    strip, panel = desk.stage.work.views.tokens, desk.stage.window.panels["tokens"]
    desk.mark(Selection(7))
    assert strip.words(7).endswith(" · bookmarked")
    assert "bookmark" in panel.header.subtitle.text()
    first = desk.stage.session.trace
    desk.stage.finish()
    assert desk.stage.session.trace is not first
    assert "bookmark" not in strip.words(7) + panel.header.subtitle.text()
    desk.stage.work.files.show_run(first.started.run)
    desk.settle()
    assert strip.words(7).endswith(" · bookmarked")
    desk.mark(Selection(7))
    assert "bookmark" not in strip.words(7) + panel.header.subtitle.text()


def test_that_notes_and_bookmarks_survive_saving_and_opening(desk: Desk, tmp_path: Path) -> None:
    stage, path = desk.stage, tmp_path / "marked.specee"
    desk.mark(Selection(2), Selection(9), Selection(5, 3))
    desk.type_note(0, "why so deep?")
    desk.bookmarks.note(desk.bookmarks.all[1], "天空 — \udcff")
    written = desk.bookmarks.all
    assert [mark.note for mark in written] == ["why so deep?", "天空 — ?", ""]
    stage.work.files._write(path, None)
    stage.qtbot.waitUntil(lambda: not stage.work.files.is_busy, timeout=TIMEOUT)
    file = SessionFile(path)
    assert file.marks() == written
    file.close()
    stage.trigger("new_session")
    assert desk.bookmarks.all == []
    stage.work.files.open(path)
    stage.qtbot.waitUntil(lambda: not stage.work.files.is_busy and bool(desk.bookmarks.all), timeout=TIMEOUT)
    assert desk.bookmarks.all == written
    desk.settle()
    assert desk.marks()[0] == ("token 3", "·is", "why so deep?")
    assert not stage.work.files.library.is_unsaved


def test_that_bookmarks_are_walked_and_jumped_to_by_keyboard(desk: Desk) -> None:
    desk.mark(*[Selection(token) for token in (4, 20, 11)])
    desk.stage.session.select(Selection(0))
    assert [desk.go("next_mark") for _ in range(4)] == [4, 11, 20, 20]
    assert desk.stage.window.status.currentMessage() == "No bookmark after token 21."
    assert [desk.go("previous_mark") for _ in range(2)] == [11, 4]
    desk.view.marks.choose(2)
    desk.press(Key.Key_Return, desk.view.marks)
    assert desk.token == 20
    desk.view.marks.choose(0)
    desk.press(Key.Key_Delete, desk.view.marks)
    assert desk.bookmarks.tokens() == [11, 20]


def test_that_a_bookmark_of_another_run_shows_that_run(desk: Desk) -> None:
    stage = desk.stage
    desk.mark(Selection(6))
    stage.finish()
    desk.mark(Selection(1))
    desk.settle()
    assert desk.marks() == [("run 1, token 7", "", ""), ("run 2, token 2", "·sky", "")]
    desk.bookmarks.go_to(desk.bookmarks.all[0])
    assert stage.session.trace is not None
    assert stage.session.trace.started.run == 0
    assert desk.token == 6


def test_that_the_search_goes_through_all_that_fits_by_keyboard(desk: Desk) -> None:
    stage, trace = desk.stage, desk.stage.session.trace
    stage.trigger("find")
    assert desk.view.pages.currentIndex() == 1
    stage.session.select(Selection(0))
    stage.qtbot.keyClicks(desk.view.form.text, "e b")
    desk.press(Key.Key_Return, desk.view.form.text)
    desk.settle()
    expected = search(trace, Query("e b")).tolist()
    assert desk.finder.found.tolist() == expected == desk.view.found.rows.tokens.tolist()
    assert not expected
    desk.view.form.text.setText("ue\n ")
    desk.view.form.ask()
    desk.settle()
    expected = search(trace, Query("ue\n ")).tolist()
    assert desk.view.count.text() == f"{len(expected)} of 25 tokens"
    assert [desk.go("find_next") for _ in expected] == expected
    assert desk.go("find_next") == expected[0]
    assert desk.go("find_previous") == expected[-1]
    assert desk.view.found.currentIndex().row() == len(expected) - 1
    desk.press(Key.Key_Up, desk.view.found)
    assert desk.token == expected[-2]


def test_that_layers_outcome_and_pattern_narrow_the_search_and_a_broken_one_says_so(desk: Desk) -> None:
    form, trace = desk.view.form, desk.stage.session.trace
    form.outcome.setCurrentIndex(form.outcome.findData(str(int(Outcome.EARLY_EXIT))))
    form.least.setValue(4)
    form.most.setValue(8)
    form.text.setText("^ [a-t]")
    form.pattern.setChecked(True)
    form.ask()
    desk.settle()
    query = Query("^ [a-t]", True, False, 4, 8, frozenset({Outcome.EARLY_EXIT}))
    assert desk.finder.query == query
    assert 0 < len(desk.finder.found) < 25
    assert desk.finder.found.tolist() == search(trace, query).tolist()
    form.text.setText("(")
    form.ask()
    desk.settle()
    assert "is no regular expression" in form.note.text()
    assert not len(desk.finder.found)


def test_that_what_is_found_in_a_run_that_was_left_meanwhile_is_no_answer(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = threading.Event()

    def held(trace: ReadableTrace, query: Query) -> IntArray:
        assert free.wait(TIMEOUT / 1000)
        return search(trace, query)

    monkeypatch.setattr("app.tools.finder.search", held)
    desk.finder.ask(Query("sky"))
    desk.stage.trigger("reset")
    desk.stage.work.rack.flush()
    free.set()
    desk.stage.qtbot.waitUntil(lambda: desk.finder.newest._chore is None, timeout=TIMEOUT)
    assert not len(desk.finder.found)


def test_that_what_was_found_is_marked_in_the_views_while_that_is_wanted(desk: Desk) -> None:
    view = desk.view
    desk.finder.ask(Query("sky"))
    desk.settle()
    strip = desk.stage.work.views.tokens
    assert strip._highlight == frozenset()
    view.highlight.setChecked(True)
    assert strip._highlight == frozenset(desk.finder.found.tolist()) != frozenset()
    view.highlight.setChecked(False)
    assert strip._highlight == frozenset()


def test_that_the_answer_keeps_up_with_another_run(desk: Desk) -> None:
    desk.finder.ask(Query("sky"))
    desk.settle()
    assert desk.finder.found.tolist() == [1, 11, 21]
    desk.stage.loader.engine.tokens = 12
    desk.stage.finish()
    desk.settle()
    assert desk.finder.found.tolist() == [1, 11]
    desk.stage.trigger("reset")
    desk.settle()
    assert not len(desk.finder.found)
    assert desk.view.found.rows.rowCount() == 0


def test_that_a_form_left_empty_asks_for_nothing(qtbot: QtBot) -> None:
    form = FindForm()
    qtbot.addWidget(form)
    form.pattern.setChecked(True)
    form.set_depth(12)
    assert form.query() == Query()
