"""What the monkey's watchers notice: a monkey that cannot fail would prove nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from tests.monkey.monkey import growth
from tests.monkey.numbers import numbers_of, text_of
from tests.monkey.runner import within_loop
from tests.monkey.shrink import shrunk

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
from PySide6.QtCore import QCoreApplication, QTimer, qWarning
from tests.monkey.faults import Fault, Faults
application, faults = QCoreApplication([]), Faults()
faults.listen()
def fail(): raise ValueError("slot")
def run_in_thread():
    import threading
    thread = threading.Thread(target=fail); thread.start(); thread.join()
def leave_behind():
    class Left:
        def __del__(self): fail()
    Left()
for wrong in (fail, lambda: qWarning("complaint"), run_in_thread, leave_behind):
    faults.raise_any()
    QTimer.singleShot(0, wrong)
    application.processEvents()
    try:
        faults.raise_any()
    except Fault as fault:
        print("heard", len(str(fault)) > 0)
"""


def test_that_exceptions_in_slots_threads_and_finalisers_and_complaints_of_qt_are_heard() -> None:
    """In a process of its own: nothing puts the hooks back."""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout.split("\n") == ["heard True"] * 4 + [""], done.stderr


@pytest.mark.parametrize(
    ("memory", "grown"),
    [
        ([900.0] * 3 + [100.0] * 9, False),
        ([100.0] * 3 + [100.0 + at for at in range(30)], True),
        ([100.0, 300.0], False),
    ],
)
def test_that_only_growth_after_the_warm_up_counts(memory: list[float], grown: bool) -> None:
    assert (growth(memory) > 0.05) is grown


class Leaving(QDialog):
    """Closes at a press, and then has a loop of its own, as a menu has."""

    lived = False

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.close()
        loop = QEventLoop()
        QTimer.singleShot(0, loop.quit)
        loop.exec()
        Leaving.lived = isValid(self)


def test_that_what_a_move_closes_lives_until_its_event_is_over(qapp: QApplication, qtbot: QtBot) -> None:
    """Else the monkey would see crashes that no user can: Qt goes on with what the event was for."""
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    dialog = Leaving(window)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.show()

    def game() -> None:
        QTest.mousePress(dialog.windowHandle(), Qt.MouseButton.LeftButton)
        qapp.exit()

    within_loop(qapp, game)
    assert Leaving.lived
    assert not isValid(dialog)


def test_that_a_fault_is_told_by_the_moves_it_needs() -> None:
    assert shrunk(range(200), lambda numbers: {3, 41, 42} <= set(numbers)) == [3, 41, 42]
    assert numbers_of(text_of([3, 41, 42])) == [3, 41, 42]
    assert list(numbers_of("5")) == [0, 1, 2, 3, 4]
