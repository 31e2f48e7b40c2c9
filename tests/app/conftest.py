"""The window that tests of the application share; a file with a `stage` of its own means that one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from tests.app.window_stage import WindowStage


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[WindowStage]:
    stage = WindowStage(qtbot)
    yield stage
    stage.window.close()
    assert not stage.session.is_running


@pytest.fixture
def save_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """What the user answers to where to save a session."""
    path = tmp_path / "mine.specee"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    return path
