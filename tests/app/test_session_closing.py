"""Every way to leave ends the engine's thread."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QThread
from pytestqt.qtbot import QtBot

from app.loader import ModelRequest
from app.session import Session
from tests.app.stage import TIMEOUT, Stage
from tests.fakes import FakeEngine, FakeLoader


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[Stage]:
    stage = Stage(qtbot)
    yield stage
    stage.session.close()


def leave_idle(stage: Stage) -> None:
    stage.load()


def leave_finished(stage: Stage) -> None:
    stage.load()
    stage.run_to_end()


def leave_mid_layer(stage: Stage) -> None:
    stage.load(FakeEngine(stuck_at=20))
    stage.run_until_stuck()


def leave_paused(stage: Stage) -> None:
    stage.load()
    stage.hold()


def leave_free_running(stage: Stage) -> None:
    stage.load(FakeEngine(tokens=100_000))
    stage.run()
    stage.until(lambda: stage.session.trace is not None)


def leave_while_loading(stage: Stage) -> None:
    stage.loader.stuck = True
    stage.session.load_model(ModelRequest("fake"))
    stage.until(stage.loader.started.is_set)


def leave_with_orders_waiting(stage: Stage) -> None:
    stage.load(FakeEngine(stuck_at=20))
    stage.run_until_stuck()
    stage.run()
    stage.session.load_model(ModelRequest("fake"))
    stage.session.load_model(ModelRequest("fake"))


def leave_at_once(stage: Stage) -> None:
    pass


LEAVING = [
    leave_idle,
    leave_finished,
    leave_mid_layer,
    leave_paused,
    leave_free_running,
    leave_while_loading,
    leave_with_orders_waiting,
    leave_at_once,
]


@pytest.mark.parametrize("leave", LEAVING)
def test_that_closing_ends_the_thread_in_every_state_and_twice(stage: Stage, leave: Callable[[Stage], None]) -> None:
    leave(stage)
    said = len(stage.heard.states)
    stage.session.close()
    stage.session.close()
    thread = stage.session.findChild(QThread, "engine")
    assert thread is not None
    assert thread.isFinished()
    stage.qtbot.waitUntil(lambda: True)
    assert len(stage.heard.states) == said
    assert stage.heard.failures == []


def test_that_many_sessions_leave_no_thread_behind(qtbot: QtBot) -> None:
    before = set(sys._current_frames())
    for _ in range(20):
        stage = Stage(qtbot)
        stage.load()
        stage.run_to_end()
        stage.session.close()
    qtbot.waitUntil(lambda: set(sys._current_frames()) <= before, timeout=TIMEOUT)


def test_that_a_closed_session_goes_without_the_garbage_collector(qtbot: QtBot) -> None:
    """The collector may run in any thread, and must find no Qt object to destroy there."""
    session = Session(FakeLoader())
    with qtbot.waitSignal(session.model_changed, timeout=TIMEOUT):
        session.load_model(ModelRequest("fake"))
    session.close()
    left = weakref.ref(session)
    gc.disable()
    try:
        del session
        assert left() is None
    finally:
        gc.enable()


def test_that_neither_session_nor_worker_brings_torch_in() -> None:
    """In a process of its own: other tests of this one may have imported it."""
    code = "import sys, app.session; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[2]).returncode == 0
