"""A lesson on the sample session, by keyboard alone: no model, no mouse, no menu."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from app.places import BREAKPOINTS, WHAT_IF, WHY, Place
from app.tools.breakpoints import Breakpoints
from app.tools.what_if import WhatIf
from core.analysis.why import why_plain
from core.trace.reading import ReadableTrace
from tests.app.stage import TIMEOUT
from tests.app.window_stage import WindowStage

Key, Control, Alt = Qt.Key, Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier
MOST_TABS = 300


class Teacher:
    """Only presses keys, and looks."""

    def __init__(self, qtbot: QtBot) -> None:
        self.qtbot, self.stage = qtbot, WindowStage(qtbot)
        self.stage.window.activateWindow()
        qtbot.waitUntil(self.stage.window.isActiveWindow, timeout=TIMEOUT)

    @property
    def trace(self) -> ReadableTrace:
        trace = self.stage.session.trace
        assert trace is not None
        return trace

    @property
    def token(self) -> int:
        token = self.stage.session.selection.token
        assert token is not None
        return token

    def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        self.qtbot.keyClick(QApplication.focusWidget() or self.stage.window, key, modifiers)

    def write(self, text: str) -> None:
        self.qtbot.keyClicks(QApplication.focusWidget(), text)

    def tab_to(self, widget: QWidget) -> None:
        """Tab from input to input until this one has the focus."""
        for _ in range(MOST_TABS):
            if QApplication.focusWidget() is widget:
                return
            self.press(Key.Key_Tab)
        raise AssertionError(f"{widget.accessibleName() or widget} is out of reach")

    def bring(self, place: Place, key: Qt.Key, modifiers: Qt.KeyboardModifier) -> None:
        """Bring a panel to the front by its key, if it is not there."""
        panel = self.stage.window.panels[place.key]
        if panel.visibleRegion().isEmpty():
            self.press(key, modifiers)
            self.qtbot.waitUntil(lambda: not panel.visibleRegion().isEmpty(), timeout=TIMEOUT)
        self.settle()

    def settle(self) -> None:
        """Let what is waiting be drawn, and what is looked for be found."""
        work = self.stage.work
        self.qtbot.waitUntil(lambda: not work.debugging.moves.newest.is_busy, timeout=TIMEOUT)
        self.stage.draw()
        work.rack.flush()


@pytest.fixture
def teacher(qtbot: QtBot) -> Iterator[Teacher]:
    teacher = Teacher(qtbot)
    yield teacher
    teacher.stage.window.close()


def test_that_a_lesson_can_be_given_by_keyboard_alone(
    teacher: Teacher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = teacher.stage
    teacher.press(Key.Key_F1, Control)
    teacher.qtbot.waitUntil(lambda: stage.session.trace is not None, timeout=TIMEOUT)
    _break_on_refusals(teacher)
    refused = teacher.token
    assert teacher.trace.overview.refusals[refused] > 0
    teacher.bring(WHY, Key.Key_7, Control)
    words = stage.work.views.why.text()
    assert "refused" in words
    assert words == why_plain(teacher.trace, refused, None)
    _lower_the_threshold(teacher)
    teacher.press(Key.Key_B, Control)
    assert refused in {mark.token for mark in stage.work.files.library.marks}
    page = _report(teacher, tmp_path / "lesson.html", monkeypatch)
    assert f"Token {refused + 1} " in page
    assert "proposed and refused" in page


def _break_on_refusals(teacher: Teacher) -> None:
    teacher.bring(BREAKPOINTS, Key.Key_1, Control | Alt)
    tool = teacher.stage.work.rack.tool(BREAKPOINTS)
    assert isinstance(tool, Breakpoints)
    editor = tool.view.editor
    teacher.tab_to(editor.kind)
    teacher.write("proposed")
    assert editor.kind.currentText() == "proposed but refused"
    teacher.tab_to(editor.go)
    teacher.press(Key.Key_Space)
    teacher.settle()
    teacher.press(Key.Key_Home, Alt)
    teacher.press(Key.Key_F8)
    teacher.settle()


def _lower_the_threshold(teacher: Teacher) -> None:
    """In the what-if: the run's place on the frontier moves to fewer layers."""
    teacher.bring(WHAT_IF, Key.Key_3, Control | Alt)
    tool = teacher.stage.work.rack.tool(WHAT_IF)
    assert isinstance(tool, WhatIf)
    view = tool.view

    def answered() -> bool:
        teacher.stage.work.rack.flush()
        return not tool.desk.is_busy

    teacher.qtbot.waitUntil(lambda: answered() and not tool.panel.is_empty, timeout=TIMEOUT)
    teacher.tab_to(view.pages.tabBar())
    teacher.press(Key.Key_Right)
    teacher.press(Key.Key_Right)
    teacher.qtbot.waitUntil(lambda: answered() and view.frontier.item.standing.asked is not None, timeout=TIMEOUT)
    before = view.frontier.item.standing
    assert before.asked == before.recorded
    teacher.tab_to(view.form.threshold.spin)
    for _ in range(20):
        teacher.press(Key.Key_Down)
    teacher.qtbot.waitUntil(lambda: answered() and view.frontier.item.standing.threshold == 0.5, timeout=TIMEOUT)
    after = view.frontier.item.standing
    assert after.asked is not None
    assert before.asked is not None
    assert after.asked[0] < before.asked[0]
    assert after.asked[1] < before.asked[1]


def _report(teacher: Teacher, path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))  # the system's own, with keys
    teacher.press(Key.Key_R, Control | Alt)
    teacher.qtbot.waitUntil(lambda: not teacher.stage.work.exporting.is_busy, timeout=TIMEOUT)
    return path.read_text(encoding="utf-8")
