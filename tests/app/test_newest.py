"""Work over a run in a thread of its own: the newest counts, and what was called off is heard of no more."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.failure import Failure
from app.tools.newest import Newest, Told
from core.errors import UserError
from tests.app.stage import TIMEOUT


class Desk:
    def __init__(self, qtbot: QtBot) -> None:
        self.qtbot, self.owner = qtbot, QObject()
        self.newest = Newest(self.owner)
        self.heard: list[tuple[object, object]] = []
        self.newest.done.connect(lambda key, outcome: self.heard.append((key, outcome)))

    def settle(self) -> None:
        self.qtbot.waitUntil(lambda: self.newest._chore is None, timeout=TIMEOUT)


@pytest.fixture
def desk(qtbot: QtBot) -> Iterator[Desk]:
    desk = Desk(qtbot)
    yield desk
    desk.newest.close()
    desk.settle()


def until_called_off(cancel: threading.Event, _: Told) -> str:
    assert cancel.wait(TIMEOUT / 1000)
    return "called off"


def test_that_of_several_requests_only_the_newest_ones_outcome_arrives(desk: Desk) -> None:
    desk.newest.ask(1, until_called_off)
    desk.newest.ask(2, lambda cancel, told: pytest.fail("never begun"))
    desk.newest.ask(3, lambda cancel, told: "new")
    assert desk.newest.is_busy
    desk.settle()
    assert desk.heard == [(3, "new")]
    assert not desk.newest.is_busy


def test_that_nothing_is_told_of_work_that_was_called_off(desk: Desk) -> None:
    desk.newest.ask(1, until_called_off)
    assert desk.newest.is_busy
    desk.newest.cancel()
    assert not desk.newest.is_busy
    desk.settle()
    assert desk.heard == []
    desk.newest.ask(2, lambda cancel, told: "after it")
    desk.settle()
    assert desk.heard == [(2, "after it")]


def test_that_progress_and_a_refusal_arrive(desk: Desk) -> None:
    seen: list[int] = []
    desk.newest.progressed.connect(seen.append)

    def work(_: threading.Event, told: Told) -> None:
        told(1024)
        raise UserError("The pattern takes too long; write a simpler one.")

    desk.newest.ask(1, work)
    desk.settle()
    assert seen == [1024]
    failure = desk.heard[0][1]
    assert isinstance(failure, Failure)
    assert failure.sentence == "The pattern takes too long; write a simpler one."


def test_that_closing_waits_for_what_is_under_way(desk: Desk) -> None:
    ended = threading.Event()

    def work(cancel: threading.Event, _: Told) -> None:
        assert cancel.wait(TIMEOUT / 1000)
        ended.set()

    desk.newest.ask(1, work)
    desk.newest.close()
    assert ended.is_set()
