"""A section that folds away."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from app.fold import Fold


@pytest.fixture
def fold(qtbot: QtBot) -> Fold:
    fold = Fold("key", "Scheduler", QLabel("inside"))
    qtbot.addWidget(fold)
    fold.show()
    return fold


def test_that_a_folded_section_takes_no_room_and_tells_what_it_holds(fold: Fold) -> None:
    folded = fold.sizeHint().height()
    fold.set_summary("N 5")
    assert not fold.body.isVisible()
    assert fold.header.accessibleDescription() == "N 5"
    fold.unfold()
    assert fold.body.isVisible()
    assert fold.sizeHint().height() > folded


def test_that_mouse_and_keyboard_unfold_and_fold(fold: Fold, qtbot: QtBot) -> None:
    qtbot.mouseClick(fold.header, Qt.MouseButton.LeftButton)
    assert fold.is_unfolded
    assert fold.body.isVisible()
    fold.header.setFocus()
    qtbot.keyClick(fold.header, Qt.Key.Key_Space)
    assert not fold.body.isVisible()


def test_that_the_heading_is_painted_in_every_state(fold: Fold) -> None:
    fold.set_summary("a long summary that does not fit into the width of a narrow panel at all")
    folded = fold.header.grab().toImage()
    fold.unfold()
    assert fold.header.grab().toImage() != folded
