"""The token strip by keyboard and mouse, and what it says of a token."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from core.analysis.summaries import Outcome, TokenChips
from tests.widgets.strip_stage import chips, image, shown_strip, words
from widgets.palette import DARK
from widgets.selection import Selection
from widgets.token_strip import TokenStrip


@pytest.fixture
def strip(qtbot: QtBot) -> Iterator[TokenStrip]:
    yield shown_strip(qtbot)
    QToolTip.hideText()


@pytest.mark.parametrize(
    ("key", "start", "end"),
    [
        (Qt.Key.Key_Left, 50, 49),
        (Qt.Key.Key_Left, 0, 0),
        (Qt.Key.Key_Right, 50, 51),
        (Qt.Key.Key_Right, 99, 99),
        (Qt.Key.Key_Home, 50, 0),
        (Qt.Key.Key_End, 50, 99),
        (Qt.Key.Key_Up, 0, 0),
        (Qt.Key.Key_Down, 99, 99),
        (Qt.Key.Key_Left, None, 99),
        (Qt.Key.Key_Home, None, 0),
    ],
)
def test_that_keys_move_the_selection(
    strip: TokenStrip, qtbot: QtBot, key: Qt.Key, start: int | None, end: int
) -> None:
    strip.set_chips(chips(words(100)))
    strip.set_selection(Selection(start))
    with qtbot.waitSignal(strip.selected, timeout=1000) as asked:
        qtbot.keyClick(strip, key)
    assert asked.args == [Selection(end)]


@pytest.mark.parametrize(("there", "back"), [("Down", "Up"), ("PageDown", "PageUp")])
def test_that_keys_between_rows_keep_to_the_column(strip: TokenStrip, qtbot: QtBot, there: str, back: str) -> None:
    strip.set_chips(chips(["·same"] * 200))
    strip.set_selection(Selection(2))
    rows = []
    for name in (there, back):
        with qtbot.waitSignal(strip.selected, timeout=1000) as asked:
            qtbot.keyClick(strip, Qt.Key[f"Key_{name}"])
        rect = strip.chip_rect(asked.args[0].token)
        rows.append(rect.left())
        assert strip.viewport().rect().contains(rect)
    assert rows == [strip.chip_rect(2).left()] * 2
    assert asked.args == [Selection(2)]


@pytest.mark.parametrize("modifier", [Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier])
def test_that_keys_with_modifiers_are_left_to_the_windows_shortcuts(
    strip: TokenStrip, qtbot: QtBot, modifier: Qt.KeyboardModifier
) -> None:
    strip.set_chips(chips(words(5)))
    with qtbot.assertNotEmitted(strip.selected):
        qtbot.keyClick(strip, Qt.Key.Key_Left, modifier)


def test_that_keys_on_an_empty_strip_ask_for_nothing(strip: TokenStrip, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(strip.selected):
        qtbot.keyClick(strip, Qt.Key.Key_End)


def test_that_a_click_selects_the_chip_under_it_and_a_gap_nothing(strip: TokenStrip, qtbot: QtBot) -> None:
    strip.set_chips(chips(words(4)))
    with qtbot.waitSignal(strip.selected, timeout=1000) as asked:
        qtbot.mouseClick(strip.viewport(), Qt.MouseButton.LeftButton, pos=strip.chip_rect(1).center())
    assert asked.args == [Selection(1)]
    with qtbot.assertNotEmitted(strip.selected):
        gap = strip.chip_rect(1).topRight() + QPoint(3, 5)
        qtbot.mouseClick(strip.viewport(), Qt.MouseButton.LeftButton, pos=gap)


def test_that_a_selection_made_elsewhere_comes_into_sight(strip: TokenStrip) -> None:
    strip.set_chips(chips(words(500)))
    for token in (3, 250, 499):
        strip.set_selection(Selection(token, layer=7))
        assert strip.viewport().rect().contains(strip.chip_rect(token))


def test_that_the_token_in_flight_stands_last_and_can_be_selected(strip: TokenStrip, qtbot: QtBot) -> None:
    strip.set_chips(chips(words(3)))
    strip.set_in_flight(12, 30)
    assert strip.words(3) == "token 4 · in flight · 12 of 30 layers run"
    with qtbot.waitSignal(strip.selected, timeout=1000) as asked:
        qtbot.mouseClick(strip.viewport(), Qt.MouseButton.LeftButton, pos=strip.chip_rect(3).center())
    assert asked.args == [Selection(3)]
    strip.set_in_flight(None)
    with qtbot.waitSignal(strip.selected, timeout=1000) as asked:
        qtbot.keyClick(strip, Qt.Key.Key_End)
    assert asked.args == [Selection(2)]


def test_that_hovering_tells_the_numbers_in_words(strip: TokenStrip) -> None:
    data = chips(["The", "·blue", "·sky"])
    outcomes = np.array([Outcome.PREFILL, Outcome.EARLY_EXIT, Outcome.REFUSED], np.uint8)
    refusals = np.array([0, 1, 2])
    strip.set_chips(TokenChips(0, data.texts, np.array([30, 23, 30]), outcomes, refusals, 30))
    assert strip.words(0) == "token 1 ‘The’ · exit layer 30 of 30 · from prefill, always full depth"
    assert strip.words(1) == "token 2 ‘·blue’ · exit layer 23 of 30 · early exit · 1 proposed exit refused"
    assert strip.words(2) == "token 3 ‘·sky’ · exit layer 30 of 30 · full depth · 2 proposed exits refused"


def test_that_a_tool_tip_has_the_whole_of_a_cut_token(strip: TokenStrip) -> None:
    strip.set_chips(chips(["<b>" + "a" * 300]))
    spot = strip.chip_rect(0).center()
    QApplication.sendEvent(strip.viewport(), QHelpEvent(QEvent.Type.ToolTip, spot, strip.mapToGlobal(spot)))
    assert "&lt;b&gt;" + "a" * 300 in QToolTip.text()


def test_that_a_screen_reader_hears_the_selected_token(strip: TokenStrip) -> None:
    strip.set_chips(chips(words(3)))
    strip.set_selection(Selection(1))
    assert strip.accessibleDescription() == strip.words(1)
    strip.set_selection(Selection())
    assert "Arrow keys" in strip.accessibleDescription()


def test_that_a_wrong_exit_is_told_with_both_tokens_even_after_a_refusal(strip: TokenStrip) -> None:
    data = chips(["The", "·red"])
    outcomes = np.array([Outcome.PREFILL, Outcome.EARLY_EXIT], np.uint8)
    right = TokenChips(0, data.texts, np.array([30, 23]), outcomes, np.array([0, 1]), 30)
    strip.set_chips(right)
    before = image(strip)
    wrong = np.array([Outcome.PREFILL, Outcome.WRONG_EXIT], np.uint8)
    strip.set_chips(TokenChips(0, data.texts, np.array([30, 23]), wrong, np.array([0, 1]), 30))
    assert image(strip) != before
    strip.set_notes(lambda token: "left early with ‘ red’; full depth gives ‘ blue’")
    assert strip.words(1) == (
        "token 2 ‘·red’ · exit layer 23 of 30 · wrong exit: left early with ‘ red’; full depth gives ‘ blue’"
        " · 1 proposed exit refused"
    )
    assert "≠" in TokenStrip.legend_html(DARK, audited=True)
    assert "≠" not in TokenStrip.legend_html(DARK)
