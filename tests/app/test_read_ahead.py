from __future__ import annotations

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.read_ahead import ReadAhead
from core.trace.trace import Trace
from tests.fakes import fake_run_events


@pytest.mark.parametrize(
    ("before", "now", "expected"), [(3, 4, [5]), (4, 3, [2]), (1, 4, []), (None, 0, []), (1, 0, [])]
)
def test_that_another_step_is_expected_after_a_step_only(
    qtbot: QtBot, before: int | None, now: int, expected: list[int]
) -> None:
    owner, told = QObject(), list[int]()
    ahead = ReadAhead(owner)
    ahead.expected.connect(told.append)
    ahead.begin(Trace.of(fake_run_events(7)), before, now)
    ahead._read()
    assert told == expected
