from __future__ import annotations

from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from app.first_paint import FirstPaint


def test_that_a_first_paint_is_told_once_and_after_it(qtbot: QtBot) -> None:
    label, told = QLabel("words"), list[bool]()
    qtbot.addWidget(label)
    FirstPaint(label, lambda: told.append(label.isVisible()))
    QApplication.processEvents()
    assert told == []
    with qtbot.waitExposed(label):
        label.show()
    qtbot.waitUntil(lambda: told == [True])
    label.repaint()
    QApplication.processEvents()
    assert told == [True]
