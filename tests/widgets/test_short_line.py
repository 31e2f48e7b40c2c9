"""A legend in one line: what finds no room is left out from the end, and the tooltip has it all."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from widgets.short_line import ShortLine

LEGEND = '<b style="color:#5aa9ff">▀</b> offline &nbsp;▄ online · ● exit &nbsp;■ full depth'
PARTS = ("offline", "online", "exit", "full depth")


@pytest.fixture
def line(qtbot: QtBot) -> ShortLine:
    made = ShortLine()
    qtbot.addWidget(made)
    made.resize(1000, 20)
    made.show()
    made.setText(LEGEND)
    return made


def shown(line: ShortLine) -> str:
    document = QTextDocument()
    document.setHtml(line.shown())
    return document.toPlainText()


def test_that_everything_is_shown_where_there_is_room(line: ShortLine) -> None:
    assert line.shown() == LEGEND
    assert line.toolTip() == ""


@pytest.mark.parametrize("width", range(20, 400, 40))
def test_that_what_is_shown_fits_and_only_the_last_parts_are_left_out(line: ShortLine, width: int) -> None:
    line.resize(width, 20)
    there = [part for part in PARTS if part in shown(line)]
    assert there == list(PARTS[: max(1, len(there))])
    assert len(there) == 1 or line.label.sizeHint().width() <= width
    is_whole = len(there) == len(PARTS)
    assert shown(line).endswith("…") is not is_whole
    assert line.toolTip() == ("" if is_whole else LEGEND)
    assert line.text() == LEGEND


def test_that_plain_words_of_one_part_are_cut_with_dots_and_whole_in_the_tooltip(line: ShortLine) -> None:
    line.setText("changes apply to the next run")
    assert (line.shown(), line.toolTip()) == ("changes apply to the next run", "")
    line.resize(90, 20)
    assert line.shown().endswith("…")
    assert line.lead.sizeHint().width() <= 90
    assert line.toolTip() == line.text() == "changes apply to the next run"


def test_that_first_words_stay_whole_where_only_the_dots_find_no_room(line: ShortLine) -> None:
    line.setText("2 on")
    least = line.lead.width() + 2
    line.setText("2 on · 3 off")
    line.resize(least, 20)
    assert (line.shown(), line.toolTip()) == ("2 on", "2 on · 3 off")
    line.resize(least - 8, 20)
    assert line.shown().endswith("…")


def test_that_it_asks_for_no_room_whatever_it_says(line: ShortLine) -> None:
    assert line.sizeHint().isEmpty()
    assert line.minimumSizeHint().isEmpty()


def test_that_a_larger_font_leaves_out_more(line: ShortLine) -> None:
    line.resize(line.label.sizeHint().width() + 2, 20)
    assert line.shown() == LEGEND
    font = line.font()
    font.setPointSizeF(font.pointSizeF() * 1.5)
    line.setFont(font)
    assert shown(line).endswith("…")


def test_that_words_before_a_legend_are_the_only_thing_that_changes_with_them(line: ShortLine) -> None:
    line.setText(f"token 7 ‘&lt;b&gt;’ · layer 3 &nbsp;{LEGEND}")
    legend = line.label.text()
    assert (line.lead.text(), legend) == ("token 7 ‘<b>’ · layer 3 \u00a0", LEGEND)
    assert line.lead.geometry().right() < line.label.geometry().left() >= line.lead.sizeHint().width()
    line.setText(f"token 1234 &nbsp;{LEGEND}")
    assert line.label.text() == legend
    assert line.lead.text() == "token 1234 \u00a0"
    line.setText("nothing")
    assert (line.lead.text(), line.label.text()) == ("nothing", "")


def test_that_a_legend_after_other_words_is_moved_and_not_laid_out_anew(line: ShortLine) -> None:
    line.setText(f"token 7 &nbsp;{LEGEND}")
    painted = Painted(line)
    line.setText(f"token 8, of quite another length &nbsp;{LEGEND}")
    for _ in range(3):
        QApplication.processEvents()
    assert painted.count == 1  # a text that is laid out while it is painted asks for another frame


class Painted(QObject):
    """Counts how often a widget is painted."""

    def __init__(self, widget: ShortLine) -> None:
        super().__init__(widget)
        for _ in range(3):
            QApplication.processEvents()
        self.count = 0
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() is QEvent.Type.Paint
        return False
