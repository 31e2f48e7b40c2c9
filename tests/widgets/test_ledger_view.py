"""The ledger's view: what the analysis counts, a class that is chosen, and the marks of its tokens elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from core.analysis.ledger import LABELS, Entry, Ledger
from core.analysis.summaries import TokenChips
from tests.widgets.plots import exits, painted, pixel, shown
from widgets.exit_chart import ExitChart
from widgets.ledger_view import LedgerView
from widgets.palette import DARK
from widgets.selection import Selection
from widgets.token_strip import TokenStrip

ENTRIES = [Entry.NONE, Entry.RIGHT_EXIT, Entry.MISSED_BY_SCORE, Entry.RIGHT_EXIT, Entry.MISSED_BY_SCORE]


def counted() -> Ledger:
    saved, lost = np.array([0, 6, 0, 9, 0]), np.array([0, 2, 7, 0, 4])
    return Ledger(0, np.array(ENTRIES, np.uint8), saved, lost, np.array([0, 1, 2, 0, 0]), np.array([0, 0, 1, 0, 0]))


@pytest.fixture
def view(qtbot: QtBot) -> LedgerView:
    made = LedgerView()
    qtbot.addWidget(made)
    made.resize(700, 320)
    made.show_ledger(counted(), lambda token: f"·w{token}", lambda token: 20 + token)
    return made


def cells(view: LedgerView, entry: Entry) -> tuple[str, ...]:
    return view.classes.rows.row(list(LABELS).index(entry)).cells


def choose(view: LedgerView, entry: Entry) -> None:
    view.classes.clicked.emit(view.classes.rows.index(list(LABELS).index(entry), 0))


def test_that_each_class_has_its_count_share_layers_and_refusals(view: LedgerView) -> None:
    assert cells(view, Entry.RIGHT_EXIT) == ("✓  right exit", "2", "50.0%", "2", "15", "1")
    assert cells(view, Entry.MISSED_BY_SCORE) == ("↓  missed by score", "2", "50.0%", "11", "–", "2")
    assert cells(view, Entry.WRONG_EXIT) == ("≠  wrong exit", "0", "0.0%", "–", "–", "–")
    assert "The <b>score</b> cost the most: <b>11</b> layers" in view.words.text()
    assert "<b>3</b> proposed exits refused, <b>1</b> of them by the gate." in view.words.text()


def test_that_choosing_a_class_lists_its_tokens_and_selects_the_first(qtbot: QtBot, view: LedgerView) -> None:
    chosen: list[object] = []
    view.class_chosen.connect(chosen.append)
    with qtbot.waitSignal(view.selected) as asked:
        choose(view, Entry.MISSED_BY_SCORE)
    assert chosen == [Entry.MISSED_BY_SCORE]
    assert asked.args == [Selection(2)]
    rows = [view.tokens.rows.row(at).cells for at in range(view.tokens.rows.rowCount())]
    assert rows == [("3", "·w2", "22", "▴ 7", "2"), ("5", "·w4", "24", "▴ 4", "–")]


def test_that_enter_goes_through_the_class_and_begins_anew_and_escape_lets_go(qtbot: QtBot, view: LedgerView) -> None:
    asked: list[Selection] = []

    def take(selection: Selection) -> None:  # as the window does
        asked.append(selection)
        view.set_selection(selection)

    view.selected.connect(take)
    choose(view, Entry.RIGHT_EXIT)
    view.classes.mark(0)
    for _ in range(2):
        qtbot.keyClick(view.classes, Qt.Key.Key_Return)
    assert [one.token for one in asked] == [1, 3, 1]
    assert view.tokens.currentIndex().row() == 0
    with qtbot.waitSignal(view.class_chosen) as chosen:
        qtbot.keyClick(view.tokens, Qt.Key.Key_Escape)
    assert chosen.args == [None]
    assert view.tokens.rows.rowCount() == 0


def test_that_a_row_of_the_tokens_selects_and_a_longer_ledger_keeps_the_class(qtbot: QtBot, view: LedgerView) -> None:
    choose(view, Entry.RIGHT_EXIT)
    with qtbot.waitSignal(view.selected) as asked:
        view.tokens.clicked.emit(view.tokens.rows.index(1, 0))
    assert asked.args == [Selection(3)]
    view.show_ledger(counted(), lambda token: f"·w{token}", lambda token: 20)
    assert view.tokens.rows.rowCount() == 2
    assert view.classes.currentIndex().row() == list(LABELS).index(Entry.RIGHT_EXIT)


def test_that_highlighted_tokens_are_marked_in_strip_and_chart_and_no_others(qtbot: QtBot) -> None:
    strip, chart = TokenStrip(), ExitChart()
    qtbot.addWidget(strip)
    strip.resize(400, 120)
    series = exits(30, 20, 20, 20)
    nothing = np.zeros(4, np.int64)
    strip.set_chips(TokenChips(0, ("a", "b", "c", "d"), series.exit_layers, series.outcomes, nothing, 30))
    shown(qtbot, chart)
    chart.set_series(series)

    def marked(token: int) -> tuple[bool, bool]:
        corner = strip.chip_rect(token).topLeft()
        foot = chart.canvas.pos() + pixel(chart, token + 1, 0)
        chip = strip.grab().toImage().pixelColor(corner.x() + 3, corner.y() + 3).name()
        return chip == DARK.accent, painted(chart).pixelColor(foot.x(), foot.y() - 3).name() == DARK.accent

    for view in (strip, chart):
        view.set_highlight(np.array([1, 3]))
    assert [marked(token) for token in range(4)] == [(False, False), (True, True), (False, False), (True, True)]
    for view in (strip, chart):
        view.set_highlight(np.zeros(0, np.int64))
    assert marked(1) == (False, False)
