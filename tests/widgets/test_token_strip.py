"""What the token strip holds, and which part of it is in sight."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from tests.widgets.strip_stage import AWKWARD, chips, image, shown_strip, words
from widgets.selection import Selection
from widgets.token_strip import TokenStrip


@pytest.fixture
def strip(qtbot: QtBot) -> Iterator[TokenStrip]:
    yield shown_strip(qtbot)
    QToolTip.hideText()


@pytest.mark.parametrize("width", [130, 400, 1200])
def test_that_chips_do_not_overlap_and_stay_inside(strip: TokenStrip, width: int) -> None:
    strip.resize(width, 200)
    strip.set_chips(chips([*words(40), *AWKWARD]))
    rects = [strip.chip_rect(token) for token in range(40 + len(AWKWARD))]
    for at, rect in enumerate(rects):
        assert rect.left() >= 0
        assert rect.right() < strip.viewport().width()
        assert not any(rect.intersects(other) for other in rects[at + 1 :])


def test_that_a_hundred_thousand_tokens_make_no_widgets(strip: TokenStrip) -> None:
    before = len(strip.findChildren(QWidget))
    strip.set_chips(chips(words(100_000)))
    strip.viewport().grab()
    assert len(strip.findChildren(QWidget)) == before


def test_that_appending_equals_setting_everything_at_once(strip: TokenStrip, qtbot: QtBot) -> None:
    whole = TokenStrip()
    qtbot.addWidget(whole)
    whole.resize(strip.size())
    whole.show()
    whole.set_chips(chips(words(50)))
    for token, text in enumerate(words(50)):
        strip.set_chips(chips([text], first=token))
    assert [strip.chip_rect(t) for t in range(50)] == [whole.chip_rect(t) for t in range(50)]
    assert [strip.words(t) for t in range(50)] == [whole.words(t) for t in range(50)]


def test_that_chips_from_a_token_on_replace_all_after_it(strip: TokenStrip) -> None:
    strip.set_chips(chips(words(10)))
    strip.set_chips(chips(["·new"], first=4))
    assert "·new" in strip.words(4)
    assert strip.words(5).startswith("token 6 · in flight")


def test_that_a_gap_in_the_tokens_is_refused(strip: TokenStrip) -> None:
    with pytest.raises(ValueError, match="only 0 are there"):
        strip.set_chips(chips(["x"], first=3))


def test_that_the_strip_follows_its_tail_until_the_user_scrolls_away(strip: TokenStrip) -> None:
    bar = strip.verticalScrollBar()
    strip.set_chips(chips(words(100)))
    assert bar.value() == bar.maximum() > 0
    bar.setValue(0)
    strip.set_chips(chips(words(100), first=100))
    assert bar.value() == 0
    bar.setValue(bar.maximum())
    strip.set_chips(chips(words(100), first=200))
    assert bar.value() == bar.maximum()


def test_that_a_token_that_is_read_stays_in_sight_when_all_others_come_at_once(strip: TokenStrip) -> None:
    strip.set_chips(chips(words(4)))
    strip.set_selection(Selection(3))
    strip.set_chips(chips(words(100)))
    assert strip.viewport().rect().contains(strip.chip_rect(3))


def test_that_clearing_leaves_nothing_behind(strip: TokenStrip) -> None:
    blank = image(strip)
    strip.set_chips(chips(words(300)))
    strip.set_in_flight(3, 30)
    strip.clear()
    assert strip.verticalScrollBar().maximum() == 0
    assert image(strip) == blank


def test_that_a_token_chosen_before_it_is_there_comes_into_sight_with_its_run(strip: TokenStrip) -> None:
    strip.set_selection(Selection(3))
    strip.set_chips(chips(words(500)))
    assert strip.viewport().rect().contains(strip.chip_rect(3))


def test_that_a_selected_token_in_sight_stays_there_when_the_strip_becomes_lower(strip: TokenStrip) -> None:
    strip.resize(400, 160)
    strip.set_chips(chips(words(24)))
    strip.set_selection(Selection(2))
    strip.resize(400, 60)
    QApplication.processEvents()
    assert strip.viewport().rect().contains(strip.chip_rect(2))


def test_that_a_strip_filled_before_it_is_seen_shows_the_token_that_is_chosen(qtbot: QtBot) -> None:
    strip = TokenStrip()
    qtbot.addWidget(strip)
    strip.resize(640, 480)
    strip.grab()  # which lays it out, as a picture of the window does with what lies in it
    strip.set_chips(chips(words(60)))
    strip.set_selection(Selection(0))
    assert strip.verticalScrollBar().maximum() == 0, "as if all were in sight"
    strip.resize(400, 60)
    strip.show()
    assert strip.verticalScrollBar().maximum() > 0
    assert strip.verticalScrollBar().value() == 0


@pytest.mark.parametrize("height", [60, 120])
def test_that_room_for_the_next_step_is_made_where_both_chips_can_be_seen(strip: TokenStrip, height: int) -> None:
    strip.resize(400, height)
    strip.set_chips(chips(words(80)))
    strip.set_selection(Selection(0))
    view = strip.viewport().rect()
    last = next(token for token in range(80) if not view.contains(strip.chip_rect(token + 1)))
    strip.set_selection(Selection(last))
    strip.make_room(last + 1)
    assert view.contains(strip.chip_rect(last))
    assert view.contains(strip.chip_rect(last + 1)) is (height == 120)
    top = strip.verticalScrollBar().value()
    strip.make_room(79)  # far away, and beyond the end
    strip.make_room(80)
    assert strip.verticalScrollBar().value() == top
    strip.verticalScrollBar().setValue(0)
    strip.set_chips(chips(words(200)))
    strip.verticalScrollBar().setValue(strip.verticalScrollBar().maximum())
    strip.make_room(last + 1)  # the user looks elsewhere
    assert strip.verticalScrollBar().value() == strip.verticalScrollBar().maximum()


def test_that_no_chip_is_moved_from_under_the_mouse(strip: TokenStrip, qtbot: QtBot) -> None:
    strip.set_chips(chips(words(80)))
    strip.set_selection(Selection(0))
    view = strip.viewport().rect()
    last = next(token for token in range(80) if not view.contains(strip.chip_rect(token + 1)))
    strip.set_selection(Selection(last))
    qtbot.mouseMove(strip.viewport(), strip.chip_rect(last).center())
    qtbot.waitUntil(lambda: strip._hovered == last)
    before = strip.chip_rect(last)
    strip.make_room(last + 1)
    assert strip.chip_rect(last) == before
