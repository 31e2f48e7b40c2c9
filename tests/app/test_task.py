"""Work over a run in a thread of its own: the newest counts, and what was called off is heard of no more."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.failure import Failure
from app.tools.task import Task, Told
from core.errors import UserError
from tests.app.stage import TIMEOUT


class Desk:
    def __init__(self, qtbot: QtBot) -> None:
        self.qtbot, self.owner = qtbot, QObject()
        self.task = Task(self.owner)
        self.outcomes: list[object] = []
        self.task.over.connect(self.outcomes.append)

    def settle(self) -> None:
        self.qtbot.waitUntil(lambda: not self.task._chores, timeout=TIMEOUT)


@pytest.fixture
def desk(qtbot: QtBot) -> Iterator[Desk]:
    desk = Desk(qtbot)
    yield desk
    desk.task.close()
    desk.settle()


def until_called_off(cancel: threading.Event, _: Told) -> str:
    cancel.wait(20)
    return "called off"


def test_that_of_two_works_only_the_newer_one_is_told_of(desk: Desk) -> None:
    desk.task.start(until_called_off)
    desk.task.start(lambda _cancel, _tell: "newer")
    desk.settle()
    assert desk.outcomes == ["newer"]
    assert not desk.task.is_busy


def test_that_nothing_is_told_of_work_that_was_called_off(desk: Desk) -> None:
    desk.task.start(until_called_off)
    assert desk.task.is_busy
    desk.task.cancel()
    assert not desk.task.is_busy
    desk.settle()
    assert desk.outcomes == []


def test_that_progress_and_a_refusal_arrive(desk: Desk) -> None:
    seen: list[int] = []
    desk.task.progressed.connect(seen.append)

    def work(_: threading.Event, tell: Told) -> None:
        tell(1024)
        raise UserError("The pattern takes too long; write a simpler one.")

    desk.task.start(work)
    desk.settle()
    assert seen == [1024]
    failure = desk.outcomes[0]
    assert isinstance(failure, Failure)
    assert failure.sentence == "The pattern takes too long; write a simpler one."


def test_that_closing_waits_for_what_is_under_way(desk: Desk) -> None:
    ended = threading.Event()

    def work(cancel: threading.Event, _: Told) -> None:
        cancel.wait(20)
        ended.set()

    desk.task.start(work)
    desk.task.close()
    assert ended.is_set()
