"""Opening and saving: shown once they take longer, called off without a word, and told of when they fail."""

from __future__ import annotations

import threading

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.failure import Failure
from app.file_work import CANCELLED, PATIENCE_MS, FileWork
from app.progress_line import ProgressLine
from core.errors import UserError
from core.progress import Progress, Report, check
from widgets import motion


@pytest.fixture
def line(qtbot: QtBot) -> ProgressLine:
    line = ProgressLine()
    qtbot.addWidget(line)
    return line


def test_that_long_work_shows_how_far_it_is_and_can_be_called_off(line: ProgressLine, qtbot: QtBot) -> None:
    parent, outcomes, gate = QObject(), list[object](), threading.Event()
    work = FileWork(line, parent)

    def long(report: Report, cancel: threading.Event) -> None:
        report(Progress("Saving the session", 40, 100, "tokens"))
        cancel.wait(20)
        gate.wait(20)
        check(cancel)

    work.start("Saving the session", long, outcomes.append)
    assert work.is_busy
    assert not line.isVisible(), "what is soon over does not flicker"
    qtbot.waitUntil(line.isVisible, timeout=20 * PATIENCE_MS)
    assert "40 of 100 tokens" in line.text.text()
    line.cancel.click()
    assert "Cancelling" in line.text.text()
    gate.set()
    qtbot.waitUntil(lambda: bool(outcomes))
    assert outcomes == [CANCELLED]
    assert not line.isVisible()
    assert not work.is_busy


def test_that_short_work_shows_nothing_and_a_failure_is_handed_on(line: ProgressLine, qtbot: QtBot) -> None:
    parent, outcomes = QObject(), list[object]()
    work = FileWork(line, parent)

    def fail(report: Report, cancel: threading.Event) -> None:
        raise UserError("The disk is full.")

    for task in (lambda report, cancel: 7, fail):
        work.start("Opening", task, outcomes.append)
        qtbot.waitUntil(lambda: not work.is_busy)
    assert outcomes[0] == 7
    assert isinstance(outcomes[1], Failure)
    assert not line.isVisible()


def test_that_no_bar_runs_to_and_fro_where_nothing_may_move(line: ProgressLine) -> None:
    line.start("Loading")
    assert line.bar.maximum() == 0
    motion.keep_still(True)
    line.start("Loading")
    motion.keep_still(False)
    assert line.bar.maximum() > 0
