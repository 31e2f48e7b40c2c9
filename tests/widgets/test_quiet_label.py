from __future__ import annotations

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from widgets.quiet_label import QuietLabel


@pytest.fixture
def label(qtbot: QtBot) -> QuietLabel:
    made = QuietLabel()
    qtbot.addWidget(made)
    return made


def test_that_a_text_of_the_same_size_asks_for_no_other_room(
    label: QuietLabel, monkeypatch: pytest.MonkeyPatch
) -> None:
    label.setText("35.1 tokens/s")
    asked: list[bool] = []
    monkeypatch.setattr(label, "updateGeometry", lambda: asked.append(True))
    label.setText("35.2 tokens/s")
    assert label.text() == "35.2 tokens/s"
    assert asked == []
    label.setText("35.2 tokens/s and a good deal more")
    assert asked == [True]


def test_that_the_whole_text_fits_into_the_room_asked_for(label: QuietLabel) -> None:
    label.setText("mean exit 23.9 / 30")
    assert label.sizeHint().width() >= label.label.sizeHint().width()
    assert label.minimumSizeHint() == label.sizeHint()


def test_that_a_placed_or_wrapping_label_asks_for_nothing(qtbot: QtBot) -> None:
    placed = QuietLabel(placed=True)
    wrapping = QuietLabel()
    wrapping.label.setWordWrap(True)
    for label in (placed, wrapping):
        qtbot.addWidget(label)
        label.setText("a rather long text that would like some room")
        assert label.sizeHint().isEmpty()


def test_that_a_text_still_fits_after_the_theme_has_changed_its_font(qtbot: QtBot) -> None:
    holder = QWidget()
    qtbot.addWidget(holder)
    label = QuietLabel(holder)
    label.setText("no model")
    before = label.sizeHint().width()
    holder.setStyleSheet("QLabel { font-size: 40px; padding: 0 10px }")
    holder.ensurePolished()
    assert label.sizeHint().width() >= label.label.sizeHint().width() > before


def test_that_a_sticky_label_keeps_its_room_from_text_to_text_but_not_from_large_type_to_small(qtbot: QtBot) -> None:
    holder = QWidget()
    qtbot.addWidget(holder)
    label = QuietLabel(holder, sticky=True)
    label.setText("mean exit 23.9 / 30")
    before = label.sizeHint()
    label.setText("mean")
    assert label.sizeHint() == before
    label.setText("mean exit 23.9 / 30")
    holder.setStyleSheet("QLabel { font-size: 40px }")
    holder.ensurePolished()
    assert label.sizeHint().width() > before.width()
    holder.setStyleSheet("")
    holder.ensurePolished()
    assert label.sizeHint() == before
