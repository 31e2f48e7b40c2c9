"""The window that tests of the application share; a file with a `stage` of its own means that one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from tests.app.window_stage import WindowStage


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[WindowStage]:
    stage = WindowStage(qtbot)
    yield stage
    stage.window.close()
    assert not stage.session.is_running
